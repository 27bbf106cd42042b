package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testtime"
	"github.com/browserd/browserd/protocol"
)

// effectStage is a stage with addresses that answer badly, late or with a file.
func effectStage(t *testing.T) *stage {
	s := newStage(t)
	pages := s.srv.Config.Handler
	s.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/status"):
			w.WriteHeader(map[string]int{"/status500": 500, "/status404": 404, "/status403": 403}[r.URL.Path])
			io.WriteString(w, "no")
		case r.URL.Path == "/broken":
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
		case r.URL.Path == "/late":
			select {
			case <-time.After(3 * time.Second):
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/file":
			w.Header().Set("Content-Disposition", `attachment; filename="report.csv"`)
			io.WriteString(w, "a,b")
		case r.URL.Path == "/bare":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<!doctype html><title>Nothing</title>")
		case r.URL.Path == "/app.js":
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, s.pages["/app.js"])
		case r.URL.Path == "/csp":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "img-src 'none'")
			io.WriteString(w, `<!doctype html><button onclick="const i=new Image;i.src='/x.png?token=abc';document.body.append(i)">Go</button>`)
		default:
			pages.ServeHTTP(w, r)
		}
	})
	return s
}

// goes clicks the button Go and returns the fields of the effect as JSON, with the
// stage's address as HOST.
func (v *visit) goes(t *testing.T, host string) map[string]string {
	t.Helper()
	e, err := v.c.Act(limit(t, 20*time.Second), v.refs, protocol.Act{Action: protocol.Click{Ref: v.ref("button", "Go")}})
	if err != nil {
		t.Fatal(err)
	}
	return fieldsOf(t, e.Effect, host)
}

func fieldsOf(t *testing.T, value any, host string) map[string]string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for name, v := range all {
		fields[name] = strings.ReplaceAll(string(v), host, "HOST")
	}
	return fields
}

// A request that came to nothing, or was answered with a status of 400 or more, is told
// with its method and address, whoever made it. Secrets in addresses are masked.
func TestFailedRequestsAreTold(t *testing.T) {
	t.Parallel()
	s := effectStage(t)
	for _, c := range []struct{ name, page, want string }{
		{"a save that answers 500", `<button onclick="fetch('/status500',{method:'PUT'})">Go</button>`, `[{"method":"PUT","url":"HOST/status500","status":500}]`},
		{"XMLHttpRequest", `<button onclick="const x=new XMLHttpRequest;x.open('POST','/status404');x.send('a')">Go</button>`, `[{"method":"POST","url":"HOST/status404","status":404}]`},
		{"a picture", `<button onclick="const i=new Image;i.src='/status404';document.body.append(i)">Go</button>`, `[{"method":"GET","url":"HOST/status404","status":404}]`},
		{"a script", `<button onclick="const i=document.createElement('script');i.src='/status403';document.body.append(i)">Go</button>`, `[{"method":"GET","url":"HOST/status403","status":403}]`},
		{"a connection that breaks", `<button onclick="fetch('/broken').catch(()=>{})">Go</button>`, `[{"method":"GET","url":"HOST/broken","error":"net::ERR_EMPTY_RESPONSE"}]`},
		{"a secret", `<button onclick="fetch('/status500?token=abc&x=1')">Go</button>`, `[{"method":"GET","url":"HOST/status500?token=***\u0026x=1","status":500}]`},
		{"two", `<button onclick="fetch('/status500').then(()=>fetch('/status404'))">Go</button>`,
			`[{"method":"GET","url":"HOST/status500","status":500},{"method":"GET","url":"HOST/status404","status":404}]`},
		{"more than are listed", `<button onclick="for(let i=0;i<15;i++)fetch('/status500')">Go</button>`,
			"[" + strings.Repeat(`{"method":"GET","url":"HOST/status500","status":500},`, 9) + `{"method":"GET","url":"HOST/status500","status":500}]`},
		{"one that was given up", `<button onclick="const a=new AbortController;fetch('/late',{signal:a.signal}).catch(()=>{});a.abort()">Go</button>`, ""},
		{"one that worked", `<button onclick="fetch('/')">Go</button>`, `[{"method":"GET","url":"HOST/","status":404}]`},
		{"none", `<button onclick="fetch('/fine')">Go</button>`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got map[string]string
			testtime.OneOfThree(t, func() error {
				got = s.open(t, c.page, "/fine", "fine").goes(t, s.srv.URL)
				if c.name == "a picture" && got["requests_failed"] == "" {
					return errors.New("no action waits for a picture: it failed later")
				}
				return nil
			})
			equal(t, "requests_failed", got["requests_failed"], c.want)
			if c.name == "more than are listed" {
				equal(t, "left_out", got["left_out"], `{"requests_failed":5}`)
			}
		})
	}
}

// A console error is one line, with where it was written.
func TestConsoleErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	s := effectStage(t)
	const at = "(HOST/app.js:"
	for _, c := range []struct{ name, js, want string }{
		{"an exception", "function go(){\n  throw new TypeError('nothing\\nhere')\n}", `["TypeError: nothing ` + at + `2)"]`},
		{"an error that is written", "function go(){\n\n  console.error(new Error('bad'), {a:1})\n}", `["Error: bad ` + at + `3)"]`},
		{"text", "function go(){ console.error('one\\ntwo') }", `["one ` + at + `1)"]`},
		{"the same twice", "function go(){ for(let i=0;i<2;i++) console.error('one') }", `["one ` + at + `1)"]`},
		{"a rejection", "function go(){\n Promise.reject(new Error('lost')) }", `["Error: lost ` + at + `2)"]`},
		{"a secret", "function go(){ console.error('token=abcdef') }", `["token=*** ` + at + `1)"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, `<script src="/app.js"></script><button onclick="go()">Go</button>`, "/app.js", c.js)
			equal(t, "console_errors", v.goes(t, s.srv.URL)["console_errors"], c.want)
		})
	}
}

// What Chromium itself logs of a page stands beside what its scripts write.
func TestChromiumsOwnLogIsTold(t *testing.T) {
	t.Parallel()
	s := effectStage(t)
	alt := strings.Replace(s.srv.URL, "127.0.0.1", "localhost", 1)
	for _, c := range []struct{ name, path, page, want string }{
		{"a content security policy", "/csp", "", "Content Security Policy"},
		{"another origin that does not allow it", "", `<button onclick="fetch('` + alt + `/fine').catch(()=>{})">Go</button>`, "CORS policy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page, "/fine", "fine")
			if c.path != "" {
				if _, err := v.c.Open(limit(t, 10*time.Second), s.srv.URL+c.path, protocol.WaitAuto); err != nil {
					t.Fatal(err)
				}
				v.look()
			}
			got := v.goes(t, s.srv.URL)
			if n := strings.Count(got["console_errors"], c.want); n != 1 || strings.Contains(got["console_errors"], "abc") {
				t.Errorf("%q is told %d times: %v", c.want, n, got)
			}
			if got["requests_failed"] == "" {
				t.Errorf("the request is not told: %v", got)
			}
		})
	}
}

// What moves only the focus changes nothing, whatever the page makes of the focus.
func TestChangedIsMoreThanFocus(t *testing.T) {
	t.Parallel()
	s := effectStage(t)
	for _, c := range []struct {
		name, page string
		want       bool
	}{
		{"a button that does nothing", `<button>Go</button>`, false},
		{"a class for the focus", `<button onfocus="this.className='a focused'" class=a>Go</button>`, false},
		{"a class for another's focus", `<div id=d><button onfocus="d.classList.add('is-focus')">Go</button></div>`, false},
		{"tabindex moves", `<button onfocus="this.tabIndex=0" tabindex=-1>Go</button>`, false},
		{"a class", `<button onclick="this.className='on'">Go</button>`, true},
		{"text", `<button onclick="this.nextSibling.data='x'">Go</button>a`, true},
		{"a box", `<input type=checkbox id=b><button onclick="b.checked=true;b.dispatchEvent(new Event('input'))">Go</button>`, true},
		{"a class for the focus and a text", `<p id=p>a</p><button onfocus="this.className='focused';p.textContent='b'">Go</button>`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			equal(t, "changed", v.goes(t, s.srv.URL)["changed"] == "true", c.want)
		})
	}
	t.Run("leaving a field that was typed into", func(t *testing.T) {
		v := s.open(t, `<input aria-label=N><button>Go</button>`)
		v.write(v.ref("textbox", "N"), protocol.Type{Text: "x"})
		equal(t, "changed", v.goes(t, s.srv.URL)["changed"], "")
	})
}

// navigated is there where a document was loaded or the address is another.
func TestNavigatedIsANewAddressOrDocument(t *testing.T) {
	t.Parallel()
	s := effectStage(t)
	for _, c := range []struct{ name, js, want string }{
		{"the same address is put in its place", `history.replaceState({},'',location.href)`, ""},
		{"there and back", `const u=location.href;history.pushState({},'','/x');history.replaceState({},'',u)`, ""},
		{"another address", `history.pushState({},'','/x')`, `"HOST/x"`},
		{"a fragment", `location.hash='a'`, `"HOST/fragment#a"`},
		{"another document", `location='/fine'`, `"HOST/fine"`},
		{"the same document again", `location.reload()`, `"HOST/reload"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, `<button onclick="`+c.js+`">Go</button>`, "/fine", "fine")
			here := v.text(`location.pathname`)
			got := v.goes(t, s.srv.URL)["navigated"]
			for _, n := range []string{"/fragment", "/reload"} {
				c.want = strings.ReplaceAll(c.want, n, here)
			}
			equal(t, "navigated", got, c.want)
		})
	}
}

// A download that is denied is told as that, not as one that began.
func TestADeniedDownloadIsTold(t *testing.T) {
	t.Parallel()
	s := effectStage(t)
	for _, link := range []string{`<a role=button href="/file">Go</a>`, `<a role=button download="report.csv" href="data:text/csv,a">Go</a>`, `<button onclick="location='/file'">Go</button>`} {
		v := s.open(t, link)
		got := v.goes(t, s.srv.URL)
		equal(t, link, got["downloads"]+" "+got["downloads_denied"], ` [{"name":"report.csv","why":"downloads are not allowed in this session"}]`)
		equal(t, link, got["requests_failed"], "")
	}
}

// Requests that the action leaves running are told.
func TestPendingRequestsAreTold(t *testing.T) {
	t.Parallel()
	s := effectStage(t)
	v := s.open(t, `<button onclick="fetch('/late?token=abc',{method:'POST'})">Go</button>`)
	e, err := v.c.Act(limit(t, 20*time.Second), v.refs, protocol.Act{Action: protocol.Click{Ref: v.ref("button", "Go")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Pending) != 1 || e.Pending[0].Method != "POST" || e.Pending[0].URL != s.srv.URL+"/late?token=***" || e.Pending[0].MS < 1000 {
		t.Fatalf("pending: %+v", e.Pending)
	}
	v.c.Since() // what came with the click
	seen, err := v.c.Wait(limit(t, 20*time.Second), v.refs, protocol.Wait{For: protocol.WaitQuiet}, nil, nil)
	if err != nil {
		t.Fatalf("%v: %v", seen, err)
	}
	equal(t, "since", fieldsOf(t, v.c.Since(), s.srv.URL)["requests_failed"], `[{"method":"POST","url":"HOST/late?token=***","status":500}]`)
}

// What happens after the answer is told once, with the next.
func TestLateNewsIsToldWithTheNextAnswer(t *testing.T) {
	t.Parallel()
	s := effectStage(t)
	for _, c := range []struct{ name, js, field, want string }{
		{"a toast that comes", `setTimeout(()=>{r.innerHTML='<div role=alert>Saved</div>'},700)`, "announced", `["Saved"]`},
		{"a toast that comes and goes", `setTimeout(()=>{r.innerHTML='<div role=status>Gone</div>'},500);setTimeout(()=>{r.textContent=''},1100)`, "announced", `["Gone"]`},
		{"a list", `setTimeout(()=>{r.innerHTML='<ul role=listbox><li role=option>Berlin</ul>'},400)`, "changed", "true"},
		{"what fades away", `setTimeout(()=>{r.style.display='none'},800)`, "changed", "true"},
		{"a save that fails", `setTimeout(()=>fetch('/status500',{method:'POST'}),800)`, "requests_failed", `[{"method":"POST","url":"HOST/status500","status":500}]`},
		{"an error", `setTimeout(()=>console.error('late'),800)`, "console_errors", `["late `},
		{"an alert", `setTimeout(()=>alert('late'),800)`, "dialogs", `[{"kind":"alert","message":"late","answer":"accepted"}]`},
		{"another page", `setTimeout(()=>{location='/fine'},800)`, "navigated", `"HOST/fine"`},
		{"a download", `setTimeout(()=>{location='/file'},800)`, "downloads_denied", `[{"name":"report.csv"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, `<div id=r>x</div><button onclick="`+c.js+`">Go</button>`)
			if got := v.goes(t, s.srv.URL); got[c.field] != "" {
				t.Fatalf("the action itself tells it: %v", got)
			}
			if since := v.c.Since(); since != nil {
				t.Fatalf("told too early: %+v", since)
			}
			var all map[string]string
			for end := time.Now().Add(8 * time.Second); time.Now().Before(end) && all[c.field] == ""; time.Sleep(20 * time.Millisecond) {
				if since := v.c.Since(); since != nil {
					all = fieldsOf(t, since, s.srv.URL)
				}
			}
			if !strings.HasPrefix(all[c.field], c.want) {
				t.Errorf("since: %v, want %s %s", all, c.field, c.want)
			}
		})
	}
}

// open waits while a page shows nothing, and no longer than some two seconds.
func TestOpenWaitsForAnEmptyPage(t *testing.T) {
	t.Parallel()
	s := effectStage(t)
	for _, c := range []struct {
		name, page, want string
		least, most      time.Duration
	}{
		{"a timer", `<body><script>setTimeout(()=>{document.body.textContent='here'},700)</script>`, "here", 600 * time.Millisecond, 1500 * time.Millisecond},
		{"a button", `<body><div id=r></div><script>setTimeout(()=>{r.innerHTML='<button></button>there'},700)</script>`, "there", 600 * time.Millisecond, 1500 * time.Millisecond},
		{"shown late", `<body style="visibility:hidden">veiled<script>setTimeout(()=>{document.body.style.visibility=''},700)</script>`, "veiled", 600 * time.Millisecond, 1500 * time.Millisecond},
		{"nothing ever", `<body><script>setTimeout(()=>{},9000)</script>`, "", 1500 * time.Millisecond, 3500 * time.Millisecond},
		{"no script", `<body>`, "", 0, time.Second},
		{"text", `<body>text<script>setTimeout(()=>{document.body.append(' later')},5000)</script>`, "text", 0, time.Second},
		{"a canvas", `<body><canvas width=100 height=100></canvas><script>1</script>`, "", 0, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, "first")
			s.pages["/empty"] = strings.TrimPrefix(c.page, "<body>")
			path := "/empty"
			if c.name == "no script" {
				path = "/bare"
			}
			testtime.OneOfThree(t, func() error {
				begun := time.Now()
				if _, err := v.c.Open(limit(t, 20*time.Second), s.srv.URL+path, protocol.WaitAuto); err != nil {
					t.Fatal(err)
				}
				took := time.Since(begun)
				if got := v.text(`document.body.innerText`); !strings.Contains(got, c.want) {
					t.Errorf("it shows %q", got)
				}
				if took < c.least {
					t.Errorf("it took %v", took)
				}
				if took > c.most {
					return fmt.Errorf("it took %v, want %v", took, c.most)
				}
				return nil
			})
		})
	}
}
