package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/internal/testdaemon"
)

// A person opens an agent's link at one node, looks at the view and its pictures at another and
// drives at the third: the session is at the first. Its agent, at yet another, hears of it. A link is
// used once, wherever it is opened.
func TestAViewAtAnyNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_SERVER__LIMITS__AUTH_TIMEOUT": "2s"}) // which ends no view
	w := newPageServer(t)
	w.serve("/", page("Sign in", `<h1>Sign in</h1><button onclick="this.textContent = 'done'" style="position:fixed;left:0;top:0;width:400px;height:400px">Go</button>`), "")
	a := newAgent(t, f.nodes[2])
	a.do("session_open", params{"name": "work"})
	a.open(w.URL + "/")
	asked := a.handsOff(params{"reason": "Please sign in."})
	path, ok := strings.CutPrefix(asked.URL, "http://"+f.Addr)
	if !ok {
		t.Fatalf("the link is %q", asked.URL)
	}
	v := opens(t, f.nodes[1], f.nodes[1].URL()+path)
	v.d = f.nodes[2]
	first, _ := v.dials()
	begun := time.Now()
	for _, d := range f.nodes {
		v.d = d
		if got := v.first("name"); got != "work" {
			t.Errorf("at %s the view shows %q", d.URL(), got)
		}
		c, status := v.dials()
		if c == nil {
			t.Fatalf("the socket at %s: %d", d.URL(), status)
		}
		c.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "default", "session": "work"})
		if got := heard(t, c, "frame"); got["bytes"].(int) < 1000 {
			t.Errorf("the picture at %s: %v", d.URL(), got)
		}
		c.Close()
		if without, _ := v.asks("GET", v.path, nil, "Cookie", ""); without.StatusCode != http.StatusUnauthorized {
			t.Errorf("without the cookie, at %s: %d", d.URL(), without.StatusCode)
		}
		if foreign, _ := v.asks("GET", v.path, nil, "Sec-Fetch-Site", "cross-site"); foreign.StatusCode != http.StatusForbidden {
			t.Errorf("another site, at %s: %d", d.URL(), foreign.StatusCode)
		}
	}
	v.d = f.nodes[2]
	if status := v.presses("take", "default", "work"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	c, _ := v.dials()
	c.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "default", "session": "work"})
	heard(t, c, "frame")
	for _, do := range []string{"move", "down", "up"} {
		c.WriteJSON(map[string]any{"t": "act", "id": 1, "act": map[string]any{"do": do, "x": 100, "y": 100, "clicks": 1}})
	}
	c.WriteJSON(map[string]any{"t": "ack", "id": 1})
	heard(t, c, "frame")
	v.d = f.nodes[1]
	if status := v.presses("done", "default", "work", "note", "signed in"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	if back := a.handsOff(nil); back.State != "done" || back.Note != "signed in" {
		t.Errorf("the agent hears %+v", back)
	}
	if r := a.do("read", nil); !strings.Contains(r.Content, "done") {
		t.Errorf("what the person clicked: %q", r.Content)
	}
	time.Sleep(time.Until(begun.Add(2500 * time.Millisecond))) // for the connection to be ended, if it is
	first.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "default", "session": "work"})
	heard(t, first, "frame")
	v.d = f.nodes[2]
	if again, _ := v.asks("GET", path, nil, "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); again.StatusCode != http.StatusUnauthorized {
		t.Errorf("the link opened again: %d", again.StatusCode)
	}
	forged := strings.Replace(v.path, ".", "X.", 1)
	if lost, _ := v.asks("GET", forged, nil); lost.StatusCode != http.StatusUnauthorized {
		t.Errorf("a view of no node: %d", lost.StatusCode)
	}
}

// A person opens an agent's link at one node and gives a file to its page at the others:
// whichever node it comes to, it goes to the page's uploads at the node of the session as it comes, and counts there. Who may
// not give files is answered before they come.
func TestFilesAreGivenAtAnyNode(t *testing.T) {
	t.Parallel()
	const size, mb = 2 << 20, 1 << 20
	f := startFleet(t, map[string]string{
		"BROWSERD_AUTH__TOKENS":          `[{"agent":"ann","token":"` + ann + `"}]`,
		"BROWSERD_SESSION__UPLOAD_BYTES": fmt.Sprint(8 * mb),
	})
	w := newPageServer(t)
	w.serve("/", page("page", choosesPage), "")
	a := as(t, f.nodes[0], ann)
	a.do("session_open", params{"name": "work"})
	a.open(w.URL + "/")
	path, ok := strings.CutPrefix(ask[struct{ URL string }](a, "view", params{"session": "work"}).URL, "http://"+f.Addr)
	if !ok {
		t.Fatal("the link is not one of the fleet's")
	}
	v := opens(t, f.nodes[1], f.nodes[1].URL()+path)
	if got := v.gives("work", size).answer(10 * time.Second); got != http.StatusForbidden {
		t.Errorf("who does not drive: %d", got)
	}
	c := chooser(t, f.nodes[1], v, "work")
	for i, d := range f.nodes[1:] {
		v.d = d
		if got := v.gives("work", size, "Browserd-Csrf", "").answer(10 * time.Second); got != http.StatusForbidden {
			t.Errorf("no CSRF token, at %s: %d", d.URL(), got)
		}
		if i > 0 { // the page asks again
			for _, do := range []string{"down", "up"} {
				c.WriteJSON(map[string]any{"t": "act", "id": 1, "act": map[string]any{"do": do, "x": 100, "y": 100, "clicks": 1}})
			}
			heard(t, c, "asks")
		}
		g := v.gives("work", size)
		await(t, func() bool { return len(given(f.nodes[0])) == i+1 }) // before all of it has come
		g.ends()
		if got := g.answer(20 * time.Second); got != http.StatusNoContent {
			t.Errorf("at %s: %d", d.URL(), got)
		}
		until(t, 10*time.Second, "the page gets the file", func() bool { return len(w.said("page")) == i+1 })
		if left := given(d); len(left) > 0 {
			t.Errorf("%s, at which the session is not, has %v", d.URL(), left)
		}
	}
	want := fmt.Sprintf("given %d", size-len(beginOfFiles)-len(endOfFiles))
	for _, said := range w.said("page") {
		if said != want {
			t.Errorf("the page says %q, want %q", said, want)
		}
	}
	over := v.gives("work", 64*mb+1)
	if got := over.answer(10 * time.Second); got != http.StatusRequestEntityTooLarge {
		t.Errorf("more than a request may have: %d", got)
	}
	over = v.gives("work", 12*mb)
	over.ends()
	if got := over.answer(20 * time.Second); got != http.StatusRequestEntityTooLarge {
		t.Errorf("more than the quota of uploads: %d", got)
	}
	if left := given(f.nodes[0]); len(left) != 2 {
		t.Errorf("the node of the session has %v", left)
	}
	if status := v.presses("done", "ann", "work"); status != http.StatusNoContent {
		t.Errorf("handing back: %d", status)
	}
}

// An MCP client's requests each land at another node. With the older protocol they are one
// conversation, which nobody else can use; with the newer one each stands for itself, and they share
// a browsing session all the same.
func TestMCPAtAnyNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_AUTH__TOKENS": `[{"agent":"ann","token":"` + ann + `"},{"agent":"olga","token":"` + olga + `","role":"operator"}]`})
	w := newPageServer(t)
	w.serve("/", page("Count", `<h1>Count</h1><button onclick="this.textContent = Number(this.textContent) + 1">0</button>`), "")
	for n, era := range eras {
		// A connection for each request, so that the proxy gives it to the next node.
		s := connectAs(t, &mcp.StreamableClientTransport{Endpoint: "http://" + f.Addr + "/mcp", HTTPClient: &http.Client{Transport: single{ann}}}, era)
		call := func(name string, arguments map[string]any) string {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
			if err != nil || r.IsError {
				t.Fatal(era, name, err, r)
			}
			return r.Content[0].(*mcp.TextContent).Text
		}
		call("open", map[string]any{"url": w.URL + "/"})
		for range 5 {
			call("click", map[string]any{"ref": "role=button"})
		}
		if text := call("snapshot", nil); !strings.Contains(text, `"5"`) {
			t.Errorf("%s: after five clicks: %s", era, text)
		}
		if r := fleetOf(t, f.nodes[0]); len(r.Sessions) != n+1 {
			t.Errorf("%s: the sessions are %+v", era, r.Sessions)
		}
		if s.ID() != "" {
			refusesOthers(t, f, s.ID())
		}
	}
}

// refusesOthers asks for an MCP conversation with another agent's token, at each node.
func refusesOthers(t *testing.T, f *fleet3, id string) {
	t.Helper()
	for _, d := range f.nodes {
		r, err := http.NewRequest(http.MethodPost, d.URL()+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Mcp-Session-Id", id)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+olga)
		r.Header.Set("Browserd-Passed-On", `{"agent":"ann","number":1}`)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != http.StatusNotFound {
			t.Errorf("with another agent's token, at %s: %d", d.URL(), a.StatusCode)
		}
	}
}

// single sends each request on a connection of its own.
type single struct{ token string }

func (s single) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Close = true
	r.Header.Set("Authorization", "Bearer "+s.token)
	return http.DefaultTransport.RoundTrip(r)
}

// toldOf waits until the view's socket tells of a state that fits.
func toldOf(t *testing.T, c *websocket.Conn, fits func(state map[string]any) bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !fits(heard(t, c, "state")); {
		if time.Now().After(deadline) {
			t.Fatal("the view does not come to show it")
		}
	}
}

// An operator's view at any node has the sessions of all, and their questions. The operator answers
// there, and goes to the view of a session at its own node, looks and drives. GET / lists all, too,
// for an agent its own.
func TestTheViewOfAllNodes(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{
		"BROWSERD_AUTH__TOKENS": `[{"agent":"ann","token":"` + ann + `"},{"agent":"bob","token":"` + bob + `"},{"agent":"olga","token":"` + olga + `","role":"operator"}]`,
		"BROWSERD_SESSION__MAX": "1", "BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval",
	})
	w := newPageServer(t)
	w.serve("/", page("Sign in", `<h1>Sign in</h1><button onclick="this.textContent = 'done'" style="position:fixed;left:0;top:0;width:400px;height:400px">Go</button>`), "")
	var agents []*agent
	for n, token := range []string{ann, bob, ann} { // each at another node
		a := as(t, f.nodes[0], token)
		a.do("session_open", params{"name": fmt.Sprint("s", n)})
		a.open(w.URL + "/")
		agents = append(agents, a)
	}
	for _, d := range f.nodes {
		for token, want := range map[string]string{olga: "s0 s1 s2", ann: "s0 s2", bob: "s1"} {
			await(t, func() bool { // the other nodes are asked, and answer soon
				body := getAs(t, d, "/", token)
				var names []string
				for _, name := range []string{"s0", "s1", "s2"} {
					if strings.Contains(body, `<th scope="row">`+name+"<") {
						names = append(names, name)
					}
				}
				return strings.Join(names, " ") == want && strings.Contains(body, w.URL) && !strings.Contains(body, "does not say")
			})
		}
	}
	link := ask[struct{ URL string }](as(t, f.nodes[0], olga), "view", params{}).URL
	v := opens(t, f.nodes[0], strings.Replace(link, "http://"+f.Addr, f.nodes[0].URL(), 1))
	c, _ := v.dials()
	at := map[string]string{}
	toldOf(t, c, func(state map[string]any) bool {
		for _, s := range state["sessions"].([]any) {
			s := s.(map[string]any)
			at[s["name"].(string)] = fmt.Sprint(s["node"])
		}
		return len(at) == 3
	})
	if at["s0"] != "<nil>" || at["s1"] != "two" || at["s2"] != "three" {
		t.Errorf("the sessions are shown at %v", at)
	}
	sent := agents[1].send("eval", params{"expression": "6 * 7"})
	toldOf(t, c, func(state map[string]any) bool {
		for _, q := range state["questions"].([]any) {
			id := q.(map[string]any)["id"].(string)
			return v.presses("confirm", "", "", "id", id, "allow", "yes") == http.StatusNoContent
		}
		return false
	})
	if r, err := agents[1].wait(sent); err != nil || r.Value != 42.0 {
		t.Errorf("after the yes at another node: %v, %v", r.Value, err)
	}
	if status := v.presses("confirm", "", "", "id", "c_none", "allow", "yes"); status != http.StatusBadRequest {
		t.Errorf("a question that nobody asked: %d", status)
	}
	form := url.Values{"csrf": {v.csrf}, "agent": {"ann"}, "session": {"s2"}}
	answer, body := v.asks("POST", v.path+"elsewhere", form)
	var there struct{ Path string }
	if json.Unmarshal([]byte(body), &there) != nil || len(answer.Cookies()) != 1 {
		t.Fatalf("the view of s2: %d %s", answer.StatusCode, body)
	}
	far := &viewer{t: t, d: f.nodes[1], path: there.Path, cookie: answer.Cookies()[0].Name + "=" + answer.Cookies()[0].Value}
	far.csrf = csrfOf.FindStringSubmatch(far.sees())[1]
	if status := far.presses("take", "ann", "s2"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	d, _ := far.dials()
	d.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "ann", "session": "s2"})
	heard(t, d, "frame")
	for _, do := range []string{"move", "down", "up"} {
		d.WriteJSON(map[string]any{"t": "act", "id": 1, "act": map[string]any{"do": do, "x": 100, "y": 100, "clicks": 1}})
	}
	d.WriteJSON(map[string]any{"t": "ack", "id": 1})
	heard(t, d, "frame")
	toldOf(t, c, func(state map[string]any) bool { // nobody watches who drives
		for _, s := range state["sessions"].([]any) {
			if s := s.(map[string]any); s["name"] == "s2" {
				return s["private"] == true && len(s["tabs"].([]any)) == 0
			}
		}
		return false
	})
	if status := far.presses("back", "ann", "s2"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	if r := agents[2].do("read", nil); !strings.Contains(r.Content, "done") {
		t.Errorf("what the person clicked: %q", r.Content)
	}
	form.Set("csrf", "forged")
	if answer, _ := v.asks("POST", v.path+"elsewhere", form); answer.StatusCode != http.StatusForbidden {
		t.Errorf("with a forged token: %d", answer.StatusCode)
	}
	form = url.Values{"csrf": {far.csrf}, "agent": {"bob"}, "session": {"s1"}}
	if answer, _ := far.asks("POST", far.path+"elsewhere", form); answer.StatusCode != http.StatusForbidden {
		t.Errorf("from the view of one session to another: %d", answer.StatusCode)
	}
	for _, path := range []string{"/fleet/look", "/fleet/view", "/fleet/view/end"} { // for nodes alone
		r, err := http.NewRequest(http.MethodPost, f.nodes[1].URL()+path, strings.NewReader(`{"everybody":true}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+olga)
		r.Header.Set("Browserd-Passed-On", "{}")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("a client at %s: %d", path, answer.StatusCode)
		}
	}
}

// A view at another node, which somebody came to with Look there, lasts no longer than the view where they did: it ends when
// the link is used a second time, when newer views of the token take its place, and when nobody can say any more whether the
// other one lasts. Its socket ends with it.
func TestViewsElsewhereEndWithTheirView(t *testing.T) {
	t.Parallel()
	const otto = "otto-token-0123456789abcdef" // another operator
	f := startFleet(t, map[string]string{
		"BROWSERD_AUTH__TOKENS": `[{"agent":"ann","token":"` + ann + `"},{"agent":"olga","token":"` + olga + `","role":"operator"},{"agent":"otto","token":"` + otto + `","role":"operator"}]`,
		"BROWSERD_SESSION__MAX": "2", "BROWSERD_BROWSER__DISABLED": "true",
	})
	a := as(t, f.nodes[0], ann)
	for _, name := range []string{"s0", "s1", "s2"} { // the last one is at the second node
		a.do("session_open", params{"name": name, "source": "http"})
	}
	o, p := as(t, f.nodes[0], olga), as(t, f.nodes[0], otto)
	link := func(of *agent) string {
		return strings.Replace(ask[struct{ URL string }](of, "view", params{}).URL, "http://"+f.Addr, f.nodes[0].URL(), 1)
	}
	// there is the view of s2 that is come to from a new view, which is opened at the first node.
	there := func(of *agent) (there *viewer, link1 string, socket *websocket.Conn) {
		t.Helper()
		link1 = link(of)
		v := &viewer{t: t, d: f.nodes[0]}
		first, body := v.asks("GET", strings.TrimPrefix(link1, f.nodes[0].URL()), nil, "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
		if first.StatusCode != http.StatusSeeOther {
			t.Fatal(first.StatusCode, body)
		}
		v.path, v.cookie = first.Header.Get("Location"), first.Cookies()[0].Name+"="+first.Cookies()[0].Value
		v.csrf = csrfOf.FindStringSubmatch(v.sees())[1]
		answer, body := v.asks("POST", v.path+"elsewhere", url.Values{"csrf": {v.csrf}, "agent": {"ann"}, "session": {"s2"}})
		var at struct{ Path string }
		if json.Unmarshal([]byte(body), &at) != nil || len(answer.Cookies()) != 1 {
			t.Fatalf("the view of s2: %d %s", answer.StatusCode, body)
		}
		if was, is := first.Cookies()[0].Expires, answer.Cookies()[0].Expires; !is.Equal(was) {
			t.Errorf("the view at the other node expires at %v, and the one that it was come to from at %v", is, was)
		}
		there = &viewer{t: t, d: f.nodes[1], path: at.Path, cookie: answer.Cookies()[0].Name + "=" + answer.Cookies()[0].Value}
		there.sees()
		socket, status := there.dials()
		if socket == nil {
			t.Fatalf("its socket: %d", status)
		}
		heard(t, socket, "state")
		return there, link1, socket
	}
	open := func(v *viewer) bool {
		answer, _ := v.asks("GET", v.path, nil)
		return answer.StatusCode == http.StatusOK
	}
	ended := func(what string, within time.Duration, v *viewer, socket *websocket.Conn) {
		t.Helper()
		began := time.Now()
		until(t, within, what+": the view has ended", func() bool { return !open(v) })
		t.Logf("%s: after %v", what, time.Since(began))
		socket.SetReadDeadline(time.Now().Add(5 * time.Second))
		for {
			if _, _, err := socket.ReadMessage(); err != nil {
				if e, ok := err.(interface{ Timeout() bool }); ok && e.Timeout() {
					t.Errorf("%s: the socket goes on", what)
				}
				return
			}
		}
	}
	others, _, socketOfOthers := there(p)

	twice, link1, socket := there(o)
	again := &viewer{t: t, d: f.nodes[0]}
	if answer, _ := again.asks("GET", strings.TrimPrefix(link1, f.nodes[0].URL()), nil, "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); answer.StatusCode != http.StatusUnauthorized {
		t.Fatalf("the link opened again: %d", answer.StatusCode)
	}
	ended("shown twice", 5*time.Second, twice, socket)

	replaced, _, socket := there(o)
	for range 32 {
		opens(t, f.nodes[0], link(o))
	}
	ended("replaced", 5*time.Second, replaced, socket)

	if !open(others) {
		t.Error("another operator's view has ended")
	}
	syscall.Kill(f.nodes[0].PID, syscall.SIGSTOP)
	t.Cleanup(func() { syscall.Kill(f.nodes[0].PID, syscall.SIGCONT) })
	ended("its node was stopped", 25*time.Second, others, socketOfOthers)
}

// getAs is the body of what an agent gets at a path.
func getAs(t *testing.T, d *testdaemon.Daemon, path, token string) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, d.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
