package e2e_test

import (
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// carrier is a site that carries what is typed into one page of it to others: /fill has the fields, /watch shows at
// once, and writes to its console, what they hold, and /carried sends it to where waysPages tell it in every way.
type carrier struct {
	*pageServer
	mu   sync.Mutex
	kept map[string]string // by field
}

func newCarrier(t *testing.T) *carrier {
	w, _ := waysPages(t)
	c := &carrier{pageServer: w, kept: map[string]string{}}
	w.serve("/fill", page("Fill", `<label>Search <input id=search></label><label>Code <input id=code></label><script>
		for (const e of document.querySelectorAll('input')) e.oninput = () => navigator.sendBeacon('/keep?field=' + e.id, e.value);</script>`), "")
	w.mux.HandleFunc("/keep", func(_ http.ResponseWriter, r *http.Request) {
		value, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		if field := r.FormValue("field"); len(value) >= len(c.kept[field]) {
			c.kept[field] = string(value)
		}
	})
	w.mux.HandleFunc("/kept", func(rw http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, field := range slices.Sorted(maps.Keys(c.kept)) {
			fmt.Fprintf(rw, "%s: %s\n", field, c.kept[field])
		}
	})
	w.serve("/watch", page("Watch", `<h1>Watch</h1><pre id=p></pre><script>
		let said = ''; setInterval(async () => {
			const now = await (await fetch('/kept', {cache: 'no-store'})).text();
			if (now === said) return;
			said = now; p.textContent = now; document.title = now.split('\n').join(' '); console.error('kept ' + now);
		}, 10)</script>`), "")
	w.mux.HandleFunc("/carried", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(rw, `<!doctype html><title>Carried</title><form method=post action=/told><input type=hidden name=q value="%s"><button>Send</button></form>`, escapeHTML(c.of("search")))
	})
	return c
}

// of is what a field was given.
func (c *carrier) of(field string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[field]
}

// shows waits until the watching page of a session shows so many masked values, and fails where it shows one of
// those that the fields were given.
func (c *carrier) shows(t *testing.T, a *agent, session string, values int) {
	t.Helper()
	var got string
	until(t, 20*time.Second, "what the fields were given", func() bool {
		r, err := a.try("read", params{"session": session})
		if got = r.Content; err != nil && protocol.CodeOf(err) != protocol.FleetUnavailable { // its node has just come back
			t.Fatal(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for field, value := range c.kept {
			if value != "" && strings.Contains(got, value) {
				t.Fatalf("%s shows what %s was given: %q", session, field, got)
			}
		}
		return strings.Count(got, maskedValue) >= values
	})
}

// An agent is given secrets in a session at one node. The site shows them in its sessions at other nodes, at once:
// there they are hidden too, in whatever way they are read, be they printed by a program that says something else at
// each node, or one-time codes; and at a node that comes later, when the operator has removed them.
func TestSecretsOfSessionsAtOtherNodes(t *testing.T) {
	t.Parallel()
	env := map[string]string{"BROWSERD_SESSION__MAX": "1", "BROWSERD_LOG__LEVEL": "debug"}
	f := startFleet(t, env)
	w := newCarrier(t)
	set := secretSetter(t, f.nodes[0])
	set(password, "shop", "--origin", w.URL)
	set("", "program", "--origin", w.URL, "--", "sh", "-c", `echo "printed by node $BROWSERD_FLEET__NAME"`)
	set("otpauth://totp/x?secret=JBSWY3DPEHPK3PXP", "code", "--totp", "--origin", w.URL)
	a, b := newAgent(t, f.nodes[0]), newAgent(t, f.nodes[1])
	a.do("session_open", params{"name": "gives"})
	b.do("session_open", params{"name": "near", "trace": true})
	b.do("session_open", params{"name": "far", "trace": true})
	if r := fleetOf(t, f.nodes[0]); len(r.Sessions) != 3 || r.Nodes[0].Sessions != 1 || r.Nodes[1].Sessions != 1 || r.Nodes[2].Sessions != 1 {
		t.Fatalf("the sessions lie at %+v", r.Sessions)
	}
	var heard []*overheard
	for _, d := range f.nodes {
		heard = append(heard, listens(t, d))
	}
	for _, name := range []string{"near", "far"} {
		b.do("open", params{"session": name, "url": w.URL + "/watch"})
		ask[struct{}](b, "video", params{"session": name, "action": "start"})
	}
	a.do("open", params{"session": "gives", "url": w.URL + "/fill"})
	for _, given := range []struct{ field, secret string }{{"Search", "program"}, {"Code", "code"}, {"Search", "shop"}} {
		a.do("type", params{"session": "gives", "ref": "label=" + given.field, "text": "{{secret:" + given.secret + "}}", "clear": true})
		if given.secret == "program" {
			until(t, 10*time.Second, "what the program printed", func() bool { return w.of("search") == "printed by node one" })
			w.shows(t, b, "near", 1)
			w.shows(t, b, "far", 1)
		}
	}
	until(t, 10*time.Second, "the site to have them", func() bool { return w.of("search") == password && len(w.of("code")) == 6 })
	for _, name := range []string{"near", "far"} {
		w.shows(t, b, name, 2)
	}
	for i, o := range heard {
		o.has(t, "kept code: •••") // an event of the console
		o.leaksNothing(t, fmt.Sprintf("who subscribes at node %d", i+1))
	}

	ways := 0
	for _, at := range []struct {
		session, transport string
		of                 *testdaemon.Daemon
	}{{"near", "WebSocket", f.nodes[1]}, {"far", "MCP", f.nodes[0]}, {"near", "HTTP", f.nodes[2]}} {
		t.Run(at.transport, func(t *testing.T) {
			send := doors(t, at.of)[at.transport]
			b.do("open", params{"session": at.session, "url": w.URL + "/carried"})
			b.do("click", params{"session": at.session, "ref": "role=button"})
			posted := ask[struct{ Entries []struct{ ID int } }](b, "network", params{"filter": "missing", "session": at.session}).Entries
			if len(posted) == 0 {
				t.Fatal("the page has asked for nothing")
			}
			for _, y := range toldWays(w.pageServer, at.session, posted[len(posted)-1].ID) {
				switch y.name {
				case "http_request", "what was pasted": // it would give the secret here; nothing was copied in this Chromium
					continue
				case "forward": // not all builds show the page as it was left
					y.shows = ""
				}
				if y.method == "trace" || y.method == "video" || y.method == "recordings" {
					continue // below
				}
				p := maps.Clone(y.params)
				if y.method != "session_list" && y.method != "status" {
					p["session"] = at.session
				}
				answer := send(t, y.method, p)
				if found := leaks(answer); found != nil {
					t.Errorf("%s: %s %v shows the password (%v): %.3000s", y.name, y.method, y.params, found, answer)
				}
				if !strings.Contains(string(answer), y.shows) {
					t.Errorf("%s: %s %v says nothing of %q: %.3000s", y.name, y.method, y.params, y.shows, answer)
				}
				ways++
			}
		})
	}
	if !t.Failed() && ways < 3*50 {
		t.Errorf("%d ways", ways)
	}
	for i, name := range []string{"near", "far"} {
		ask[struct{}](b, "trace", params{"session": name, "action": "stop"})
		ask[struct{}](b, "video", params{"session": name, "action": "stop"})
		recordedNothing(t, f.nodes[i+1], name)
	}

	// A node that comes later, and cannot ask for the values any more.
	if out, err := f.nodes[0].Command("secret", "rm", "shop", "program", "code"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	four := startNode(t, f.pg, "four", env)
	until(t, 10*time.Second, "the new node to be known", func() bool { _, err := b.try("session_open", params{"name": "later"}); return err == nil })
	b.do("open", params{"session": "later", "url": w.URL + "/watch"})
	w.shows(t, b, "later", 2)
	answer := doors(t, four)["HTTP"](t, "web_fetch", params{"url": w.URL + "/said"})
	if found := leaks(answer); found != nil || !strings.Contains(string(answer), "Said •••") {
		t.Errorf("web_fetch at the new node (%v): %s", found, answer)
	}
	for i, o := range heard {
		o.leaksNothing(t, fmt.Sprintf("who subscribes at node %d", i+1))
	}
	for _, d := range append(slices.Clone(f.nodes), four) {
		if log := d.Log(); leaks([]byte(log)) != nil || strings.Contains(log, "printed by node") {
			t.Errorf("a log has the password (%v)", leaks([]byte(log)))
		}
	}
}

// While the database is silent no secret is given, and nothing is written into the page. When it is back it is given,
// and hidden at the other node.
func TestASecretIsGivenWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_SESSION__MAX": "1"})
	w := newCarrier(t)
	secretSetter(t, f.nodes[0])(password, "shop", "--origin", w.URL)
	a, b := newAgent(t, f.nodes[0]), newAgent(t, f.nodes[1])
	a.open(w.URL + "/fill")
	b.do("session_open", params{"name": "other"})
	b.open(w.URL + "/watch")
	f.pg.Freeze(t)
	a.refused("type", params{"ref": "label=Search", "text": "{{secret:shop}}"}, protocol.FleetUnavailable)
	f.pg.Thaw(t)
	if got := w.of("search"); got != "" {
		t.Errorf("the site has %q", got)
	}
	until(t, 20*time.Second, "the secret to be given", func() bool {
		_, err := a.try("type", params{"ref": "label=Search", "text": "{{secret:shop}}"})
		return err == nil
	})
	w.shows(t, b, "other", 1)
}

// A node is stopped with a session of the agent's while a secret is given at another one: it is given when the lease
// of the first is over. What its pages tell it meanwhile, and then, is hidden when it comes back.
func TestASecretIsGivenWhileANodeIsStopped(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_SESSION__MAX": "1"})
	w := newCarrier(t)
	secretSetter(t, f.nodes[0])(password, "shop", "--origin", w.URL)
	a, b := newAgent(t, f.nodes[0]), newAgent(t, f.nodes[1])
	a.open(w.URL + "/fill")
	b.do("session_open", params{"name": "other"})
	heard := listens(t, f.nodes[1])
	b.open(w.URL + "/watch")
	syscall.Kill(f.nodes[1].PID, syscall.SIGSTOP)
	began := time.Now()
	typed := make(chan error, 1)
	go func() {
		_, err := a.try("type", params{"ref": "label=Search", "text": "{{secret:shop}}"})
		typed <- err
	}()
	select {
	case err := <-typed:
		if took := time.Since(began); err != nil || took < 5*time.Second {
			t.Errorf("given after %v: %v", took, err)
		}
	case <-time.After(25 * time.Second):
		t.Error("not given within 25 s")
	}
	until(t, 10*time.Second, "the site to have it", func() bool { return w.of("search") == password })
	syscall.Kill(f.nodes[1].PID, syscall.SIGCONT)
	w.shows(t, b, "other", 1)
	b.do("click", params{"ref": "role=heading"})
	heard.has(t, `"command":"click"`)
	heard.leaksNothing(t, "who subscribes at the node")
}

// A row of what an agent was given cannot be read: a node begins all the same, and does nothing for that agent until the row
// is gone. Other agents are served, and the log says what to do.
func TestARowOfGivenCannotBeRead(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	confirmingNode(t, pg, "one", "").Stop()
	db, err := sql.Open("pgx", pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO given (agent, tag, code, value, at) VALUES ('ann', 'tag', false, 'garbage', clock_timestamp())"); err != nil {
		t.Fatal(err)
	}
	d := confirmingNode(t, pg, "two", "")
	a, o := as(t, d, ann), as(t, d, olga)
	if e := a.refused("session_open", params{"source": "http"}, protocol.FleetUnavailable); !strings.Contains(e.Next, "log") {
		t.Errorf("the agent is told %+v", e)
	}
	a.refused("web_fetch", params{"url": "http://127.0.0.1:1/"}, protocol.FleetUnavailable)
	o.do("session_open", params{"source": "http"})
	o.do("session_close", nil)
	const statement = `DELETE FROM given WHERE agent = 'ann' AND tag = '\x746167'`
	if log := strings.ReplaceAll(d.Log(), `\\`, `\`); !strings.Contains(log, statement) {
		t.Errorf("the log does not say what to do:\n%s", log)
	}
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
	until(t, 10*time.Second, "the agent is served", func() bool {
		_, err := a.try("session_open", params{"source": "http"})
		return err == nil
	})
}
