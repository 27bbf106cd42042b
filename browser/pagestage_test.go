package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testtime"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// stage is a Browser and a server of pages for one test. Every page has a
// script before it that keeps what is reported in window.log.
type stage struct {
	t     *testing.T
	b     *Browser
	srv   *httptest.Server
	pages map[string]string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageIn(t, sharedBrowser(t))
}

// newStageApart is newStage for a test that ends Chromium, or looks at its process.
func newStageApart(t *testing.T) *stage {
	t.Helper()
	return newStageIn(t, New(started(t, testConfig(t)), discard()))
}

func newStageIn(t *testing.T, b *Browser) *stage {
	t.Helper()
	s := &stage{t: t, b: b, pages: map[string]string{}}
	s.srv = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.srv.Close)
	return s
}

func (s *stage) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.URL.Path == "/slow" {
		select {
		case <-time.After(300 * time.Millisecond):
		case <-r.Context().Done():
		}
	}
	if r.URL.Path == "/stuck" {
		<-r.Context().Done()
	}
	if r.URL.Path == "/204" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	page, ok := s.pages[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	io.WriteString(w, "<!doctype html><script>window.log=[];function report(x){log.push(x)}</script>"+page)
}

// visit is a page that is open, in a context of its own, seen whole.
type visit struct {
	t    *testing.T
	c    *Context
	refs *snapshot.Refs
	seen []snapshot.Node
}

// open opens a page. others are pages by their paths.
func (s *stage) open(t *testing.T, page string, others ...string) *visit {
	t.Helper()
	name := fmt.Sprintf("/page%d", len(s.pages)) // no name that serve answers otherwise
	s.pages[name] = page
	for i := 0; i < len(others); i += 2 {
		s.pages[others[i]] = others[i+1]
	}
	ctx := limit(t, 20*time.Second)
	c, err := s.b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	v := &visit{t: t, c: c, refs: snapshot.NewRefs()}
	if _, err := c.Open(ctx, s.srv.URL+name, protocol.WaitAuto); err != nil {
		t.Fatal(err)
	}
	v.look()
	return v
}

func limit(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// look takes a snapshot, so that what it shows has refs.
func (v *visit) look() {
	v.t.Helper()
	o := snapshot.DefaultOptions()
	o.InteractiveOnly = false
	got, err := v.c.Capture(limit(v.t, 20*time.Second), o, v.refs)
	if err != nil {
		v.t.Fatal(err)
	}
	v.seen = got.Nodes
	for _, n := range got.Nodes {
		v.refs.Number(n)
	}
}

// ref is the ref of the nth node, from 0, with that role and name.
func (v *visit) ref(role, name string, nth ...int) string {
	v.t.Helper()
	skip := 0
	if len(nth) > 0 {
		skip = nth[0]
	}
	var all []string
	for _, n := range v.seen {
		all = append(all, n.Role+" "+n.Name)
		if n.Key.Node == 0 || n.Role != role || n.Name != name {
			continue
		}
		if skip == 0 {
			k, _ := v.refs.Seen(n.Key)
			return snapshot.RefOf(k)
		}
		skip--
	}
	v.t.Fatalf("no %s %q in %q", role, name, all)
	return ""
}

// eval is the JSON of an expression in the page.
func (v *visit) eval(expression string) string {
	v.t.Helper()
	raw, err := v.c.Eval(limit(v.t, 10*time.Second), v.refs, "", expression)
	if err != nil {
		v.t.Fatal(err)
	}
	return string(raw)
}

// log is what the page has reported so far, joined by spaces.
func (v *visit) log() string {
	return v.text(`log.join(' ')`)
}

// text is an expression of the page that is a string.
func (v *visit) text(expression string) string {
	v.t.Helper()
	var s string
	if err := json.Unmarshal([]byte(v.eval(expression)), &s); err != nil {
		v.t.Fatal(err)
	}
	return s
}

// answer is an effect or an error as a client sees it, for comparing whole.
func answer(e any, err error) string {
	if err != nil {
		var p *protocol.Error
		if !asError(err, &p) {
			return "internal: " + err.Error()
		}
		b, _ := json.Marshal(p.Details)
		return string(p.Code) + ": " + p.Message + " " + string(b)
	}
	if done, ok := e.(protocol.Outcome); ok {
		e = done.Effect
	}
	b, _ := json.Marshal(e)
	return string(b)
}

func asError(err error, p **protocol.Error) bool {
	e, ok := err.(*protocol.Error)
	*p = e
	return ok
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("%s (-got +want):\n%s", what, d)
	}
}

func (v *visit) click(ref string) string {
	v.t.Helper()
	return answer(v.c.Act(limit(v.t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Click{Ref: ref}}))
}

func (v *visit) clickWithin(d time.Duration, ref string) string {
	v.t.Helper()
	return answer(v.c.Act(limit(v.t, d), v.refs, protocol.Act{Action: protocol.Click{Ref: ref}}))
}

// acts is the answer to an action: at once where it can be done, and where it is refused (want says so) before
// the command's time is over. A machine that does other things too may be late: one of three must not be, and
// each has twice the time of the one before.
func (v *visit) acts(want string, action protocol.Action) (got string) {
	v.t.Helper()
	if !strings.HasPrefix(want, "not_actionable") {
		return answer(v.c.Act(limit(v.t, 20*time.Second), v.refs, protocol.Act{Action: action}))
	}
	within := time.Second // at most 4 s, so that the longest is below what an action waits for its element
	testtime.OneOfThree(v.t, func() error {
		begun := time.Now()
		got = answer(v.c.Act(limit(v.t, within), v.refs, protocol.Act{Action: action}))
		took := time.Since(begun)
		if took > within || strings.HasPrefix(got, "timeout") {
			within *= 2
			return fmt.Errorf("answered after %v with %s", took, got)
		}
		return nil
	})
	return got
}

// refused is the answer to a click that is refused.
func (v *visit) refused(ref string) string {
	v.t.Helper()
	return v.acts("not_actionable", protocol.Click{Ref: ref})
}

func (v *visit) write(ref string, o protocol.Type) string {
	v.t.Helper()
	o.Ref = ref
	return answer(v.c.Act(limit(v.t, 8*time.Second), v.refs, protocol.Act{Action: o}))
}

// replaceAlt puts the server's address under its other name, another site, in
// the place of ALT.
func replaceAlt(page, url string) string {
	return strings.ReplaceAll(page, "ALT", strings.Replace(url, "127.0.0.1", "localhost", 1))
}
