package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/protocol"
)

// dials opens the view's socket as its page does, or with other headers.
func (v *viewer) dials(header ...string) (*websocket.Conn, int) {
	v.t.Helper()
	h := http.Header{"Origin": {v.d.URL()}, "Cookie": {v.cookie}, "Sec-Fetch-Site": {"same-origin"}}
	for i := 0; i < len(header); i += 2 {
		h.Del(header[i])
		if header[i+1] != "" {
			h.Set(header[i], header[i+1])
		}
	}
	c, a, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(v.d.URL(), "http")+v.path+"live", h)
	if err != nil {
		if a == nil {
			v.t.Fatal(err)
		}
		return nil, a.StatusCode
	}
	v.t.Cleanup(func() { c.Close() })
	return c, a.StatusCode
}

// heard reads until a message of that kind; "frame" is a picture.
func heard(t *testing.T, c *websocket.Conn, kind string) map[string]any {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		typ, data, err := c.ReadMessage()
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if typ == websocket.BinaryMessage {
			if kind == "frame" {
				return map[string]any{"bytes": len(data) - 8}
			}
			continue
		}
		var m map[string]any
		if json.Unmarshal(data, &m) == nil && m["t"] == kind {
			return m
		}
	}
}

// The socket of a view opens to its own page alone, shows what the view shows, and takes
// input of who drives alone.
func TestViewSocketAttacks(t *testing.T) {
	aboutOneProcess(t, "a view of all sessions drives those of its own node")
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/", page("page", `<h1>Page</h1><button style="position:absolute;left:0;top:0;width:400px;height:400px" onclick="report('pressed')">Press</button>`), "")
	a, o := as(t, d, ann), as(t, d, olga)
	for _, name := range []string{"shop", "bank"} {
		a.do("session_open", params{"name": name})
		a.do("open", params{"url": w.URL, "session": name})
	}
	one := opens(t, d, ask[struct{ URL string }](a, "view", params{"session": "shop"}).URL)
	all := opens(t, d, ask[struct{ URL string }](o, "view", nil).URL)
	for name, header := range map[string][]string{
		"another site":          {"Origin", "https://evil.test", "Sec-Fetch-Site", "cross-site"},
		"another site's origin": {"Origin", "https://evil.test"},
		"another port":          {"Sec-Fetch-Site", "same-site"},
		"no origin":             {"Origin", ""},
		"no cookie":             {"Cookie", ""},
		"a forged cookie":       {"Cookie", "browserd_view=ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
		"another view's cookie": {"Cookie", all.cookie},
		"cookies of others":     {"Cookie", all.cookie + "; browserd_view=ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
		"a frame":               {"Sec-Fetch-Dest", "iframe"},
	} {
		if c, status := one.dials(header...); c != nil || status < 400 {
			t.Errorf("%s opens it: %d", name, status)
		}
	}
	// Another server of this host may have set a cookie of that name.
	if c, status := one.dials("Cookie", "browserd_view=ABCDEFGHIJKLMNOPQRSTUVWXYZ; "+one.cookie); c == nil {
		t.Errorf("a cookie of another server keeps the person out: %d", status)
	}
	c, _ := one.dials()
	state := heard(t, c, "state")
	if text := fmt.Sprint(state); strings.Contains(text, "bank") {
		t.Errorf("the view of shop shows\n%s", text)
	}
	say := func(m map[string]any) { c.WriteJSON(m) }
	say(map[string]any{"t": "watch", "id": 1, "agent": "ann", "session": "bank"})
	if e := heard(t, c, "error"); !strings.Contains(fmt.Sprint(e["text"]), "no such session") {
		t.Errorf("watching another session: %v", e)
	}
	say(map[string]any{"t": "watch", "id": 2, "agent": "ann", "session": "shop"})
	heard(t, c, "frame")
	say(map[string]any{"t": "ack", "id": 2})
	press := func() {
		for _, what := range []string{"down", "up"} {
			say(map[string]any{"t": "act", "id": 2, "act": map[string]any{"do": what, "x": 100, "y": 100, "clicks": 1}})
		}
	}
	for _, m := range []map[string]any{
		{"t": "open", "url": w.URL}, {"t": "reload"}, {"t": "back"}, {"t": "forward"}, {"t": "tab", "tab": "t1"}, {"t": "newtab"}, {"t": "closetab", "tab": "t1"},
		{"t": "dialog", "accept": true}, {"t": "choose"}, {"t": "act", "act": map[string]any{"do": "text", "text": "x"}},
	} {
		m["id"] = 2
		say(m)
		if e := heard(t, c, "error"); !strings.Contains(fmt.Sprint(e["text"]), "press Take over first") {
			t.Errorf("%v by a viewer: %v", m, e)
		}
	}
	press()
	heard(t, c, "error")

	// Somebody else drives: still no.
	if status := all.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	press()
	heard(t, c, "error")
	heard(t, c, "error")
	all.presses("back", "ann", "shop")
	if said := w.said("page"); len(said) > 0 {
		t.Errorf("the page was pressed by who does not drive: %v", said)
	}

	// The driver's input comes to the page, and what is no input ends nothing but itself.
	if status := one.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	say(map[string]any{"t": "act", "id": 2, "act": map[string]any{"do": "format the disk"}})
	heard(t, c, "error")
	press()
	for began := time.Now(); len(w.said("page")) == 0; {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the page is not pressed")
		}
		time.Sleep(10 * time.Millisecond)
	}
	one.presses("back", "ann", "shop")
	// The session ends, and the socket with it.
	a.do("session_close", params{"session": "shop"})
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		if _, _, err := c.ReadMessage(); err != nil {
			break
		}
	}
	if c, status := one.dials(); c != nil || status != http.StatusUnauthorized {
		t.Errorf("the view of a closed session opens: %d", status)
	}
}

// What a person types anywhere on a page is not told afterwards, and the agent's JavaScript
// does not run where it could read it. A dialog waits for the person, an option of a select
// is chosen, and the egress policy holds for where they go.
func TestWhatAPersonTypesIsNotTold(t *testing.T) {
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/", page("page", `<body style="margin:0"><input id=plain style="position:absolute;left:0;top:0;width:400px;height:50px" aria-label="Plain">
		<select style="position:absolute;left:0;top:100px;width:400px;height:50px" aria-label="Country" onchange="report(value)"><option>Norway<option>Chad<option>Peru</select>
		<button style="position:absolute;left:0;top:200px;width:400px;height:50px" onclick="report(confirm('Really?'))">Ask</button>`), "")
	a := as(t, d, ann)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL})
	v := opens(t, d, a.handsOff(nil).URL)
	c, _ := v.dials()
	c.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "ann", "session": "shop"})
	heard(t, c, "frame")
	if status := v.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	put := func(act map[string]any) { c.WriteJSON(map[string]any{"t": "act", "id": 1, "act": act}) }
	click := func(x, y int) {
		for _, what := range []string{"down", "up"} {
			put(map[string]any{"do": what, "x": x, "y": y, "clicks": 1})
		}
	}
	said := func(n int) []any {
		t.Helper()
		for began := time.Now(); len(w.said("page")) < n; time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 15*time.Second {
				t.Fatalf("the page said %v, want %d", w.said("page"), n)
			}
		}
		return w.said("page")
	}
	click(100, 20)
	put(map[string]any{"do": "text", "text": "heron-"})
	put(map[string]any{"do": "compose", "text": "ostri"})
	put(map[string]any{"do": "text", "text": "ostrich"})
	click(100, 120)
	asked := heard(t, c, "asks")
	if text := fmt.Sprint(asked); !strings.Contains(text, "Norway") || !strings.Contains(text, "Peru") {
		t.Errorf("a select asks %s", text)
	}
	c.WriteJSON(map[string]any{"t": "choose", "id": 1, "option": 2})
	if got := said(1); got[0] != "Peru" {
		t.Errorf("chosen: %v", got)
	}
	click(100, 220)
	for state := heard(t, c, "state"); ; state = heard(t, c, "state") {
		if strings.Contains(fmt.Sprint(state["sessions"]), "Really?") {
			break
		}
	}
	c.WriteJSON(map[string]any{"t": "dialog", "id": 1, "accept": true})
	if got := said(2); got[1] != true {
		t.Errorf("answered: %v", got)
	}
	c.WriteJSON(map[string]any{"t": "open", "id": 1, "url": "http://10.1.2.3/"})
	if e := heard(t, c, "error"); !strings.Contains(fmt.Sprint(e["text"]), "10.1.2.3") {
		t.Errorf("a private address: %v", e)
	}
	if status := v.presses("done", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	back := a.handsOff(nil)
	told, err := json.Marshal(back)
	if err != nil || back.State != "done" || strings.Contains(string(told), "heron") || strings.Contains(string(told), "ostri") {
		t.Errorf("the agent gets %s", told)
	}
	for _, p := range []params{{"kind": "text"}, {"kind": "value", "ref": "label=Plain"}} {
		if r, err := a.try("read", p); err == nil && (strings.Contains(r.Content, "heron") || strings.Contains(r.Content, "ostri")) {
			t.Errorf("read %v: %s", p, r.Content)
		}
	}
	if text := a.snapshot().Text; strings.Contains(text, "heron") || !strings.Contains(text, "•••") {
		t.Errorf("the snapshot says\n%s", text)
	}
	if e := a.refused("eval", params{"expression": "plain.value"}, protocol.SecretDenied); e.Details["reason"] != "person" {
		t.Errorf("%v", e.Details)
	}
	if e := a.refused("wait", params{"expression": "plain.value[0] === 'h'"}, protocol.SecretDenied); e.Details["reason"] != "person" {
		t.Errorf("%v", e.Details)
	}
	a.do("open", params{"url": w.URL})
	a.do("eval", params{"expression": "1"})
}

// Whatever a driver's page sends at once, in however many streams of one tab: what needs the session's
// turn is done one at a time, and has ended when the agent goes on.
func TestADriversMessagesAtOnce(t *testing.T) {
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/", page("page", `<h1>Page</h1><input aria-label=Name>`+strings.Repeat("<button>Go</button>", 200)), "")
	a := as(t, d, ann)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL})
	v := opens(t, d, a.handsOff(nil).URL)
	c, _ := v.dials()
	for id := 1; id <= 2; id++ {
		c.WriteJSON(map[string]any{"t": "watch", "id": id, "agent": "ann", "session": "shop"})
	}
	if status := v.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	for n := range 100 {
		id := 1 + n%2
		c.WriteJSON(map[string]any{"t": "act", "id": id, "act": map[string]any{"do": "move", "x": n, "y": n, "buttons": n % 2}})
		c.WriteJSON(map[string]any{"t": "snapshot", "id": id})
		if n%20 == 0 {
			c.WriteJSON(map[string]any{"t": "reload", "id": id})
		}
	}
	for m := heard(t, c, "snapshot"); m["busy"] == true; m = heard(t, c, "snapshot") {
		c.WriteJSON(map[string]any{"t": "snapshot", "id": 1})
	}
	for range 20 {
		c.WriteJSON(map[string]any{"t": "snapshot", "id": 1})
		c.WriteJSON(map[string]any{"t": "snapshot", "id": 2})
	}
	if status := v.presses("done", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	if back := a.handsOff(nil); back.State != "done" {
		t.Errorf("%+v", back)
	}
	for range 5 {
		a.do("snapshot", nil)
	}
}

// Nobody watches a person: an agent that opens a link of its own sees no picture, tab or dialog while
// somebody else drives, hears of nothing, and finds nothing of it in its logs afterwards.
func TestNobodyWatchesAPerson(t *testing.T) {
	aboutOneProcess(t, "a view of all sessions drives those of its own node")
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/", page("page", `<body style="margin:0"><form action="/found" method=post><input name=q style="position:absolute;left:0;top:0;width:400px;height:50px" oninput="fetch('/typed', { method: 'POST', body: 'so=' + value }); console.log(value)"><button style="position:absolute;left:0;top:100px;width:400px;height:50px">Find</button></form>`), "")
	w.serve("/found", page("found", "<h1>Found</h1>"), "")
	w.serve("/typed", "ok", "")
	a, o := as(t, d, ann), as(t, d, olga)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL})
	ask[struct{}](a, "subscribe", params{"events": []string{"navigated", "console_error", "dialog", "tab_opened"}})
	spy := opens(t, d, ask[struct{ URL string }](a, "view", nil).URL)
	v := opens(t, d, ask[struct{ URL string }](o, "view", nil).URL)
	c, _ := v.dials()
	c.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "ann", "session": "shop"})
	heard(t, c, "frame")
	if status := v.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	sc, _ := spy.dials()
	sc.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "ann", "session": "shop"})
	sc.WriteJSON(map[string]any{"t": "watch", "id": 2, "agent": "ann", "session": "shop", "whole": true})
	if state := heard(t, sc, "state"); !strings.Contains(fmt.Sprint(state["sessions"]), "private:true") {
		t.Errorf("the agent's view is told %v", state["sessions"])
	}
	put := func(act map[string]any) { c.WriteJSON(map[string]any{"t": "act", "id": 1, "act": act}) }
	for _, what := range []string{"down", "up"} {
		put(map[string]any{"do": what, "x": 100, "y": 20, "clicks": 1})
	}
	put(map[string]any{"do": "text", "text": "ostrich"})
	for _, what := range []string{"down", "up"} {
		put(map[string]any{"do": what, "x": 100, "y": 120, "clicks": 1})
	}
	for state := heard(t, c, "state"); !strings.Contains(fmt.Sprint(state["sessions"]), "/found"); {
		state = heard(t, c, "state")
	}
	list, err := json.Marshal(ask[map[string]any](a, "session_list", nil))
	if err != nil || strings.Contains(string(list), "/found") {
		t.Errorf("session_list says %s", list)
	}
	// The driver has a picture of what came of it; what the agent's view is sent of it stands before the next answer.
	c.WriteJSON(map[string]any{"t": "ack", "id": 1})
	heard(t, c, "frame")
	again, _ := spy.dials()
	if state := heard(t, again, "state"); !strings.Contains(fmt.Sprint(state["sessions"]), "private:true") || strings.Contains(fmt.Sprint(state), "/found") {
		t.Errorf("the agent's view is told %v", state)
	}
	sc.WriteJSON(map[string]any{"t": "watch", "id": 3, "agent": "ann", "session": "none"})
	sc.SetReadDeadline(time.Now().Add(20 * time.Second))
	for told := false; !told; {
		kind, data, err := sc.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if kind == websocket.BinaryMessage || strings.Contains(string(data), "/found") || strings.Contains(string(data), "ostrich") {
			t.Errorf("the agent's view is sent %.100q", data)
		}
		told = strings.Contains(string(data), "no such session")
	}
	if status := v.presses("back", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	a.do("handoff", nil)
	for _, p := range []params{{"format": "har", "body": true}, {"filter": "ostrich"}, nil} {
		told, err := json.Marshal(ask[struct{ Entries, HAR any }](a, "network", p)) // the page is where it is
		if err != nil || strings.Contains(string(told), "ostrich") || p["filter"] != nil && strings.Contains(string(told), "/found") {
			t.Errorf("network %v says %s", p, told)
		}
	}
	if told, err := json.Marshal(ask[map[string]any](a, "console", nil)); err != nil || strings.Contains(string(told), "ostrich") {
		t.Errorf("console says %s", told)
	}
	a.do("open", params{"url": w.URL + "/found?after"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		e, err := a.c.Event(ctx, func(protocol.Event) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(e.Fields); strings.Contains(text, "ostrich") {
			t.Errorf("the agent hears %s %s", e.Type, text)
		} else if strings.Contains(text, "after") {
			break
		}
	}
}
