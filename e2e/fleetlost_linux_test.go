package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// account serves a page that says who is logged in, and counts what is posted.
func account(w *pageServer) (posts *atomic.Int32) {
	posts = &atomic.Int32{}
	w.mux.HandleFunc("GET /login", func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "user", Value: r.URL.Query().Get("as"), Path: "/", MaxAge: 3600})
		http.Redirect(rw, r, "/account", http.StatusFound)
	})
	w.mux.HandleFunc("GET /account", func(rw http.ResponseWriter, r *http.Request) {
		user := "nobody"
		if c, err := r.Cookie("user"); err == nil {
			user = c.Value
		}
		fmt.Fprint(rw, page("account", "<h1>"+user+`</h1><p id=kept></p><form method=post action=/buy><button>Buy</button></form>
			<script>document.getElementById("kept").textContent = "kept " + localStorage.getItem("kept")</script>`))
	})
	w.mux.HandleFunc("POST /buy", func(rw http.ResponseWriter, r *http.Request) {
		posts.Add(1)
		http.Redirect(rw, r, "/account", http.StatusSeeOther)
	})
	return posts
}

// The node of a session is killed. The next command, at another node, answers browser_lost once,
// within the lease and two seconds, and then the session goes on: logged in, with its emulation,
// its routes and its restrictions, and no old ref means a new element. So does one with a node
// that is stopped, which comes back and has no session.
func TestANodeIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lose func(d *testdaemon.Daemon)
	}{
		{"killed", (*testdaemon.Daemon).Kill},
		{"stopped", func(d *testdaemon.Daemon) { syscall.Kill(d.PID, syscall.SIGSTOP) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t, nil)
			w := newPageServer(t)
			posts := account(w)
			a := newAgent(t, f.nodes[2])
			a.do("session_open", params{"name": "work", "allowed_domains": []string{"127.0.0.1"}})
			a.open(w.URL + "/login?as=ann")
			a.do("emulate", params{"timezone": "Europe/Oslo"})
			a.do("route", params{"pattern": "*/blocked", "action": "block"})
			v := a.snapshot()
			old := v.ref(t, "button", "Buy")
			a.do("click", params{"ref": old})
			await(t, func() bool { return posts.Load() == 1 })
			t.Cleanup(func() { syscall.Kill(f.nodes[0].PID, syscall.SIGCONT) })
			c.lose(f.nodes[0])
			began := time.Now()
			e := a.refused("snapshot", params{"session": "work"}, protocol.BrowserLost)
			took := time.Since(began)
			if e.Details["cause"] != "node_lost" || took > 12*time.Second {
				t.Errorf("after %v: %v %v", took, e, e.Details)
			}
			t.Logf("browser_lost after %v", took)
			a.refused("click", params{"ref": old}, protocol.StaleRef)
			if r := a.do("read", nil); !strings.Contains(r.Content, "ann") {
				t.Errorf("the session is not logged in: %q", r.Content)
			}
			if r := a.do("eval", params{"expression": "Intl.DateTimeFormat().resolvedOptions().timeZone"}); r.Value != "Europe/Oslo" {
				t.Errorf("the time zone is %v", r.Value)
			}
			if r := a.do("eval", params{"expression": `fetch("/blocked").then(() => "sent", () => "blocked")`}); r.Value != "blocked" {
				t.Errorf("the route: %v", r.Value)
			}
			a.refused("open", params{"url": w.alt() + "/account"}, protocol.PolicyDenied)
			a.do("click", params{"ref": "role=button[name=\"Buy\"]"})
			await(t, func() bool { return posts.Load() == 2 })
			if c.name != "stopped" {
				return
			}
			syscall.Kill(f.nodes[0].PID, syscall.SIGCONT)
			await(t, func() bool { return strings.Contains(f.nodes[0].Log(), "another node has taken a session over") })
			b := newAgent(t, f.nodes[0])
			b.do("click", params{"session": "work", "ref": "role=button[name=\"Buy\"]"})
			await(t, func() bool { return posts.Load() == 3 })
			if r := fleetOf(t, f.nodes[0]); len(r.Sessions) != 1 || r.Sessions[0].Node == 1 {
				t.Errorf("%+v", r.Sessions)
			}
		})
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 15 s")
		}
	}
}

// A drain waits for the commands that run, also for longer than a client without a token may take.
func TestADrainWaitsForCommands(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d := startNode(t, pg, "one", nil)
	e := startNode(t, pg, "two", nil)
	a := newAgent(t, d)
	a.do("session_open", params{"name": "work", "source": "http"})
	sent := a.send("wait", params{"ms": 7000})
	began := time.Now()
	out, err := d.Command("drain")
	if took := time.Since(began); err != nil || out != "handed over: 1\n" || took < 5*time.Second {
		t.Errorf("browserd drain after %v: %q, %v", took, out, err)
	}
	if _, err := a.wait(sent); err != nil {
		t.Error(err)
	}
	newAgent(t, e).do("wait", params{"session": "work", "ms": 1})
}

// A node drains while its sessions are used: each goes on at another node, logged in and with its
// local storage, no command fails and none is done twice, clients are told session_moved, and
// /readyz is 503. Then it stops, and its connections are closed with 1012.
func TestANodeIsDrainedUnderLoad(t *testing.T) {
	t.Parallel()
	f := startFleet(t, nil)
	described := newDescribed(t)
	w := newPageServer(t)
	posts := account(w)
	const sessions = 6
	var agents []*agent
	for n := range sessions {
		a := newAgent(t, f.nodes[1+n%2])
		a.do("session_open", params{"name": fmt.Sprint("s", n)})
		a.open(w.URL + fmt.Sprint("/login?as=user", n))
		a.do("eval", params{"expression": fmt.Sprintf(`localStorage.setItem("kept", "storage%d")`, n)})
		agents = append(agents, a)
	}
	drained, stop := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	var done atomic.Int32
	for n, a := range agents {
		all.Go(func() {
			for after := 0; after < 2; {
				if _, err := a.try("click", params{"ref": "role=button[name=\"Buy\"]"}); err != nil {
					t.Errorf("session %d: %v", n, err)
					return
				}
				done.Add(1)
				select {
				case <-drained:
					after++
				case <-stop:
					return
				default:
				}
			}
		})
	}
	await(t, func() bool { return done.Load() > 2*sessions })
	began := time.Now()
	out, err := f.nodes[0].Command("drain")
	if err != nil || !strings.Contains(out, "handed over: 6") {
		t.Errorf("browserd drain: %q, %v", out, err)
	}
	t.Logf("%d sessions were handed over in %v, under load", sessions, time.Since(began))
	close(drained)
	all.Wait()
	close(stop)
	if posts.Load() != done.Load() {
		t.Errorf("%d clicks were answered, and %d did something", done.Load(), posts.Load())
	}
	for n, a := range agents {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		e, err := a.c.Event(ctx, func(e protocol.Event) bool { return e.Type == protocol.EventSessionMoved })
		cancel()
		if err != nil || e.Session != fmt.Sprint("s", n) {
			t.Errorf("session_moved: %+v, %v", e, err)
		}
		if err := described.event(e); err != nil {
			t.Error(err)
		}
		r := a.do("read", nil)
		if !strings.Contains(r.Content, fmt.Sprint("user", n)) || !strings.Contains(r.Content, fmt.Sprint("kept storage", n)) {
			t.Errorf("session %d is %q", n, r.Content)
		}
	}
	if why := ready(t, f.nodes[0]); !strings.Contains(why, "draining") {
		t.Errorf("/readyz says %q", why)
	}
	for _, s := range fleetOf(t, f.nodes[1]).Sessions {
		if s.Node == 1 {
			t.Errorf("%+v", s)
		}
	}
	ws, _, err := websocket.DefaultDialer.Dial(f.nodes[0].WS(), http.Header{"Authorization": {"Bearer " + f.nodes[0].Token}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.nodes[0].Stop()
	}()
	for err == nil {
		_, _, err = ws.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.CloseServiceRestart) {
		t.Errorf("the connection ended with %v", err)
	}
	<-stopped
}

// One node is cut off from PostgreSQL, which the others reach: when its lease is over it acts no
// more, the session goes on at another node, and with the network back the cut one passes
// commands on to it. Nothing that was answered is missing, and nothing is done twice.
func TestANodeIsCutOffFromPostgres(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d, cable := cutOff(t, pg, "one", nil)
	e := startNode(t, pg, "two", nil)
	w := newPageServer(t)
	posts := account(w)
	a, b := newAgent(t, d), newAgent(t, e)
	a.do("session_open", params{"name": "work"})
	a.open(w.URL + "/login?as=ann")
	buy := params{"session": "work", "ref": `role=button[name="Buy"]`}
	answered := int32(0)
	cable.cut()
	began := time.Now()
	var acted time.Duration // when the last click began that was done
	for {
		begun := time.Since(began)
		_, err := a.try("click", buy)
		if err == nil {
			answered, acted = answered+1, begun
			continue
		}
		if code := protocol.CodeOf(err); code != protocol.FleetUnavailable && code != protocol.OutcomeUnknown {
			t.Errorf("at the node that is cut off: %v", err)
		} else if code == protocol.OutcomeUnknown {
			answered++ // it was done, as this page knows
		}
		break
	}
	if acted > 10500*time.Millisecond {
		t.Errorf("the node acted for %v", acted)
	}
	if posts.Load() != answered {
		t.Errorf("%d clicks, and %d were posted", answered, posts.Load())
	}
	if err := b.refused("read", params{"session": "work"}, protocol.BrowserLost); err.Details["cause"] != "node_lost" {
		t.Error(err)
	}
	b.do("open", params{"session": "work", "url": w.URL + "/account"}) // the cut may have come before the checkpoint of the first
	b.do("click", buy)
	a.refused("click", buy, protocol.FleetUnavailable)
	cable.mend()
	await(t, func() bool { return ready(t, d) == "" })
	a.do("click", buy)
	await(t, func() bool { return posts.Load() == answered+2 })
	if r := fleetOf(t, e); len(r.Sessions) != 1 || r.Sessions[0].Node != 2 {
		t.Errorf("%+v", r.Sessions)
	}
}

// A node that is cut off from PostgreSQL gets SIGTERM: it drains until its lease is over, and no longer, and its log says that
// the last checkpoints are given up. The sessions go on at another node, from those before.
func TestANodeThatIsCutOffIsStopped(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d, cable := cutOff(t, pg, "one", nil)
	e := startNode(t, pg, "two", nil)
	w := newPageServer(t)
	account(w)
	a, b := newAgent(t, d), newAgent(t, e)
	for _, name := range []string{"work", "more"} {
		a.do("session_open", params{"name": name})
		a.open(w.URL + "/login?as=ann")
	}
	cable.cut()
	defer cable.mend()
	began := time.Now()
	d.Stop() // fails above 20 s, which docs/fleet.md gives
	t.Logf("the node ended within %v", time.Since(began))
	if log := d.Log(); strings.Count(log, "2 of this node's sessions were not handed over, and their last checkpoints are given up") != 1 || strings.Count(log, "a session was not handed over") != 2 {
		t.Errorf("the log:\n%s", log)
	}
	for _, name := range []string{"work", "more"} {
		if err := b.refused("read", params{"session": name}, protocol.BrowserLost); err.Details["cause"] != "node_lost" {
			t.Error(err)
		}
	}
}

// cutOff starts a node that reaches PostgreSQL by a cable.
func cutOff(t *testing.T, pg *testpostgres.Server, name string, env map[string]string) (*testdaemon.Daemon, *cable) {
	t.Helper()
	at, err := url.Parse(pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	c := newCable(t, at.Host)
	at.Host = c.addr
	all := map[string]string{"BROWSERD_FLEET__DSN": at.String()}
	maps.Copy(all, env)
	return startNode(t, pg, name, all), c
}

// PostgreSQL is back before a node has ended that stops and has given its sessions up: they go on at another node all the same.
func TestANodeThatGaveUpReachesPostgresAgain(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d, cable := cutOff(t, pg, "one", map[string]string{"BROWSERD_STATE__CHECKPOINT": "0"}) // the state is saved at the end alone, so that the end takes a while
	e := startNode(t, pg, "two", nil)
	w := newPageServer(t)
	account(w)
	a, b := newAgent(t, d), newAgent(t, e)
	for _, p := range []params{{"name": "work"}, {"name": "keeps", "state": "shop", "keep": true}} {
		a.do("session_open", p)
		a.open(w.URL + "/login?as=ann")
	}
	cable.cut()
	if err := syscall.Kill(d.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, 20*time.Second, "the drain is given up", func() bool { return strings.Contains(d.Log(), "their last checkpoints are given up") })
	cable.mend()
	until(t, 40*time.Second, "the node's end", func() bool {
		select {
		case <-d.Exited():
			return true
		default:
			return false
		}
	})
	for _, name := range []string{"work", "keeps"} {
		if err := b.refused("read", params{"session": name}, protocol.BrowserLost); err.Details["cause"] != "node_lost" {
			t.Error(err)
		}
	}
}

// A drain is given up while PostgreSQL does not answer, and the daemon goes on: browserd drain says why, and to drain again.
// Done again, it hands the session over.
func TestADrainIsDoneAgain(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d, cable := cutOff(t, pg, "one", map[string]string{"BROWSERD_BROWSER__DISABLED": "true"})
	e := startNode(t, pg, "two", map[string]string{"BROWSERD_BROWSER__DISABLED": "true"})
	a := newAgent(t, d)
	a.do("session_open", params{"name": "work", "source": "http"})
	cable.cut()
	for _, within := range []string{"2s", "5s", "30s"} { // the last one ends with the lease
		_, err := d.Command("drain", "--within", within)
		if err == nil || !strings.Contains(err.Error(), "the fleet's database does not answer: 1 of this node's sessions were not handed over: run browserd drain again when it answers\n") || strings.Contains(err.Error(), "other nodes continue") {
			t.Errorf("a drain within %s: %v", within, err)
		}
	}
	cable.mend()
	until(t, 20*time.Second, "the lease", func() bool { return strings.Contains(d.Log(), "the fleet's database answers again") })
	var out string
	var err error
	until(t, 20*time.Second, "a drain", func() bool {
		out, err = d.Command("drain")
		return err == nil
	})
	if out != "handed over: 1\n" {
		t.Errorf("browserd drain again: %q", out)
	}
	newAgent(t, e).do("wait", params{"session": "work", "ms": 1})
}

// cable copies connections to an address, until it is cut: then nothing passes, and nobody is
// told.
type cable struct {
	addr string
	mu   sync.Mutex
	open sync.RWMutex // held by who cuts it
	all  []net.Conn
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{addr: l.Addr().String()}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			c.mu.Lock()
			c.all = append(c.all, in, out)
			c.mu.Unlock()
			go c.copy(in, out)
			go c.copy(out, in)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, conn := range c.all {
			conn.Close()
		}
	})
	return c
}

func (c *cable) copy(to, from net.Conn) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		c.open.RLock()
		_, err = to.Write(b[:n])
		c.open.RUnlock()
		if err != nil {
			return
		}
	}
}

func (c *cable) cut()  { c.open.Lock() }
func (c *cable) mend() { c.open.Unlock() }

// reset ends all connections.
func (c *cable) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		conn.Close()
	}
	c.all = nil
}
