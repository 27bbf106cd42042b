package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

type fillAnswer struct {
	result
	Fields []struct {
		Ref      string   `json:"ref"`
		By       string   `json:"by"`
		Value    *string  `json:"value"`
		Selected []string `json:"selected"`
	} `json:"fields"`
}

const formPage = `<form onsubmit="event.preventDefault(); report(Object.fromEntries(new FormData(this)))">
	<label>Name <input name=name value=old></label> <label>Born <input type=date name=born></label> <label>Size <select name=size><option value=s>Small<option value=l>Large</select></label>
	<label><input type=checkbox name=news> News</label> <label><input type=checkbox name=ads checked> Ads</label>
	<label><input type=radio name=way value=air> Air</label> <label><input type=radio name=way value=sea> Sea</label>
	<label>Loud <input type=range name=loud min=0 max=10></label> <label>Note <textarea name=note></textarea></label> <label>Age <input type=number name=age></label>
	<label>File <input type=file name=file></label><label>Upper <input name=upper oninput="value = value.toUpperCase()"></label>
	<button>Send</button></form>`

func TestFill(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/page", page("fill", formPage), "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	v := a.snapshot()
	field := func(role, name string, value any) params { return params{"ref": v.ref(t, role, name), "value": value} }
	got := ask[fillAnswer](a, "fill", params{"fields": []params{
		field("textbox", "Name", "Zoë"), field("combobox", "Size", "Large"), field("checkbox", "News", true), field("checkbox", "Ads", "off"),
		field("radio", "Sea", true), field("slider", "Loud", 7), field("textbox", "Note", "two\nlines"), field("spinbutton", "Age", 42),
		{"ref": a.namedRef("Born"), "value": "2001-02-03"}, field("textbox", "Upper", "loud"),
	}})
	by := []string{}
	for _, f := range got.Fields {
		by = append(by, f.By)
	}
	if diff := cmp.Diff(by, []string{"type", "select", "check", "check", "check", "type", "type", "type", "type", "type"}); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
	if !cmp.Equal(got.Fields[1].Selected, []string{"Large"}) || got.Fields[9].Value == nil || *got.Fields[9].Value != "LOUD" {
		t.Errorf("%+v", got.Fields)
	}
	if got.Effect == nil || !got.Effect.Changed || got.Delta == nil || !strings.Contains(got.Delta.Text, "Zoë") {
		t.Errorf("effect %+v, delta %+v", got.Effect, got.Delta)
	}
	a.do("click", click(v.ref(t, "button", "Send"), nil))
	want := map[string]any{"name": "Zoë", "born": "2001-02-03", "size": "l", "news": "on", "way": "sea", "loud": "7", "note": "two\nlines", "age": "42", "file": map[string]any{}, "upper": "LOUD"}
	until(t, 5*time.Second, "the form was sent", func() bool { return len(w.said("fill")) > 0 })
	if diff := cmp.Diff(w.said("fill")[0], any(want)); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}

	// The first that cannot be filled ends it, and is named.
	e := a.refused("fill", params{"fields": []params{field("textbox", "Name", "first"), field("combobox", "Size", "Huge"), field("textbox", "Note", "never")}}, protocol.InvalidParams)
	if e.Details["field"] != 1.0 || len(e.Details["filled"].([]any)) != 1 || e.Details["options"] == nil {
		t.Errorf("%v", e.Details)
	}
	if note := a.do("read", params{"ref": v.ref(t, "textbox", "Note"), "kind": "value"}).Content; note != "two\nlines" {
		t.Errorf("what comes behind was filled: %q", note)
	}
	// Nothing is filled where a value is none.
	a.refused("fill", params{"fields": []params{field("textbox", "Name", "second"), field("textbox", "Note", map[string]any{"a": 1})}}, protocol.InvalidParams)
	if name := a.do("read", params{"ref": v.ref(t, "textbox", "Name"), "kind": "value"}).Content; name != "first" {
		t.Errorf("%q", name)
	}
	a.refused("fill", params{"fields": []params{field("checkbox", "News", "maybe")}}, protocol.InvalidParams)
	a.refused("fill", params{"fields": []params{{"ref": "@e999", "value": "x"}}}, protocol.UnknownRef)
	a.refused("fill", params{"fields": []params{{"ref": v.ref(t, "button", "File"), "value": "x"}}}, protocol.InvalidParams)
	a.refused("fill", params{"fields": []params{}}, protocol.InvalidParams)
}

// namedRef is the ref of whatever has that name first.
func (a *agent) namedRef(name string) string {
	a.t.Helper()
	for _, n := range a.snapshot().Nodes {
		if n.Ref != "" && fold(n.Name) == name {
			return n.Ref
		}
	}
	a.t.Fatalf("nothing is called %q", name)
	return ""
}

type mouseAnswer struct {
	result
	Hit *protocol.Hit `json:"hit"`
}

func TestMouse(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/page", page("mouse", `<style>body{margin:0} canvas{display:block;background:#eee} #s{height:100px;overflow:auto;width:200px} iframe{position:absolute;left:400px;top:20px;border:5px solid;width:200px;height:100px}</style>
		<canvas width=300 height=200 aria-label=Map></canvas><div id=s aria-label=List role=region><div style="height:900px">Long</div></div><iframe src="`+w.alt()+`/inner"></iframe><script>
		const c = document.querySelector('canvas');
		for (const t of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu']) c.addEventListener(t, (e) => { e.preventDefault(); report([t, e.offsetX, e.offsetY, e.button, e.isTrusted]) });
		let moved = 0; c.addEventListener('mousemove', (e) => { if (e.buttons === 1 && !moved++) report(['drag', e.offsetX]) });
		s.addEventListener('scrollend', () => report(['scrolled', s.scrollTop]));</script>`), "")
	w.serve("/inner", page("inner", `<body style="margin:0"><button style="width:80px;height:40px" onclick="report('inner')">Inside</button>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	got := ask[mouseAnswer](a, "mouse", params{"action": "click", "x": 30, "y": 40})
	if got.Hit == nil || got.Hit.Tag != "canvas" || got.Hit.Name != "Map" || got.Effect.Hit != got.Hit.Ref {
		t.Errorf("%+v, effect %+v", got.Hit, got.Effect)
	}
	ask[mouseAnswer](a, "mouse", params{"action": "click", "x": 50, "y": 60, "button": "right"})
	for _, p := range []params{{"action": "move", "x": 10, "y": 10}, {"action": "down", "x": 10, "y": 10}, {"action": "move", "x": 99, "y": 10}, {"action": "up", "x": 120, "y": 20}} {
		ask[mouseAnswer](a, "mouse", p)
	}
	ask[mouseAnswer](a, "mouse", params{"action": "wheel", "x": 50, "y": 250, "dy": 120})
	want := []any{
		[]any{"mousedown", 30.0, 40.0, 0.0, true}, []any{"mouseup", 30.0, 40.0, 0.0, true}, []any{"click", 30.0, 40.0, 0.0, true},
		[]any{"mousedown", 50.0, 60.0, 2.0, true}, []any{"contextmenu", 50.0, 60.0, 2.0, true}, []any{"mouseup", 50.0, 60.0, 2.0, true},
		[]any{"mousedown", 10.0, 10.0, 0.0, true}, []any{"drag", 99.0}, []any{"mouseup", 120.0, 20.0, 0.0, true}, []any{"click", 120.0, 20.0, 0.0, true},
		[]any{"scrolled", 120.0},
	}
	until(t, 5*time.Second, "all was reported", func() bool { return len(w.said("mouse")) >= len(want) })
	if diff := cmp.Diff(w.said("mouse"), want); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
	// Through the frame of another process, whose element gets a ref that works.
	inner := ask[mouseAnswer](a, "mouse", params{"action": "click", "x": 430, "y": 45})
	if inner.Hit == nil || inner.Hit.Role != "button" || inner.Hit.Name != "Inside" {
		t.Fatalf("%+v", inner.Hit)
	}
	a.do("click", click(inner.Hit.Ref, nil))
	until(t, 5*time.Second, "the button was clicked twice", func() bool { return len(w.said("inner")) == 2 })
	e := a.refused("mouse", params{"action": "click", "x": 5000, "y": 1}, protocol.InvalidParams)
	if e.Details["width"] != 1280.0 {
		t.Errorf("%v", e.Details)
	}
	a.refused("mouse", params{"action": "throw", "x": 1, "y": 1}, protocol.InvalidParams)
}

// looks is what a page sees of its device and place.
const looks = `(async () => ({
	size: [innerWidth, innerHeight], scale: devicePixelRatio, touch: navigator.maxTouchPoints > 0, agent: navigator.userAgent.includes('iPhone'), languages: navigator.language,
	zone: Intl.DateTimeFormat().resolvedOptions().timeZone, number: (1234.5).toLocaleString(), dark: matchMedia('(prefers-color-scheme: dark)').matches, online: navigator.onLine,
	place: await new Promise((done) => navigator.geolocation.getCurrentPosition((p) => done([p.coords.latitude, p.coords.longitude]), (e) => done('code ' + e.code))),
}))()`

// What was emulated holds for the page that is open, for the next, for popups
// and new tabs, for frames of other processes, and for the page that takes the
// place of one that Chromium took with it.
func TestEmulate(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	w := newPageServer(t)
	w.mux.HandleFunc("/page", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Write([]byte(`<!doctype html><meta name=viewport content="width=device-width"><title>` + r.Header.Get("X-Test") + " " + r.Header.Get("Accept-Language") + `</title><a href=/page target=_blank rel=opener>Again</a>`))
	})
	w.mux.HandleFunc("/framed", func(rw http.ResponseWriter, r *http.Request) {
		rw.Write([]byte(`<!doctype html><meta name=viewport content="width=device-width"><iframe src="` + w.alt() + `/inner"></iframe>`))
	})
	w.serve("/inner", page("inner", `<script>report([navigator.language, navigator.userAgent.includes('iPhone'), matchMedia('(prefers-color-scheme: dark)').matches])</script>`), "")
	a := newAgent(t, d)
	a.do("session_open", params{"permissions": []string{"geolocation"}})
	a.open(w.alt() + "/page")
	a.do("emulate", params{
		"device": "iphone", "viewport": params{"width": 400, "height": 800}, "locale": "de-DE", "timezone": "Asia/Tokyo", "color_scheme": "dark",
		"geolocation": params{"latitude": 59.91, "longitude": 10.75, "accuracy": 5}, "headers": params{"X-Test": "there"},
	})
	want := map[string]any{
		"size": []any{400.0, 800.0}, "scale": 3.0, "touch": true, "agent": true, "languages": "de-DE", "zone": "Asia/Tokyo", "number": "1.234,5",
		"dark": true, "online": true, "place": []any{59.91, 10.75},
	}
	check := func(where string) {
		t.Helper()
		if diff := cmp.Diff(a.do("eval", params{"expression": looks}).Value, any(want)); diff != "" {
			t.Errorf("%s, got before want:\n%s", where, diff)
		}
	}
	a.do("reload", nil)
	check("loaded again")
	if title := a.do("eval", params{"expression": "document.title"}).Value; title != "there de-DE" && title != "there de-DE,de;q=0.9" {
		t.Errorf("the server was sent %q", title)
	}
	r := a.do("click", click(a.namedRef("Again"), nil))
	if len(r.Effect.TabsOpened) != 1 {
		t.Fatalf("%+v", r.Effect)
	}
	a.do("tab_select", params{"tab": r.Effect.TabsOpened[0].Tab})
	check("in a popup")
	a.do("tab_new", params{"url": w.alt() + "/page"})
	check("in a new tab")
	a.open(w.URL + "/framed")
	until(t, 5*time.Second, "the frame reported", func() bool { return len(w.said("inner")) == 1 })
	if diff := cmp.Diff(w.said("inner")[0], any([]any{"de-DE", true, true})); diff != "" {
		t.Errorf("in a frame, got before want:\n%s", diff)
	}
	a.do("route", params{"pattern": "*/none", "action": "answer", "body": "routed"})
	for _, p := range d.Chromium("browser") {
		p.Kill()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := a.c.Event(ctx, func(e protocol.Event) bool { return e.Type == protocol.EventBrowserLost }); err != nil {
		t.Fatal(err)
	}
	a.open(w.alt() + "/page")
	check("after Chromium died")
	if body := a.do("eval", params{"expression": "fetch('/none').then((r) => r.text())"}).Value; body != "routed" {
		t.Errorf("after Chromium died the route answers %v", body)
	}

	a.do("emulate", params{"offline": true})
	a.refused("open", params{"url": w.alt() + "/page"}, protocol.NavigationFailed)
	a.do("emulate", params{"offline": false, "user_agent": "", "headers": params{}})
	a.open(w.alt() + "/page")
	if title := a.do("eval", params{"expression": "document.title + navigator.userAgent.includes('iPhone')"}).Value.(string); strings.Contains(title, "there") || strings.Contains(title, "true") {
		t.Errorf("%q", title)
	}
	for _, p := range []params{{"timezone": "Nowhere/Land"}, {"viewport": params{"width": 0, "height": 1}}, {"device": "toaster"}, {"geolocation": params{"latitude": 100, "longitude": 0}}, {"locale": "not a locale"}, {"headers": params{"A\r\nB": "c"}}} {
		a.refused("emulate", p, protocol.InvalidParams)
	}
	b := newAgent(t, d)
	b.open(w.alt() + "/page")
	if size := b.do("eval", params{"expression": "innerWidth + ' ' + navigator.language"}).Value; size != "1280 en-US" {
		t.Errorf("another session has %v", size)
	}
}

// A session that is opened with something that no browser takes is not opened, and
// never one without Chromium in its place.
func TestSessionOpenSaysWhatItDoesNotTake(t *testing.T) {
	t.Parallel()
	a := newAgent(t, sharedDaemon(t))
	a.do("session_open", params{"name": "first", "locale": "pt_BR", "viewport": params{"width": 320, "height": 200}, "user_agent": "One/1.0", "headers": params{"X-One": "1"}})
	for _, c := range []struct {
		params    params
		parameter string
	}{
		{params{"locale": "not a locale"}, "locale"},
		{params{"locale": "nonsense"}, "locale"},
		{params{"locale": "xx_bogus!"}, "locale"},
		{params{"timezone": "Nowhere/Land"}, "timezone"},
		{params{"viewport": params{"width": -5, "height": -5}}, "viewport"},
		{params{"viewport": params{"width": 0, "height": 5}}, "viewport"},
		{params{"viewport": params{"width": 400}}, "viewport"},
		{params{"viewport": params{"width": 10001, "height": 5}}, "viewport"},
		{params{"headers": params{"Bad Header": "x"}}, "headers"},
		{params{"headers": params{"": "x"}}, "headers"},
		{params{"headers": params{"X": "a\nb"}}, "headers"},
		{params{"user_agent": "a\r\nX: y"}, "user_agent"},
		{params{"allowed_domains": []string{"http://one.test"}}, "allowed_domains"},
		{params{"allowed_domains": []string{""}}, "allowed_domains"},
		{params{"state": "none"}, "state"},
		{params{"state": "../none"}, "state"},
	} {
		err := a.refused("session_open", c.params, protocol.InvalidParams)
		if err.Details["parameter"] != c.parameter || !strings.HasPrefix(err.Message, c.parameter) {
			t.Errorf("%v: %s, %v", c.params, err.Message, err.Details)
		}
	}
	var list struct{ Sessions []struct{ Session string } }
	if err := a.c.Call(t.Context(), "session_list", nil, &list); err != nil || len(list.Sessions) != 1 || list.Sessions[0].Session != "first" {
		t.Errorf("there are %+v", list.Sessions)
	}
}

// An address that is none is refused by its parameter's name, with Chromium and
// without: nothing is taken for a URL to which no cookie is sent.
func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/page", page("page", `<h1>Page</h1>`), "")
	for _, source := range []string{"chromium", "http"} {
		a := newAgent(t, d)
		a.do("session_open", params{"source": source})
		a.open(w.URL + "/page")
		a.do("cookies_set", params{"cookies": []params{{"name": "one", "value": "1"}}})
		for _, address := range []string{"foo", "", "127.0.0.1", "ftp://127.0.0.1/", "http://", "http:///page", "/page", "http://a b/"} {
			for _, command := range []string{"cookies_get", "cookies_clear"} {
				err := a.refused(command, params{"urls": []string{w.URL + "/page", address}}, protocol.InvalidParams)
				if err.Details["parameter"] != "urls" || !strings.HasPrefix(err.Message, "urls: ") || !strings.Contains(err.Message, address) {
					t.Errorf("%s, %s %q: %s, %v", source, command, address, err.Message, err.Details)
				}
			}
		}
		if cookies := ask[cookiesAnswer](a, "cookies_get", params{"urls": []string{w.URL + "/page"}}).Cookies; len(cookies) != 1 {
			t.Errorf("%s: there are %+v", source, cookies)
		}
		for _, command := range []string{"open", "tab_new", "web_fetch", "http_request"} {
			if command == "tab_new" && source == "http" {
				continue
			}
			err := a.refused(command, params{"url": "foo"}, protocol.InvalidParams)
			if err.Details["parameter"] != "url" || err.Details["reason"] != "bad_url" {
				t.Errorf("%s, %s: %s, %v", source, command, err.Message, err.Details)
			}
		}
	}
}

type routeAnswer struct {
	Routes []protocol.Route `json:"routes"`
}

func TestRoute(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/page", page("route", `<h1>Page</h1><img src=/a.png>`), "")
	w.serve("/api", `{"from": "server"}`, "application/json")
	a := newAgent(t, d)
	ask[routeAnswer](a, "route", params{"pattern": "*/api*", "action": "answer", "status": 201, "headers": params{"Content-Type": "application/json", "X-Routed": "yes"}, "body": `{"from":"route","ž":1}`})
	ask[routeAnswer](a, "route", params{"pattern": "*.png", "kind": "image"})
	a.open(w.URL + "/page")
	get := func(path string) any {
		t.Helper()
		return a.do("eval", params{"expression": "fetch('" + path + "').then(async (r) => [r.status, r.headers.get('X-Routed'), await r.text()], (e) => e.name)"}).Value
	}
	if diff := cmp.Diff(get("/api?x=1#frag"), any([]any{201.0, "yes", `{"from":"route","ž":1}`})); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
	// A request is told with all that it sends.
	long := a.do("eval", params{"expression": "fetch('/api', {method: 'POST', body: 'x'.repeat(8 << 20)}).then((r) => r.status)"}).Value
	if long != 201.0 {
		t.Errorf("a request of 8 MiB, which are 19 of an event: %v", long)
	}
	if got := get("/other.png"); !cmp.Equal(got, any([]any{404.0, nil, "404 page not found\n"})) {
		t.Errorf("a fetch of an image's name is no image: %v", got)
	}
	blocked := ask[networkAnswer](a, "network", params{"kind": "image"}).Entries
	if len(blocked) != 1 || !strings.Contains(blocked[0].Error, "BLOCKED_BY_CLIENT") {
		t.Errorf("%+v", blocked)
	}
	// In a tab that comes later, and the newest of two that fit.
	list := ask[routeAnswer](a, "route", params{"pattern": "*", "kind": "fetch", "action": "block"}).Routes
	if len(list) != 3 || list[0].Hits != 2 || list[1].Hits != 1 {
		t.Errorf("%+v", list)
	}
	a.do("tab_new", params{"url": w.URL + "/page"})
	if got := get("/api"); got != "TypeError" {
		t.Errorf("%v", got)
	}
	ask[routeAnswer](a, "route", params{"pattern": "*", "kind": "fetch", "action": "remove"})
	if left := ask[routeAnswer](a, "route", params{"pattern": "*", "action": "remove"}).Routes; len(left) != 0 {
		t.Errorf("%+v", left)
	}
	if diff := cmp.Diff(get("/api"), any([]any{200.0, nil, `{"from": "server"}`})); diff != "" {
		t.Errorf("without routes, got before want:\n%s", diff)
	}
	// A status that has no phrase of its own is answered with, too.
	ask[routeAnswer](a, "route", params{"pattern": "*/busy", "action": "answer", "status": 529})
	if got := get("/busy"); !cmp.Equal(got, any([]any{529.0, nil, ""})) {
		t.Errorf("status 529: %v", got)
	}
	a.refused("route", params{"pattern": "*", "kind": "cat"}, protocol.InvalidParams)
	a.refused("route", params{"action": "block"}, protocol.InvalidParams)
	a.refused("route", params{"pattern": ""}, protocol.InvalidParams)
	// Chromium would not answer with these, and the page would wait forever.
	for _, headers := range []params{{"a b": "c"}, {"": "c"}, {"a": "b\nc"}} {
		a.refused("route", params{"pattern": "*/api", "action": "answer", "headers": headers}, protocol.InvalidParams)
	}
}
