package e2e_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
)

// sent is one request as it reached the server: what must be the same from
// Chromium and from a static document.
type sent struct {
	Line    string // method, path and query as they were on the wire, and the host's name
	Type    string
	Referer string
	Origin  string
	Cookie  string
	Body    string
}

// echo serves the pages of the cases and keeps what they ask for.
type echo struct {
	*httptest.Server
	mu   sync.Mutex
	form formCase
	got  []sent
}

var boundary = regexp.MustCompile(`----[A-Za-z]*FormBoundary[A-Za-z0-9]+`)

func newEcho(t *testing.T) *echo {
	e := &echo{}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path == "/favicon.ico" {
		http.NotFound(w, r)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	host, _, _ := strings.Cut(r.Host, ":")
	port := e.URL[strings.LastIndexByte(e.URL, ':'):]
	plain := func(s string) string { return strings.ReplaceAll(boundary.ReplaceAllString(s, "BOUNDARY"), port, "") }
	e.got = append(e.got, sent{
		Line: r.Method + " " + plain(r.RequestURI) + " at " + host, Type: plain(r.Header.Get("Content-Type")), Referer: plain(r.Header.Get("Referer")),
		Origin: plain(r.Header.Get("Origin")), Cookie: r.Header.Get("Cookie"), Body: plain(string(body)),
	})
	contentType := "text/html; charset=" + e.form.charset
	if e.form.charset == "" {
		contentType += "utf-8"
	}
	w.Header().Set("Content-Type", contentType)
	switch {
	case r.URL.Path == "/form/page" && r.URL.RawQuery == "at=first":
		for k, v := range e.form.header {
			w.Header().Add(k, v)
		}
		io.WriteString(w, strings.ReplaceAll(e.form.page, "PORT", port[1:]))
	case strings.HasPrefix(r.URL.Path, "/redirect/"): // /redirect/307?to=URL
		w.Header().Set("Location", strings.ReplaceAll(r.URL.Query().Get("to"), "PORT", port[1:]))
		w.Header().Set("Set-Cookie", "hop=1; Path=/")
		var status int
		fmt.Sscanf(r.URL.Path, "/redirect/%d", &status)
		w.WriteHeader(status)
	default:
		io.WriteString(w, `<!doctype html><title>Echo</title><h1>Echo</h1><a href="onwards">Onwards</a>`)
	}
}

func (e *echo) take() []sent {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.got
	e.got = nil
	return got
}

// formStep is one act on a page: a command on the only element of a role and name.
type formStep struct {
	method, role, name string
	more               params
}

func click1(role, name string) formStep { return formStep{"click", role, name, nil} }
func press(name string) formStep        { return click1("button", name) }
func fillIn(name, text string) formStep {
	return formStep{"type", "", name, params{"text": text, "clear": true}}
}
func addTo(name, text string) formStep { return formStep{"type", "", name, params{"text": text}} }
func fillAndEnter(name, text string) formStep {
	return formStep{"type", "", name, params{"text": text, "clear": true, "submit": true}}
}
func tickOn(role, name string) formStep { return formStep{"check", role, name, nil} }
func pick(name string, values ...string) formStep {
	return formStep{"select", "", name, params{"values": append([]string{}, values...)}}
}
func attach(name string, files ...string) formStep {
	var list []params
	for _, f := range files {
		list = append(list, params{"name": f, "base64": base64.StdEncoding.EncodeToString([]byte("what is in\n" + f))})
	}
	return formStep{"upload", "", name, params{"files": list}}
}
func goBack() formStep { return formStep{method: "back"} }

// formCase is a page and what is done on it.
type formCase struct {
	name    string
	page    string
	acts    []formStep
	charset string // as the header says it; empty: utf-8
	header  map[string]string
}

// form wraps controls into a form that posts, with a button to send it.
func form(attrs, controls string) string {
	return `<!doctype html><title>Form</title><h1>Form</h1><form ` + attrs + `>` + controls + ` <button>Send</button></form>`
}

const post, multipart = `method=post action=/to`, `method=post action=/to enctype=multipart/form-data`

// play runs a case's acts and returns what the server got.
func (e *echo) play(t *testing.T, a *agent, c formCase) []sent {
	t.Helper()
	e.mu.Lock()
	e.form = c
	e.mu.Unlock()
	e.take()
	a.do("open", params{"url": e.URL + "/form/page?at=first", "snapshot": "none"})
	for _, s := range c.acts {
		p := params{}
		if s.method != "wait" {
			p["snapshot"] = "none"
		}
		for k, v := range s.more {
			p[k] = v
		}
		if s.name != "" {
			view := a.snapshot()
			i := slices.IndexFunc(view.Nodes, func(n snapshotNode) bool {
				return n.Ref != "" && fold(n.Name) == s.name && (s.role == n.Role || s.role == "" && n.Role != "text" && n.Role != "generic" && n.Role != "form" && n.Role != "group" && n.Role != "LabelText")
			})
			if i < 0 {
				t.Fatalf("no %s %q in:\n%s", s.role, s.name, view.Text)
			}
			p["ref"] = view.Nodes[i].Ref
		}
		if _, err := a.try(s.method, p); err != nil {
			t.Fatalf("%s %s %q: %v", s.method, s.role, s.name, err)
		}
	}
	return e.take()
}

// A form that is filled in and sent on a static document makes the request
// that Chromium makes, byte for byte; boundaries aside.
func TestStaticFormsSendWhatChromiumSends(t *testing.T) {
	t.Parallel()
	live := newAgent(t, sharedDaemon(t))
	static := newAgent(t, testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}}))
	toLive, toStatic := newEcho(t), newEcho(t)
	for _, c := range formCases {
		t.Run(c.name, func(t *testing.T) {
			live.t, static.t = t, t
			want := toLive.play(t, live, c)
			got := toStatic.play(t, static, c)
			if len(want) < 2 {
				t.Errorf("Chromium sent nothing: %+v", want)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-Chromium +static:\n%s", d)
			}
			for _, a := range []*agent{live, static} {
				a.do("cookies_clear", nil)
			}
		})
	}
}
