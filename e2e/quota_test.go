package e2e_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// What one agent and one session leave on disk has an end, errors say which, and
// uploads go with their session.
func TestNothingGrowsForEver(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_STATE__COUNT": "2", "BROWSERD_STATE__BYTES": "100000", "BROWSERD_SESSION__UPLOAD_BYTES": "100000", "BROWSERD_SESSION__UPLOAD_BYTES_PER_AGENT": "150000",
	}})
	w := newPageServer(t)
	w.serve("/page", page("files", `<input type=file aria-label=File><button>None</button>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	v := a.snapshot()
	file := func(ref string, bytes int) params {
		return params{"ref": ref, "files": []params{{"name": "f.bin", "base64": base64.StdEncoding.EncodeToString(make([]byte, bytes))}}, "snapshot": "none"}
	}
	for range 3 { // what no page was given does not count
		a.refused("upload", file(v.ref(t, "button", "None"), 60_000), protocol.InvalidParams)
	}
	a.do("upload", file(v.ref(t, "button", "File"), 60_000))
	e := a.refused("upload", file(v.ref(t, "button", "File"), 60_000), protocol.TooLarge)
	if e.Details["quota"] != "session.upload_bytes" || e.Details["limit"] != 100000.0 || e.Details["size"] != 120000.0 {
		t.Errorf("%v", e.Details)
	}
	bytes := func() (n int64) {
		filepath.Walk(filepath.Join(d.Home, "tmp"), func(path string, info os.FileInfo, err error) error {
			if err == nil && info.Name() == "f.bin" {
				n += info.Size()
			}
			return nil
		})
		return n
	}
	if n := bytes(); n != 60_000 {
		t.Errorf("%d bytes of uploads are on disk", n)
	}
	a.do("session_close", nil)
	for deadline := time.Now().Add(10 * time.Second); bytes() > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("uploads outlive their session")
		}
	}
	a = newAgent(t, d)
	a.open(w.URL + "/page")
	a.do("upload", file(a.snapshot().ref(t, "button", "File"), 60_000))
	// Another session of the same agent has its own quota, and both together the agent's.
	b := newAgent(t, d)
	b.open(w.URL + "/page")
	ref := b.snapshot().ref(t, "button", "File")
	b.do("upload", file(ref, 60_000))
	e = b.refused("upload", file(ref, 35_000), protocol.TooLarge)
	if e.Details["quota"] != "session.upload_bytes_per_agent" || e.Details["limit"] != 150000.0 || e.Details["size"] != 155000.0 {
		t.Errorf("%v", e.Details)
	}
	b.do("session_close", nil)
	for deadline := time.Now().Add(10 * time.Second); bytes() > 60_000; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("uploads outlive their session")
		}
	}
	a.do("upload", file(a.snapshot().ref(t, "button", "File"), 35_000)) // there is room again

	type states struct {
		States []struct {
			Name  string
			Bytes int
		}
		Bytes  int
		Limits struct{ Count, Bytes int }
	}
	a.do("state_save", params{"name": "one"})
	a.do("state_save", params{"name": "two"})
	e = a.refused("state_save", params{"name": "three"}, protocol.TooLarge)
	if e.Details["quota"] != "state.count" || e.Details["limit"] != 2.0 || e.Details["size"] != 3.0 {
		t.Errorf("%v", e.Details)
	}
	if l := ask[states](a, "state_list", nil); len(l.States) != 2 || l.States[0].Name != "one" || l.Bytes == 0 || l.Limits.Count != 2 {
		t.Errorf("%+v", l)
	}
	a.do("eval", params{"expression": "localStorage.setItem('a', 'x'.repeat(200000))"})
	e = a.refused("state_save", params{"name": "two"}, protocol.TooLarge)
	if e.Details["quota"] != "state.bytes" {
		t.Errorf("%v", e.Details)
	}
	a.do("state_delete", params{"name": "one"})
	a.refused("state_delete", params{"name": "one"}, protocol.InvalidParams)
	a.do("eval", params{"expression": "localStorage.clear()"})
	a.do("state_save", params{"name": "three"})
	names := []string{}
	for _, s := range ask[states](a, "state_list", nil).States {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"three", "two"}) {
		t.Errorf("%v", names)
	}
}
