package e2e_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// ebml calls found with each element below content: the ids of those around it and its own, and
// what it holds.
func ebml(t *testing.T, content []byte, at string, found func(path string, content []byte)) {
	t.Helper()
	for len(content) > 0 {
		n := 1
		for mask := byte(0x80); mask != 0 && content[0]&mask == 0; mask >>= 1 {
			n++
		}
		path := fmt.Sprintf("%s/%X", at, content[:n])
		if content[n] != 0x01 || len(content) < n+8 {
			t.Fatalf("%s: no size of eight bytes", path)
		}
		size := int(binary.BigEndian.Uint64(content[n:]) & (1<<56 - 1))
		content = content[n+8:]
		if size > len(content) {
			t.Fatalf("%s has %d bytes, and %d are left", path, size, len(content))
		}
		found(path, content[:size])
		switch path[strings.LastIndexByte(path, '/')+1:] {
		case "18538067", "1549A966", "1F43B675", "A0", "1043A770", "45B9", "B6", "80", "1C53BB6B", "BB", "B7", "114D9B74", "4DBB":
			ebml(t, content[:size], path, found)
		}
		content = content[size:]
	}
}

// A video has a frame for each change and a chapter for each action of the log. Chromium plays it to
// its end, and seeks in it: each moment shows what the page showed then.
func TestVideoPlaysInChromium(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	w := newPageServer(t)
	tracedShop(w)
	w.serve("/colour", page("colour", `<style>body{margin:0;background:#fff}</style><button style="width:300px;height:100px" onclick="document.body.style.background=this.textContent=({Red:'Lime',Lime:'Blue',Blue:'Red'})[this.textContent]">Red</button>`), "")
	a := newAgent(t, d)
	a.do("session_open", params{"name": "film"})
	a.do("video", params{"action": "start"})
	a.refused("video", params{"action": "start"}, protocol.InvalidParams)
	began := time.Now()
	a.open(w.URL + "/colour")
	for range 3 {
		a.do("click", params{"ref": "css=button"})
		a.do("wait", params{"ms": 2500}) // a second after a picture that came too early there is another one
	}
	a.refused("click", params{"ref": "@e999"}, protocol.UnknownRef)
	a.playTraced(w)
	var stopped struct {
		Actions   int                   `json:"actions"`
		Recording struct{ Name string } `json:"recording"`
	}
	if err := a.c.Call(t.Context(), "video", params{"action": "stop"}, &stopped); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began).Seconds()
	content := a.recorded(d, stopped.Recording.Name)
	if len(content) > 1<<20 {
		t.Errorf("%d bytes, want at most 1 MB", len(content))
	}
	var texts []string
	var starts []float64
	frames, cues, duration := 0, 0, 0.0
	ebml(t, content, "", func(path string, content []byte) {
		switch {
		case strings.HasSuffix(path, "/80/85"):
			texts = append(texts, string(content))
		case strings.HasSuffix(path, "/B6/91"):
			starts = append(starts, float64(binary.BigEndian.Uint64(content))/1e9)
		case strings.HasSuffix(path, "/A0/A1"):
			frames++
		case strings.HasSuffix(path, "/1C53BB6B/BB"):
			cues++
		case strings.HasSuffix(path, "/1549A966/4489"):
			duration = math.Float64frombits(binary.BigEndian.Uint64(content)) / 1e3
		}
	})
	if len(texts) != stopped.Actions || len(starts) != len(texts) || stopped.Actions < 25 {
		t.Fatalf("%d chapters, %d starts, %d actions", len(texts), len(starts), stopped.Actions)
	}
	if texts[0] != "open" || texts[1] != `click @e1 [button] "Red"` || texts[7] != "click: unknown_ref" {
		t.Errorf("chapters: %q", texts)
	}
	if frames != cues || frames < 8 || frames > 60 || math.Abs(duration-took) > 0.5 {
		t.Errorf("%d frames, %d cues, %.2f s of %.2f", frames, cues, duration, took)
	}
	t.Logf("%d frames, %d chapters, %d bytes, %.1f s", frames, len(texts), len(content), duration)

	w.mux.HandleFunc("GET /film.webm", func(rw http.ResponseWriter, r *http.Request) {
		http.ServeContent(rw, r, "film.webm", time.Time{}, strings.NewReader(string(content)))
	})
	w.serve("/player", page("player", `<video src="/film.webm" muted></video>`), "")
	b := newAgent(t, d)
	b.do("session_open", params{"name": "player"})
	b.do("open", params{"url": w.URL + "/player"})
	b.do("wait", params{"expression": `document.querySelector('video').readyState >= 2`})
	got := b.do("eval", params{"expression": `(v => [v.duration, v.videoWidth, v.videoHeight])(document.querySelector('video'))`}).Value.([]any)
	if math.Abs(got[0].(float64)-duration) > 0.01 || got[1].(float64) != 800 || got[2].(float64) != 450 {
		t.Errorf("the player says %v, want %.3f s of 800 by 450", got, duration)
	}
	// The second, fourth and sixth chapter begin with a click, which a picture shows before the next.
	for i, want := range []string{"lime", "blue", "red"} {
		is := b.do("eval", params{"expression": fmt.Sprintf(`new Promise((done, failed) => {
			const v = document.querySelector('video'), c = document.createElement('canvas').getContext('2d');
			v.onerror = () => failed(v.error);
			v.onseeked = () => { c.drawImage(v, 400, 250, 4, 4, 0, 0, 4, 4); const [r, g, b] = c.getImageData(1, 1, 1, 1).data; done(r > 200 && g < 80 && b < 80 ? 'red' : g > 200 && r < 80 ? 'lime' : b > 200 && r < 80 ? 'blue' : [r, g, b].join()) };
			v.currentTime = %f })`, starts[3+2*i]-0.05)}).Value
		if is != want {
			t.Errorf("after chapter %d the video shows %v, want %s", 2+2*i, is, want)
		}
	}
	ended := b.do("eval", params{"expression": `new Promise((done, failed) => { const v = document.querySelector('video'); v.onerror = () => failed(v.error); v.onended = () => done([v.currentTime, v.error]); v.playbackRate = 16; v.currentTime = 0; v.play().catch(failed) })`}).Value.([]any)
	if math.Abs(ended[0].(float64)-duration) > 0.2 || ended[1] != nil {
		t.Errorf("it ended at %v, want %.2f", ended, duration)
	}

	// The command line writes it.
	file := filepath.Join(t.TempDir(), "film.webm")
	if out, err := d.Command("recordings", stopped.Recording.Name, "-o", file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if written, err := os.ReadFile(file); err != nil || string(written) != string(content) {
		t.Errorf("recordings -o: %d bytes of %d, %v", len(written), len(content), err)
	}

	// Without Chromium there is nothing to see.
	a.do("session_open", params{"name": "static", "source": "http"})
	a.do("open", params{"url": w.URL + "/next"})
	a.refused("video", params{"action": "start"}, protocol.Unsupported)
}
