package walk

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/snapshot"
)

func TestDecodeRefuses(t *testing.T) {
	for _, raw := range []string{
		"", "null", "[]", "{}\n1", "{}\nx\t0\tbutton", "{}\n1\tx\tbutton", "{}\n1\t0\tbutton\tn\tb", "{}\n1\t0\tbutton\tn\tb\t\t\tid\t\thref",
		"{}\n1\t0\tbutton\tn\tb\t\t\tid\tx", "{}\n1\t0\tbutton\tn\tb\t\t\tid\t\thref\tx", "{}\n1\t0\tbutton\tn\tb\t\t\tid\t\tlevel\t#x",
		"{}\n", `{"f":[[1,0,1]]}`, `{"f":[[0,-1,1]]}`, `{"f":[[0,0,0]]}`,
	} {
		if w, err := Decode(1, raw); err == nil && raw != "null" {
			t.Errorf("%q: %+v", raw, w)
		}
	}
	w, err := Decode(7, `{"u":"u","t":"t","v":2,"n":3,"r":1,"rs":["max_nodes"],"x":["row"],"f":[[1,2,5]]}`+
		"\n0\t1\ttext\n5\t0\theading\tName\th1\tfocused busy\tv\vt\vn\vvn\vd\tid\t1\tlevel\t#1\thref\t=/x\n-3\t0\thow")
	want := Result{URL: "u", Title: "t", Visited: 2, Elements: 3, Rest: 1, Reasons: []string{"max_nodes"}, Frames: []Place{{1, 2, 5}},
		Nodes: []snapshot.Node{{Depth: 1, Role: "text", Name: "text"},
			{Key: snapshot.Key{Doc: 7, Node: 5}, Role: "heading", Name: "Name", Tag: "h1", Attrs: []snapshot.Attr{{Key: "level", Value: "1", Bare: true}, {Key: "href", Value: "/x"}},
				States: []string{"focused", "busy"}, Value: "v\t\n\vn•", Ident: "id", Context: "row"},
			{More: 3, Name: "how"}}}
	if d := cmp.Diff(w, want); d != "" || err != nil {
		t.Error(err, d)
	}
}

// FuzzDecode shows that whatever comes back from the page's process, Go only
// ever says no.
func FuzzDecode(f *testing.F) {
	f.Add("{\"f\":[[0,0,1]]}\n5\t0\theading\tName\th1\tfocused\tv\tid\t1\tlevel\t#1")
	f.Add("{}\n0\t1\tmore")
	f.Fuzz(func(t *testing.T, raw string) {
		w, err := Decode(1, raw)
		if err != nil {
			return
		}
		for _, fr := range w.Frames {
			if fr.Index > len(w.Nodes) {
				t.Fatal("a frame behind the end")
			}
		}
	})
}
