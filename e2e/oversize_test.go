package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// What would be a picture of hundreds of millions of pixels is refused before Chromium
// makes it, whichever of page, viewport, scale and emulated device makes it so large.
// The largest that are taken, and a PDF without end, hold no other session up, and the
// session goes on.
func TestPicturesHaveLimits(t *testing.T) {
	t.Parallel()
	d, w := testdaemon.Start(t, testdaemon.Options{}), newPageServer(t)
	const block = `<style>body{margin:0}</style><div role=button style="width:%;background:linear-gradient(red,blue)">Block</div>`
	for path, size := range map[string]string{
		"/wide": "7000px;height:7000px", "/long": "600px;height:70000px", "/endless": "600px;height:20000000px", "/fits": "5000px;height:5000px",
	} {
		w.serve(path, page("block", strings.Replace(block, "%", size, 1)), "")
	}
	w.serve("/good", page("good", "<h1>Good</h1><button>Go</button>"), "")
	a, other := newAgent(t, d), newAgent(t, d)
	other.open(w.URL + "/good")
	for _, tt := range []struct {
		path                 string
		width, height, scale float64
		p                    params
		side                 int // the limit in the error; 0: it is taken
	}{
		{"/wide", 600, 600, 1, params{"full_page": true}, 32 << 20},
		{"/wide", 600, 600, 1, params{"ref": "Block"}, 32 << 20},
		{"/wide", 600, 600, 1, params{"scale": 0.1, "full_page": true}, 0},
		{"/wide", 600, 600, 4, params{"scale": 0.5, "full_page": true}, 32 << 20},
		{"/endless", 600, 600, 1, params{"full_page": true}, 32 << 20},
		{"/long", 600, 600, 0.8, params{"full_page": true}, 0},
		{"/long", 600, 600, 0.8, params{"full_page": true, "annotate": true}, 16 << 20},
		{"/long", 100, 600, 0.5, params{"full_page": true, "format": "webp"}, 16383},
		{"/long", 600, 600, 1, params{"full_page": true, "format": "jpeg"}, 65535},
		{"/good", 10000, 10000, 8, params{}, 32 << 20},
		{"/good", 10000, 10000, 8, params{"scale": 0.05}, 0},
		{"/good", 1000, 1000, 4, params{"scale": 4}, 32 << 20},
		{"/good", 4000, 4000, 1, params{"format": "webp"}, 8 << 20},
		{"/good", 2800, 2800, 1, params{"format": "webp"}, 0},
		{"/fits", 600, 600, 1, params{"full_page": true}, 0},
	} {
		a.do("emulate", params{"viewport": params{"width": tt.width, "height": tt.height}, "scale": tt.scale})
		a.open(w.URL + tt.path)
		if tt.p["ref"] != nil {
			tt.p["ref"] = a.snapshot().ref(t, "button", "Block")
		}
		began := time.Now()
		if tt.side == 0 {
			a.do("screenshot", tt.p)
		} else if e := a.refused("screenshot", tt.p, protocol.TooLarge); e.Details["limit"] != float64(tt.side) {
			t.Errorf("%s %v by %v at %v: %v: limit %v, want %d", tt.path, tt.width, tt.height, tt.scale, tt.p, e.Details["limit"], tt.side)
		} else if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s %v was refused after %v", tt.path, tt.p, took)
		}
	}

	a.open(w.URL + "/endless")
	sent, err := a.c.Send("pdf", params{"timeout_ms": 3000})
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 3*time.Second; {
		clicked := time.Now()
		other.do("click", click(other.snapshot().ref(t, "button", "Go"), nil))
		if took := time.Since(clicked); took > 4*time.Second {
			t.Errorf("beside a PDF of %d pages another session's click took %v", 20_000_000/1000, took)
		}
	}
	if err := sent.Wait(t.Context(), nil); protocol.CodeOf(err) != protocol.Timeout {
		t.Errorf("a PDF without end: %v, want timeout", err)
	}
	// Its page is replaced if it does not answer, which is said once.
	if _, err := a.try("open", params{"url": w.URL + "/good", "timeout_ms": 10000}); err != nil && protocol.CodeOf(err) != protocol.PageCrashed {
		t.Errorf("the next page: %v", err)
	}
	a.open(w.URL + "/good")
	a.snapshot().ref(t, "button", "Go")
}
