package e2e_test

import (
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// find says where there is more than its limit lets through, whatever the source.
func TestFindSaysThatThereIsMore(t *testing.T) {
	d := testdaemon.Start(t, testdaemon.Options{})
	w := newWitness(t)
	w.serve("/14", page("14", strings.Repeat("<button>Go</button>", 14)), "")
	a := newAgent(t, d)
	for _, source := range []string{"chromium", "http"} {
		a.do("open", params{"url": w.URL + "/14", "source": source})
		for _, c := range []struct {
			limit, nodes int
			truncated    bool
		}{{10, 10, true}, {13, 13, true}, {14, 14, false}, {20, 14, false}} {
			var found struct {
				Nodes     []struct{} `json:"nodes"`
				Truncated bool       `json:"truncated"`
			}
			if err := a.c.Call(t.Context(), "find", params{"role": "button", "limit": c.limit}, &found); err != nil {
				t.Fatal(err)
			}
			if len(found.Nodes) != c.nodes || found.Truncated != c.truncated {
				t.Errorf("%s, limit %d: %d nodes, truncated %t", source, c.limit, len(found.Nodes), found.Truncated)
			}
		}
	}
}
