package live

import (
	"fmt"
	"testing"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// A silent node's earlier sessions are shown only if no other node has them now.
func TestASilentNodesSessionIsAtAnother(t *testing.T) {
	at := func(name string) session.Overview {
		return session.Overview{Info: session.Info{Agent: "ann", Session: name}}
	}
	silent := NodeOverview{Node: "silent", Silent: true, Sessions: []session.Overview{at("lost"), at("taken"), at("here")}}
	answers := NodeOverview{Node: "answers", Sessions: []session.Overview{at("taken")}}
	for _, others := range [][]NodeOverview{{silent, answers}, {answers, silent}} {
		h := Host{
			Sessions: func() []session.Overview { return []session.Overview{at("here")} },
			Find: func(string, string) (*session.Session, error) {
				return nil, protocol.Errorf(protocol.SessionNotFound, "it has just ended")
			},
			Questions: func() []policy.Question { return nil },
			Others:    func() []NodeOverview { return others },
			Daemon:    func() Daemon { return Daemon{} },
		}
		for name, node := range map[string]string{"lost": "silent", "taken": "answers"} {
			if e := h.nodeOf("ann", name); e == nil || e.Node != node {
				t.Errorf("with %s first, %s is at %+v", others[0].Node, name, e)
			}
		}
		shown := map[string]string{}
		for _, s := range h.State(&View{}).Sessions {
			shown[s.Name] += s.Node
		}
		if fmt.Sprint(shown) != "map[lost:silent taken:answers]" {
			t.Errorf("with %s first, the view shows %v", others[0].Node, shown)
		}
	}
}
