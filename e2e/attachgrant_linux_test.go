package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/protocol"
)

// ownTab is a tab of the person's own, as their view lists it.
type ownTab struct{ ID, Title, Host, Granted string }

// ownTabs asks for the list, by the view's socket.
func ownTabs(t *testing.T, c *websocket.Conn, session string) []ownTab {
	t.Helper()
	c.WriteJSON(map[string]any{"t": "person_tabs", "agent": "default", "session": session})
	text, err := json.Marshal(heard(t, c, "person_tabs"))
	var m struct{ Tabs []ownTab }
	if err != nil || json.Unmarshal(text, &m) != nil || strings.Contains(string(text), "http") || strings.Contains(string(text), "/notes") {
		t.Fatalf("the list tells more than titles and hosts: %v %s", err, text)
	}
	return m.Tabs
}

// ownPages are what the person has open. alive counts what the tab of their notes says, and changed is what
// it has noticed.
func ownPages(w *pageServer) (alive func() int, changed func() []string) {
	var mu sync.Mutex
	count := 0
	var changes []string
	w.mux.HandleFunc("/notes", func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(rw, `<!doctype html><title>Notes</title><h1>My notes</h1><button onclick="document.querySelector('h1').textContent = 'Pressed'">Press</button><a href=/popup target=_blank>More</a>
			<iframe title=near src=/near></iframe><iframe title=far src="%s/far"></iframe><script>
			const see = () => JSON.stringify([navigator.webdriver, navigator.userAgent, navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, innerWidth, innerHeight, devicePixelRatio, document.title, matchMedia('(prefers-color-scheme: dark)').matches]);
			const first = see(); setInterval(() => { fetch('/notes/alive', {method: 'POST'}); if (see() !== first) fetch('/notes/changed', {method: 'POST', body: first + ' became ' + see()}) }, 100);
			addEventListener('beforeunload', () => navigator.sendBeacon('/notes/changed', 'left'));</script>`, w.alt())
	})
	for path, text := range map[string]string{
		"/near": "<p>Near frame", "/far": "<p>Far frame", "/view/ABCDEFGHIJKLMNOPQRSTUVWXYZ/": "<title>View</title>",
		"/was/view": `<title>Was view</title><script>location = '/view/ABCDEFGHIJKLMNOPQRSTUVWXYZ/then'</script>`, "/view/ABCDEFGHIJKLMNOPQRSTUVWXYZ/then": `<title>Then</title><script>onload = () => setTimeout(() => { location = '/after' }, 300)</script>`, "/after": "<title>After</title>",
		"/opener": `<title>Opener</title><script>open('/opened')</script>`, "/opened": "<title>Opened</title>",
	} {
		w.serve(path, "<!doctype html>"+text, "")
	}
	w.mux.HandleFunc("/notes/alive", func(http.ResponseWriter, *http.Request) { mu.Lock(); count++; mu.Unlock() })
	w.mux.HandleFunc("/notes/changed", func(_ http.ResponseWriter, r *http.Request) {
		b := make([]byte, 2000)
		n, _ := r.Body.Read(b)
		mu.Lock()
		changes = append(changes, string(b[:n]))
		mu.Unlock()
	})
	return func() int { mu.Lock(); defer mu.Unlock(); return count }, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(changes) }
}

// The person grants a tab of their own to a session in their live view, and takes it back. Nobody else can, and
// the tab is theirs afterwards as it was.
func TestGrantedTabs(t *testing.T) {
	aboutOneProcess(t, "a person's own browser")
	t.Parallel()
	w, heardOf := personPages(t)
	alive, changed := ownPages(w)
	p := newPerson(t, w.URL+"/mine", w.URL+"/notes", w.URL+"/view/ABCDEFGHIJKLMNOPQRSTUVWXYZ/", w.URL+"/was/view", w.URL+"/opener")
	p.until("the person's tabs are loaded", func() bool { loads, _ := heardOf(); return loads == 1 && alive() > 0 })
	d := attachedDaemon(t, p, map[string]string{"BROWSERD_POLICY__AUTONOMY": "full"})
	a := newAgent(t, d)
	a.refused("session_open", nil, protocol.WaitingForConsent)
	p.presses(func() bool { return attachment(a) == "attached" }, "Tab", "Return")
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL + "/who"})
	tabs := func() []protocol.Tab { return a.do("tab_list", nil).Tabs }

	link, err := d.Command("view", "--print")
	if err != nil {
		t.Fatal(err)
	}
	v := opens(t, d, strings.TrimSpace(link))
	c, _ := v.dials()
	list := func() map[string]ownTab {
		by := map[string]ownTab{}
		for _, tab := range ownTabs(t, c, "shop") {
			by[tab.Title] = tab
		}
		return by
	}
	var own map[string]ownTab
	p.until("the tabs are what they are", func() bool { own = list(); return own["After"].ID != "" && own["Opened"].ID != "" })
	for _, title := range []string{"Mine", "Notes", "After", "Opener", "Opened"} {
		if tab := own[title]; !strings.Contains(w.URL, tab.Host) || tab.Host == "" || tab.Granted != "" {
			t.Errorf("%s is listed as %+v", title, tab)
		}
	}
	if len(own) != 5 { // neither the agent's own, nor the live view
		t.Errorf("listed: %v", own)
	}
	notes := own["Notes"].ID

	// The agent names it, and asks for a view of its own; another site presses the button.
	for _, method := range []string{"tab_select", "tab_close"} {
		a.refused(method, params{"tab": notes}, protocol.InvalidParams)
	}
	spy := opens(t, d, ask[struct{ URL string }](a, "view", nil).URL)
	sc, _ := spy.dials()
	sc.WriteJSON(map[string]any{"t": "person_tabs", "agent": "default", "session": "shop"})
	if e := heard(t, sc, "error"); !strings.Contains(fmt.Sprint(e["text"]), "browserd view") {
		t.Errorf("the agent's view lists the tabs: %v", e)
	}
	for name, status := range map[string]int{
		"the agent's own view": spy.presses("grant", "default", "shop", "tab", notes),
		"no such tab":          v.presses("grant", "default", "shop", "tab", "0123456789ABCDEF0123456789ABCDEF"),
		"no such session":      v.presses("grant", "default", "bank", "tab", notes),
		"one opened by":        v.presses("grant", "default", "shop", "tab", own["Opened"].ID),
		"the one that opened":  v.presses("grant", "default", "shop", "tab", own["Opener"].ID),
		"was the view":         v.presses("grant", "default", "shop", "tab", own["After"].ID),
	} {
		if status < 400 {
			t.Errorf("%s: %d", name, status)
		}
	}
	form := url.Values{"csrf": {v.csrf}, "agent": {"default"}, "session": {"shop"}, "tab": {notes}}
	wrong := url.Values{"csrf": {spy.csrf}, "agent": {"default"}, "session": {"shop"}, "tab": {notes}}
	for name, ask := range map[string]func() (*http.Response, string){
		"another view's token": func() (*http.Response, string) { return v.asks("POST", v.path+"grant", wrong) },
		"another site": func() (*http.Response, string) {
			return v.asks("POST", v.path+"grant", form, "Origin", "https://evil.test", "Sec-Fetch-Site", "cross-site")
		},
		"another site's origin": func() (*http.Response, string) {
			return v.asks("POST", v.path+"grant", form, "Origin", "https://evil.test")
		},
		"another port": func() (*http.Response, string) {
			return v.asks("POST", v.path+"grant", form, "Sec-Fetch-Site", "same-site")
		},
		"a link": func() (*http.Response, string) { return v.asks("GET", v.path+"grant?"+form.Encode(), nil) },
	} {
		if r, body := ask(); r.StatusCode < 400 {
			t.Errorf("%s: %d %s", name, r.StatusCode, body)
		}
	}
	if got := tabs(); len(got) != 1 || got[0].Person {
		t.Fatalf("nobody has granted anything: %+v", got)
	}

	// The person does.
	grant := func() string {
		t.Helper()
		list()
		if status := v.presses("grant", "default", "shop", "tab", notes); status != http.StatusNoContent {
			t.Fatalf("grant: %d", status)
		}
		got := tabs()
		if last := got[len(got)-1]; len(got) != 2 || !last.Person || got[0].Person || last.URL != w.URL+"/notes" {
			t.Fatalf("granted: %+v", got)
		}
		return got[1].Tab
	}
	tab := grant()
	if own := list(); own["Notes"].Granted != "here" {
		t.Errorf("listed as %+v", own["Notes"])
	}
	a.do("tab_select", params{"tab": tab})
	shown := a.snapshot().Text
	for _, part := range []string{`"My notes"`, "Near frame", "Far frame", `"Press"`} {
		if !strings.Contains(shown, part) {
			t.Errorf("no %s:\n%s", part, shown)
		}
	}
	a.do("click", params{"ref": `role=button[name="Press"]`})
	if text := a.do("read", nil).Content; !strings.Contains(text, "Pressed") {
		t.Errorf("acted: %q", text)
	}
	a.do("emulate", params{"viewport": params{"width": 400, "height": 300}, "color_scheme": "dark"})
	a.do("screenshot", nil)
	a.do("click", params{"ref": `role=link[name="More"]`}) // what the person's tab opens is the person's
	p.until("the person has the popup", func() bool { return list()["Popup"].ID != "" })
	if got := tabs(); len(got) != 2 {
		t.Errorf("the popup is the session's: %+v", got)
	}

	// It is given back by the agent, by the person, by the end of the session and of the daemon.
	goesOn := func(what string) {
		t.Helper()
		before := alive()
		p.until("the tab goes on after "+what, func() bool { return alive() > before+2 })
		if got := changed(); len(got) > 0 {
			t.Fatalf("%s: the person's tab has noticed %q", what, got)
		}
	}
	a.do("tab_close", params{"tab": tab})
	goesOn("tab_close")
	a.refused("tab_select", params{"tab": tab}, protocol.InvalidParams)
	tab = grant()
	if status := v.presses("takeback", "default", "shop", "tab", notes); status != http.StatusNoContent {
		t.Errorf("taken back: %d", status)
	}
	p.until("it is none of the session's", func() bool { return len(tabs()) == 1 })
	a.refused("tab_select", params{"tab": tab}, protocol.InvalidParams)
	goesOn("it was taken back")
	grant()
	a.do("session_close", nil)
	goesOn("the end of the session")
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL + "/who"})
	grant()
	d.Stop()
	goesOn("the end of the daemon")
	if loads, changes := heardOf(); loads != 1 || len(changes) > 0 {
		t.Errorf("another tab of the person's was loaded %d times and noticed %q", loads, changes)
	}
}
