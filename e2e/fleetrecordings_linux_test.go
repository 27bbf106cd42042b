package e2e_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/recording"
)

// tracing is one agent with a session at each of two nodes, that makes traces at both.
type tracing struct {
	t      *testing.T
	nodes  []*testdaemon.Daemon
	agents []*agent
	made   []recording.Recorded // in the order in which they ended
}

// startTracing starts the nodes. The pages' pictures are noise, so that a trace has 30 KB.
func startTracing(t *testing.T, pg *testpostgres.Server, limits map[string]string) *tracing {
	t.Helper()
	limits["BROWSERD_SESSION__MAX"] = "1"
	f := &tracing{t: t}
	w := newPageServer(t)
	w.serve("/noise", page("noise", `<canvas id=c width=800 height=300></canvas><button>Press</button><script>
		const g = c.getContext('2d'), d = g.createImageData(800, 300);
		for (let i = 0; i < d.data.length; i++) d.data[i] = i % 4 == 3 ? 255 : Math.random() * 256;
		g.putImageData(d, 0, 0);
	</script>`), "")
	for _, name := range []string{"one", "two"} {
		f.nodes = append(f.nodes, startNode(t, pg, name, limits))
	}
	for n, d := range f.nodes {
		a := newAgent(t, d)
		a.do("session_open", params{"name": fmt.Sprint("s", n)}) // the second one at the other node: the first is full
		a.open(w.URL + "/noise")
		f.agents = append(f.agents, a)
	}
	if r := fleetOf(t, f.nodes[0]); len(r.Sessions) != 2 || r.Sessions[0].Node == r.Sessions[1].Node {
		t.Fatalf("the sessions lie at %+v", r.Sessions)
	}
	return f
}

// trace makes one in the session at a node.
func (f *tracing) trace(node int) {
	f.t.Helper()
	a := f.agents[node]
	a.do("trace", params{"action": "start"})
	a.do("click", params{"ref": "role=button"})
	f.made = append(f.made, answer[struct{ Recording recording.Recorded }](f.t, a, "trace", params{"action": "stop"}).Recording)
}

// list is what the agent is told at a node: each with its bytes.
func (f *tracing) list(node int) (names []string, bytes int64) {
	f.t.Helper()
	for _, r := range answer[struct{ Recordings []recording.Recorded }](f.t, f.agents[node], "recordings", params{}).Recordings {
		names, bytes = append(names, r.Name), bytes+r.Bytes
	}
	return names, bytes
}

// newest returns the newest of those that were made, as many as fit.
func (f *tracing) newest(limit int64, count int) (names []string) {
	for _, r := range slices.Backward(f.made) {
		if limit -= r.Bytes; limit < 0 || len(names) == count {
			break
		}
		names = append(names, r.Name)
	}
	slices.Reverse(names)
	return names
}

// kept waits until both nodes list these and no others, and over HTTP only these are read.
func (f *tracing) kept(what string, want []string, nodes ...int) {
	f.t.Helper()
	var got []string
	for _, n := range nodes {
		for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if got, _ = f.list(n); slices.Equal(got, want) {
				break
			}
			if time.Now().After(deadline) {
				f.t.Fatalf("%s: node %d lists %q, not %q", what, n+1, got, want)
			}
		}
		for _, r := range f.made {
			body := getAs(f.t, f.nodes[n], recording.PathOf(r.Name), f.nodes[n].Token)
			if slices.Contains(want, r.Name) != strings.HasPrefix(body, "PK") {
				f.t.Errorf("%s: node %d answers GET of %s with %.80q", what, n+1, r.Name, body)
			}
		}
	}
}

// recording.count and recording.bytes_per_agent are the fleet's: of an agent's traces at two nodes the oldest go, at
// whichever of them they are, as soon as another one ends.
func TestRecordingsOfAFleet(t *testing.T) {
	t.Parallel()
	t.Run("count", func(t *testing.T) {
		t.Parallel()
		f := startTracing(t, testpostgres.Start(t), map[string]string{"BROWSERD_RECORDING__COUNT": "3"})
		for n, at := range []int{0, 1, 0, 1, 1, 1, 0} {
			f.trace(at)
			f.kept(fmt.Sprint("after ", n+1), f.newest(1<<40, 3), 0, 1)
		}
		f.agents[0].do("recordings", params{"name": f.made[5].Name, "delete": true}) // of the other node
		f.made = slices.Delete(f.made, 5, 6)
		f.made = f.made[3:] // those before are gone
		f.trace(0)
		f.kept("after a removal", f.newest(1<<40, 3), 0, 1)
	})
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		const limit = 120_000
		f := startTracing(t, testpostgres.Start(t), map[string]string{
			"BROWSERD_RECORDING__BYTES": strconv.Itoa(limit), "BROWSERD_RECORDING__BYTES_PER_AGENT": strconv.Itoa(limit),
		})
		for n := range 8 {
			f.trace(n % 3 % 2)
			want := f.newest(limit, 100)
			f.kept(fmt.Sprint("after ", n+1), want, 0, 1)
		}
		names, bytes := f.list(0)
		if len(names) == len(f.made) || bytes > limit {
			t.Errorf("%d of %d traces are kept, with %d bytes", len(names), len(f.made), bytes)
		}
		t.Logf("%d of %d traces are kept, with %d of %d bytes", len(names), len(f.made), bytes, limit)
	})
}

// The recordings of a killed node do not count when its lease is over. When the node is back, with what it kept, the
// oldest of all go that no longer fit.
func TestRecordingsOfAKilledNode(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	limits := map[string]string{"BROWSERD_RECORDING__COUNT": "3"}
	f := startTracing(t, pg, limits)
	f.trace(1)
	f.trace(0)
	f.trace(1)
	f.kept("before", f.newest(1<<40, 3), 0, 1)
	here := f.made[1].Name
	f.nodes[1].Kill()
	await(t, func() bool {
		return len(fleetOf(t, f.nodes[0]).Nodes) == 2 && fleetOf(t, f.nodes[0]).Nodes[1].State == "lost"
	})
	f.trace(0)
	f.trace(0)
	f.kept("while it is lost", []string{here, f.made[3].Name, f.made[4].Name}, 0)
	o := nodeOptions(t, pg, "two", "", limits)
	o.Home = f.nodes[1].Home
	f.nodes[1] = testdaemon.Start(t, o)
	f.agents[1] = newAgent(t, f.nodes[1])
	f.kept("when it is back", f.newest(1<<40, 3), 0, 1)
}

// While the database does not answer traces are made all the same. When it answers, the oldest go.
func TestRecordingsWhileTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	f := startTracing(t, pg, map[string]string{"BROWSERD_RECORDING__COUNT": "3"})
	f.trace(0)
	f.trace(1)
	f.trace(0)
	pg.Freeze(t)
	a := f.agents[1]
	var stopped struct{ Recording recording.Recorded }
	for _, action := range []string{"start", "stop"} {
		if err := a.c.Call(t.Context(), "trace", params{"action": action}, &stopped); err != nil {
			t.Errorf("trace %s: %v", action, err)
		}
	}
	f.made = append(f.made, stopped.Recording)
	pg.Thaw(t)
	f.kept("when it answers", f.newest(1<<40, 3), 0, 1)
}
