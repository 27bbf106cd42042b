package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// viewer is a person's browser that has opened a link to the live view. It sends what
// browsers send.
type viewer struct {
	t            testing.TB
	d            *testdaemon.Daemon
	path, cookie string
	csrf         string
}

// asks sends a request of the viewer's browser and follows nothing.
func (v *viewer) asks(method, path string, form url.Values, header ...string) (*http.Response, string) {
	v.t.Helper()
	r, err := http.NewRequest(method, v.d.URL()+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.d.URL())
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if v.cookie != "" {
		r.Header.Set("Cookie", v.cookie)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Del(header[i])
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return a, string(body)
}

var csrfOf = regexp.MustCompile(`name="csrf" (?:value|content)="([^"]+)"`)

// opens follows a link as a person does.
func opens(t testing.TB, d *testdaemon.Daemon, link string) *viewer {
	t.Helper()
	v := &viewer{t: t, d: d}
	path, ok := strings.CutPrefix(link, d.URL())
	if !ok {
		t.Fatalf("the link is %q", link)
	}
	a, body := v.asks("GET", path, nil, "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	if cookies := a.Cookies(); a.StatusCode == http.StatusSeeOther && len(cookies) == 1 {
		v.path, v.cookie = a.Header.Get("Location"), cookies[0].Name+"="+cookies[0].Value
	} else {
		t.Fatalf("%d %s", a.StatusCode, body)
	}
	if m := csrfOf.FindStringSubmatch(v.sees()); m != nil {
		v.csrf = m[1]
	}
	return v
}

// first is a field of the first session that the view shows.
func (v *viewer) first(field string) string {
	v.t.Helper()
	var state struct{ Sessions []map[string]any }
	text := regexp.MustCompile(`(?s)id="state">(.*?)</script>`).FindStringSubmatch(v.sees())
	if text == nil || json.Unmarshal([]byte(text[1]), &state) != nil || len(state.Sessions) == 0 {
		v.t.Fatalf("the view shows no session: %v", text)
	}
	return fmt.Sprint(state.Sessions[0][field])
}

func (v *viewer) sees() string {
	v.t.Helper()
	a, body := v.asks("GET", v.path, nil)
	if a.StatusCode != http.StatusOK {
		v.t.Fatalf("%d %s", a.StatusCode, body)
	}
	return body
}

// presses presses a button of the view, for a session.
func (v *viewer) presses(button, agent, session string, more ...string) int {
	v.t.Helper()
	form := url.Values{"csrf": {v.csrf}, "agent": {agent}, "session": {session}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	a, _ := v.asks("POST", v.path+button, form)
	return a.StatusCode
}

// handedOff is what a test looks at of an answer of handoff.
type handedOff struct {
	result
	State, URL, Driver, Note string
}

func (a *agent) handsOff(p params) handedOff {
	a.t.Helper()
	return ask[handedOff](a, "handoff", p)
}

// waitingPage changes when the channel is closed: what a person does to it.
func waitingPage(t *testing.T, w *pageServer, path string) chan struct{} {
	done := make(chan struct{})
	w.serve(path, page("captcha", `<h1>Prove it</h1><button>I am a robot</button><script>fetch("`+path+`/done").then(() => document.querySelector("h1").textContent = "Welcome")</script>`), "")
	w.mux.HandleFunc(path+"/done", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
	})
	return done
}

// An agent asks; while it waits it reads and does not act; a person takes over, and it does
// neither; when they are done it gets their note, and what has changed.
func TestHandoff(t *testing.T) {
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	done := waitingPage(t, w, "/captcha")
	a, o := as(t, d, ann), as(t, d, olga)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL + "/captcha"})

	asked := a.handsOff(params{"reason": "please solve the captcha"})
	if asked.State != "waiting" || asked.URL == "" || asked.Driver != "" {
		t.Fatalf("%+v", asked)
	}
	if again := a.handsOff(params{"wait_ms": 0}); again.URL != asked.URL {
		t.Errorf("the second call has another link: %s", again.URL)
	}
	if e := a.refused("click", params{"ref": "text=I am a robot"}, protocol.HandedOff); e.Details["asked"] != true || e.Details["driver"] != nil || e.Details["since"] == nil {
		t.Errorf("%s %v", e.Message, e.Details)
	}
	a.do("snapshot", nil)

	person := opens(t, d, asked.URL)
	if page := person.sees(); !strings.Contains(page, "please solve the captcha") || !strings.Contains(page, "Take over") || strings.Contains(page, asked.URL[len(d.URL()):]) {
		t.Errorf("the person sees\n%s", page)
	}
	if status := person.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatalf("taking over: %d", status)
	}
	for _, method := range []string{"click", "snapshot", "screenshot", "network", "console", "dialog", "tab_list", "eval", "cookies_get", "batch", "run"} {
		p := map[string]params{"click": {"ref": "text=I am a robot"}, "dialog": {"accept": true}, "eval": {"expression": "1"}, "run": {"code": "1"},
			"batch": {"commands": []params{{"method": "ping"}}}}[method]
		if e := a.refused(method, p, protocol.HandedOff); e.Details["driver"] != "someone with a link from ann" || e.Details["since"] == nil || !strings.Contains(e.Next, "handoff") {
			t.Errorf("%s: %s %v", method, e.Message, e.Details)
		}
	}
	for _, method := range []string{"ping", "session_list", "status", "view"} {
		a.do(method, nil)
	}
	waiting := a.handsOff(params{"wait_ms": 100})
	if waiting.State != "waiting" || waiting.Driver == "" {
		t.Errorf("while a person drives: %+v", waiting)
	}

	pending := a.send("handoff", params{"wait_ms": 20000})
	close(done)
	if status := person.presses("done", "ann", "shop", "note", "it was a fire hydrant"); status != http.StatusNoContent {
		t.Fatalf("done: %d", status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var back handedOff
	if err := pending.Wait(ctx, &back); err != nil {
		t.Fatal(err)
	}
	for back.Delta != nil && !strings.Contains(back.Delta.Text, "Welcome") { // the page's fetch may be answered later than the person's form
		back.result = a.do("snapshot", params{"delta": true})
	}
	if back.State != "done" || back.Note != "it was a fire hydrant" || back.Delta == nil || back.URL != "" {
		t.Errorf("handed back: %+v", back)
	}
	a.do("click", params{"ref": "text=I am a robot"})

	// The operator has heard of all of it.
	var states []string
	for range 3 {
		e, err := o.c.Event(ctx, client.OfType(protocol.EventHandoff))
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, fmt.Sprintf("%s %s %v", e.Fields["state"], e.Session, e.Fields["driver"]))
	}
	want := []string{"waiting shop <nil>", "waiting shop someone with a link from ann", "done shop <nil>"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("the operator hears\n%s", diff)
	}
}

// A person takes over unasked: what runs ends, and with it what waits behind it. Handed back,
// the agent goes on. A person may stop the session too.
func TestTakeOverUnasked(t *testing.T) {
	aboutOneProcess(t, "a view of all sessions drives those of its own node")
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/", page("page", "<h1>Page</h1><button>Go</button>"), "")
	a, o := as(t, d, ann), as(t, d, olga)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL})
	person := opens(t, d, ask[struct{ URL string }](o, "view", nil).URL)
	running := a.send("wait", params{"text": "never", "timeout_ms": 60000})
	behind := a.send("click", params{"ref": "text=Go", "timeout_ms": 60000})
	for !strings.Contains(person.sees(), `"command":"wait"`) {
		if t.Context().Err() != nil {
			t.Fatal("the wait does not begin")
		}
	}
	if status := person.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatalf("taking over: %d", status)
	}
	for name, pending := range map[string]*client.Pending{"running": running, "behind": behind} {
		_, err := a.wait(pending)
		if e := (*protocol.Error)(nil); !errors.As(err, &e) || e.Code != protocol.HandedOff || e.Details["driver"] != "olga" || e.Details["asked"] != false {
			t.Errorf("%s: %v", name, err)
		}
	}
	back := a.send("handoff", params{"wait_ms": 20000})
	if status := person.presses("back", "ann", "shop"); status != http.StatusNoContent {
		t.Fatalf("handing back: %d", status)
	}
	if _, err := a.wait(back); err != nil {
		t.Fatal(err)
	}
	a.do("click", params{"ref": "text=Go"})
	if status := person.presses("stop", "ann", "shop"); status != http.StatusNoContent {
		t.Fatalf("stopping: %d", status)
	}
	if e := a.refused("snapshot", params{"session": "shop"}, protocol.SessionNotFound); e.Details["reason"] != "stopped" || !strings.Contains(e.Message, "a person stopped it") {
		t.Errorf("%s %v", e.Message, e.Details)
	}
}

// Nobody presses a button of the view but its own page, with its own rights, for what it shows.
func TestHandoffAttacks(t *testing.T) {
	aboutOneProcess(t, "a view of all sessions drives those of its own node")
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval"})
	w := newPageServer(t)
	w.serve("/", page("page", "<h1>Page</h1>"), "")
	a, o := as(t, d, ann), as(t, d, olga)
	for _, name := range []string{"shop", "bank"} {
		a.do("session_open", params{"name": name})
		a.do("open", params{"url": w.URL, "session": name})
	}
	pending := a.send("eval", params{"expression": "1", "session": "bank"})
	question := fmt.Sprint(o.asked()["id"])
	asked := a.handsOff(params{"session": "shop"})
	if !strings.Contains(asked.Note, "operator") {
		t.Errorf("a supervised agent is told %q", asked.Note)
	}
	shows := opens(t, d, asked.URL)
	all := opens(t, d, ask[struct{ URL string }](o, "view", nil).URL)
	other := opens(t, d, ask[struct{ URL string }](o, "view", nil).URL)
	shows.csrf = all.csrf // it has no button, and so none of its own
	form := func(csrf string) url.Values {
		return url.Values{"csrf": {csrf}, "agent": {"ann"}, "session": {"shop"}, "id": {question}, "allow": {"yes"}}
	}
	for _, button := range []string{"take", "back", "done", "cancel", "stop", "confirm"} {
		for name, attack := range map[string]func() (*http.Response, string){
			"a viewer that only shows": func() (*http.Response, string) { return shows.asks("POST", shows.path+button, form(shows.csrf)) },
			"no token":                 func() (*http.Response, string) { return all.asks("POST", all.path+button, form("")) },
			"another view's token":     func() (*http.Response, string) { return all.asks("POST", all.path+button, form(other.csrf)) },
			"another view's cookie": func() (*http.Response, string) {
				return all.asks("POST", all.path+button, form(all.csrf), "Cookie", other.cookie)
			},
			"no cookie": func() (*http.Response, string) {
				return all.asks("POST", all.path+button, form(all.csrf), "Cookie", "")
			},
			"another site's form": func() (*http.Response, string) {
				return all.asks("POST", all.path+button, form(all.csrf), "Origin", "https://evil.test")
			},
			"another site's, as said": func() (*http.Response, string) {
				return all.asks("POST", all.path+button, form(all.csrf), "Sec-Fetch-Site", "cross-site")
			},
			"another port's": func() (*http.Response, string) {
				return all.asks("POST", all.path+button, form(all.csrf), "Sec-Fetch-Site", "same-site")
			},
			"no origin": func() (*http.Response, string) {
				return all.asks("POST", all.path+button, form(all.csrf), "Origin", "")
			},
			"GET": func() (*http.Response, string) {
				return all.asks("GET", all.path+button+"?"+form(all.csrf).Encode(), nil)
			},
			"the token in the address": func() (*http.Response, string) {
				return all.asks("POST", all.path+button+"?"+form(all.csrf).Encode(), url.Values{})
			},
			"a path trick": func() (*http.Response, string) {
				return all.asks("POST", all.path+"../"+other.path+button, form(all.csrf))
			},
			"an escaped path": func() (*http.Response, string) { return all.asks("POST", all.path+"%74ake", form(all.csrf)) },
		} {
			refused := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed}
			if strings.HasSuffix(name, " path") || strings.HasPrefix(name, "a path ") {
				refused = []int{http.StatusNotFound} // which, as 409, is no answer to the others: one who may press is told it
			}
			if a, body := attack(); !slices.Contains(refused, a.StatusCode) {
				t.Errorf("%s by %s: %d %s", button, name, a.StatusCode, body)
			}
		}
	}
	for _, of := range []string{"bank", "none", "../shop", ""} {
		if status := shows.presses("take", "ann", of); status < 400 {
			t.Errorf("a view of shop takes %q: %d", of, status)
		}
		if of != "bank" {
			if status := all.presses("take", "ann", of); status < 400 {
				t.Errorf("taking %q: %d", of, status)
			}
		}
	}
	a.do("snapshot", params{"session": "shop"})             // nobody drives
	o.do("confirm", params{"id": question, "allow": false}) // nobody has answered it
	if _, err := a.wait(pending); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("what was to be confirmed: %v", err)
	}

	// One drives. Another neither takes it away nor ends it; they may stop the session.
	if status := all.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	for _, button := range []string{"take", "done", "cancel"} {
		if status := other.presses(button, "ann", "shop"); status != http.StatusConflict {
			t.Errorf("another person's %s: %d", button, status)
		}
	}
	other.presses("back", "ann", "shop")
	a.refused("snapshot", params{"session": "shop"}, protocol.HandedOff)
	if status := other.presses("stop", "ann", "shop"); status != http.StatusNoContent {
		t.Errorf("stopping: %d", status)
	}
	// A driver of a closed session, and of another one of its name.
	if status := all.presses("done", "ann", "shop"); status != http.StatusNotFound {
		t.Errorf("the driver of a closed session: %d", status)
	}
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL})
	if status := all.presses("back", "ann", "shop"); status != http.StatusNoContent {
		t.Error(status)
	}
	if status := shows.presses("take", "ann", "shop"); status != http.StatusUnauthorized {
		t.Errorf("the view of a session that was closed: %d", status)
	}
	a.do("snapshot", nil)
}

// An operator answers a confirmation in the view.
func TestConfirmInTheView(t *testing.T) {
	aboutOneProcess(t, "a view of all sessions hears of questions at other nodes a second later")
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "click"})
	w := newPageServer(t)
	w.serve("/", page("page", "<h1>Page</h1><button>Go</button>"), "")
	a, o := as(t, d, ann), as(t, d, olga)
	a.open(w.URL)
	person := opens(t, d, ask[struct{ URL string }](o, "view", nil).URL)
	press := func(answer, remember string) error {
		pending := a.send("click", params{"ref": "text=Go"})
		question := o.asked()
		if page := person.sees(); !strings.Contains(page, "Allow") || !strings.Contains(page, "Go") {
			t.Errorf("the person sees\n%s", page)
		}
		if status := person.presses("confirm", "", "", "id", fmt.Sprint(question["id"]), "allow", answer, "remember", remember); status != http.StatusNoContent {
			t.Errorf("answering: %d", status)
		}
		_, err := a.wait(pending)
		return err
	}
	e := (*protocol.Error)(nil)
	if err := press("no", "no"); !errors.As(err, &e) || e.Code != protocol.ConfirmationDenied || !strings.Contains(e.Next, "send handoff") {
		t.Errorf("denied: %v", err)
	}
	if err := press("yes", "session"); err != nil {
		t.Errorf("allowed: %v", err)
	}
	a.do("click", params{"ref": "text=Go"}) // remembered
}

// The same over HTTP and the command line.
func TestHandoffElsewhere(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	w := newPageServer(t)
	w.serve("/", page("page", "<h1>Page</h1>"), "")
	if _, err := d.Command("open", w.URL); err != nil {
		t.Fatal(err)
	}
	out, err := d.Command("handoff", "solve the captcha", "--json")
	var asked handedOff
	if json.Unmarshal([]byte(out), &asked) != nil || asked.State != "waiting" {
		t.Fatalf("%v %s", err, out)
	}
	text, _ := d.Command("handoff", "--wait_ms", "0")
	if !strings.Contains(text, `state: "waiting"`) || !strings.Contains(text, asked.URL) || !strings.Contains(text, "next: ") {
		t.Errorf("the command line says\n%s", text)
	}
	if out, err := d.Command("press", "Tab"); err == nil || !strings.Contains(out+err.Error(), "waits since") {
		t.Errorf("press: %v %s", err, out)
	}
	person := opens(t, d, asked.URL)
	over := make(chan string)
	go func() {
		out, err := d.Command("handoff", "--wait")
		over <- fmt.Sprint(out, err)
	}()
	person.presses("take", "default", asked.Session)
	agent := person.first("agent")
	if status := person.presses("cancel", agent, asked.Session, "note", "no time"); status != http.StatusNoContent {
		t.Fatalf("cancel: %d", status)
	}
	if said := <-over; !strings.Contains(said, `state: "cancelled"`) || !strings.Contains(said, "no time") {
		t.Errorf("handoff --wait ends with\n%s", said)
	}
	post := func(method, body string) (int, string) {
		r, _ := http.NewRequest("POST", d.URL()+"/v1/"+method, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+d.Token)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, _ := io.ReadAll(a.Body)
		return a.StatusCode, string(text)
	}
	if status, body := post("handoff", fmt.Sprintf(`{"session":%q}`, asked.Session)); status != http.StatusOK || !strings.Contains(body, `"state":"waiting"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post("reload", fmt.Sprintf(`{"session":%q}`, asked.Session)); status != http.StatusConflict || !strings.Contains(body, `"handed_off"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post("handoff", fmt.Sprintf(`{"session":%q,"withdraw":true}`, asked.Session)); status != http.StatusOK || !strings.Contains(body, `"state":"cancelled"`) {
		t.Errorf("%d %s", status, body)
	}
}

// An MCP client that declares URL elicitation shows its person the link itself; another one
// has it in the result.
func TestHandoffByElicitation(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	w := newPageServer(t)
	w.serve("/", page("page", "<h1>Page</h1>"), "")
	for _, version := range []string{"", "2025-11-25"} { // multi round-trip requests, and elicitation/create
		for door, transport := range transports(t, d, "all") {
			t.Run(door+version, func(t *testing.T) {
				complete := make(chan string, 1)
				answer, asked := "accept", make(chan *mcp.ElicitParams, 4)
				c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
					Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked <- r.Params
						if answer == "accept" {
							person := opens(t, d, r.Params.URL)
							session := person.first("name")
							agent := person.first("agent")
							go func() {
								person.presses("take", agent, session)
								person.presses("done", agent, session, "note", "solved")
							}()
						}
						return &mcp.ElicitResult{Action: answer}, nil
					},
					ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) {
						complete <- r.Params.ElicitationID
					},
				})
				s, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				use(t, s, "open", map[string]any{"url": w.URL})
				said := use(t, s, "handoff", map[string]any{"reason": "solve the captcha"})[0]
				if !strings.Contains(said, `state: "done"`) || !strings.Contains(said, "solved") {
					t.Errorf("the agent reads\n%s", said)
				}
				params := <-asked
				if params.Mode != "url" || !strings.Contains(params.Message, "solve the captcha") || strings.Contains(params.ElicitationID, "/") {
					t.Errorf("the client is asked %+v", params)
				}
				select {
				case id := <-complete:
					if id != params.ElicitationID {
						t.Errorf("complete: %s, want %s", id, params.ElicitationID)
					}
				case <-time.After(10 * time.Second):
					t.Error("the client is not told that it is complete")
				}
				answer = "decline"
				said = use(t, s, "handoff", map[string]any{"reason": "again"})[0]
				if !strings.Contains(said, `state: "cancelled"`) {
					t.Errorf("declined:\n%s", said)
				}
				use(t, s, "reload", map[string]any{})

				plain := connect(t, transports(t, d, "all")[door], nil)
				use(t, plain, "open", map[string]any{"url": w.URL})
				if said := use(t, plain, "handoff", nil)[0]; !strings.Contains(said, `state: "waiting"`) || !strings.Contains(said, d.URL()+"/view/") {
					t.Errorf("without elicitation:\n%s", said)
				}
				use(t, plain, "handoff", map[string]any{"withdraw": true})
			})
		}
	}
}

// A trace that runs while a person drives holds nothing of what the page shows, says or sends
// meanwhile, and goes on when the session is handed back.
func TestATraceOfAHandoff(t *testing.T) {
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/", page("page", `<h1>Page</h1><button>Go</button><script>
		fetch("/person").then((r) => r.text()).then((said) => {
			console.log(said);
			document.querySelector("h1").textContent = said;
			fetch("/sent?" + said).then(() => document.body.append("sent"));
		})</script>`), "")
	w.serve("/after", page("after", "<h1>After</h1>"), "")
	drives := make(chan struct{})
	begin := sync.OnceFunc(func() { close(drives) })
	defer begin() // the server's end waits for its answers
	w.mux.HandleFunc("/person", func(rw http.ResponseWriter, _ *http.Request) {
		<-drives
		fmt.Fprint(rw, "correct-horse")
	})
	sent := make(chan struct{})
	w.mux.HandleFunc("/sent", func(http.ResponseWriter, *http.Request) { close(sent) })
	a := as(t, d, ann)
	a.do("session_open", params{"name": "shop"})
	a.do("trace", params{"action": "start"})
	a.do("open", params{"url": w.URL, "wait_until": "none"})
	person := opens(t, d, ask[struct{ URL string }](a, "view", nil).URL)
	if status := person.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatalf("taking over: %d", status)
	}
	begin()
	<-sent
	a.refused("click", params{"ref": "text=Go"}, protocol.HandedOff)
	a.do("handoff", params{"wait_ms": 0})
	if status := person.presses("back", "ann", "shop"); status != http.StatusNoContent {
		t.Fatalf("handing back: %d", status)
	}
	a.do("open", params{"url": w.URL + "/after"})
	stopped := ask[struct{ Recording struct{ Name string } }](a, "trace", params{"action": "stop"})
	all := ""
	for name, text := range unzipped(t, a.recorded(&testdaemon.Daemon{Token: ann, Addr: d.Addr}, stopped.Recording.Name)) {
		all += name + "\n" + text
	}
	if strings.Contains(all, "correct-horse") {
		t.Error("the trace has what came while a person drove")
	}
	if !strings.Contains(all, "/after") {
		t.Error("the trace does not go on when the session is handed back")
	}
}
