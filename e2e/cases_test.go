package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/snapshot"
)

// playCase is one case of behaviour.json or widgets.json (README.md there).
type playCase struct {
	ID     string            `json:"id"`
	Page   string            `json:"page"`
	Raw    string            `json:"raw"`
	Type   string            `json:"type"`
	Pages  map[string]string `json:"pages"`
	Steps  []step            `json:"steps"`
	Expect expectation       `json:"expect"`
	// Retry: a step that finds no ref looks again for a while.
	Retry bool `json:"retry"`
	// Digest: refs are those of default snapshots, not of everything.
	Digest bool `json:"digest"`
}

// expectation is what must hold when the steps are done; what is not said is
// not asked.
type expectation struct {
	Reports        []any     `json:"reports"`
	ReportsNoShift []any     `json:"reportsNoShift"`
	Last           any       `json:"last"`
	None           bool      `json:"none"`
	Probe          any       `json:"probe"`
	Error          bool      `json:"error"`
	Has            [][]match `json:"has"`
	HasNot         [][]match `json:"hasNot"`
	Read           string    `json:"read"`
	Alive          bool      `json:"alive"`
}

// step is [verb, role, name, more…].
type step struct {
	verb string
	args []json.RawMessage
}

func (s *step) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &s.args); err != nil {
		return err
	}
	if len(s.args) == 0 {
		return fmt.Errorf("an empty step")
	}
	defer func() { s.args = s.args[1:] }()
	return json.Unmarshal(s.args[0], &s.verb)
}

// match is a role or a name in a case: null is any, a string is the whole with
// white space folded, {"re", "flags"} is searched for, {"name", "nth"} counts
// from 0.
type match struct {
	any  bool
	text string
	re   *regexp.Regexp
	nth  int
}

func (m *match) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
		m.any = true
		return nil
	case b[0] == '"':
		err := json.Unmarshal(b, &m.text)
		m.text = fold(m.text)
		return err
	}
	var o struct {
		RE    *string         `json:"re"`
		Flags string          `json:"flags"`
		Name  json.RawMessage `json:"name"`
		Nth   int             `json:"nth"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	if o.RE == nil {
		if err := m.UnmarshalJSON(o.Name); err != nil {
			return err
		}
		m.nth = o.Nth
		return nil
	}
	pattern := *o.RE
	if o.Flags != "" {
		pattern = "(?" + o.Flags + ")" + pattern
	}
	var err error
	m.re, err = regexp.Compile(pattern)
	return err
}

func (m match) matches(s string) bool {
	switch {
	case m.any:
		return true
	case m.re != nil:
		return m.re.MatchString(fold(s))
	}
	return fold(s) == m.text
}

func (m match) String() string {
	switch {
	case m.any:
		return "any"
	case m.re != nil:
		return "/" + m.re.String() + "/"
	}
	return fmt.Sprintf("%q", m.text)
}

// find is the nth node with a ref that fits; nil if there is none.
func (v view) find(role, name match) *snapshot.NodeJSON {
	nth := name.nth
	for i, n := range v.Nodes {
		if n.Ref == "" || !role.matches(n.Role) || !name.matches(n.Name) {
			continue
		}
		if nth == 0 {
			return &v.Nodes[i]
		}
		nth--
	}
	return nil
}

// readCases decodes a file of the shared folder.
func readCases[T any](t *testing.T, name string) []T {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(sharedCases(t), name))
	if err != nil {
		t.Fatal(err)
	}
	var cases []T
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return cases
}

// serveCase puts a case's pages under /b/ID.
func serveCase(w *pageServer, c playCase) {
	fill := strings.NewReplacer("__ID__", c.ID, "__ALT__", w.alt())
	if c.Raw != "" {
		w.serve("/b/"+c.ID, fill.Replace(c.Raw), c.Type)
	} else {
		w.serve("/b/"+c.ID, page(c.ID, fill.Replace(c.Page)), "")
	}
	for name, markup := range c.Pages {
		w.serve("/b/"+c.ID+"/"+name, page(c.ID, fill.Replace(markup)), "")
	}
}

// playAll plays every case with a few agents at once, prints the score, and
// fails the test below the floor (a share of 1). known holds the ids that do
// not pass, with the reason.
func playAll(t *testing.T, cases []playCase, w *pageServer, floor float64, known map[string]string) {
	t.Helper()
	d := sharedDaemon(t)
	for _, c := range cases {
		serveCase(w, c)
	}
	results := make([]string, len(cases))
	inParallel(t, d, len(cases), func(a *agent, i int) {
		results[i] = playing{agent: a, w: w, c: cases[i]}.run()
	})
	ids := make([]string, len(cases))
	for i, c := range cases {
		ids[i] = c.ID
	}
	score(t, ids, results, floor, known)
}

// agentsAtOnce is how many sessions share the work; more only wait for the
// processor.
const agentsAtOnce = 3

// inParallel calls f for every i below n, each from one of a few goroutines
// that each have an agent of their own, and waits for all.
func inParallel(t *testing.T, d *testdaemon.Daemon, n int, f func(a *agent, i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range agentsAtOnce {
		a := newAgent(t, d)
		workers.Go(func() {
			for i := range next {
				f(a, i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// score prints what passed and why the rest did not; reasons[i] is empty
// where ids[i] passed.
func score(t *testing.T, ids, reasons []string, floor float64, known map[string]string) {
	t.Helper()
	passed := 0
	for i, reason := range reasons {
		switch why := known[ids[i]]; {
		case reason == "" && why != "":
			passed++
			t.Logf("%s passes now; take it off the list", ids[i])
		case reason == "":
			passed++
		case why != "":
			t.Logf("does not pass: %s: %s\n\t(known: %s)", ids[i], reason, why)
		default:
			t.Logf("DOES NOT PASS: %s: %s", ids[i], reason)
		}
	}
	share := float64(passed) / float64(len(reasons))
	t.Logf("%d of %d pass: %.1f %%, floor %.1f %%", passed, len(reasons), 100*share, 100*floor)
	if share < floor {
		t.Errorf("%d of %d pass: %.1f %%, below the floor of %.1f %%", passed, len(reasons), 100*share, 100*floor)
	}
}

// playing is one case under way.
type playing struct {
	*agent
	w *pageServer
	c playCase

	seen view   // the last snapshot, for clickold
	read string // the last read
}

// actWithin is the timeout_ms of an acting step; a refusal must come within
// refuseWithin.
const (
	actWithin    = 8000
	refuseWithin = 12 * time.Second
	findWithin   = 10 * time.Second
	tellWithin   = 2 * time.Second
	quiet        = 200 * time.Millisecond
)

// run plays the case and returns why it did not pass.
func (p playing) run() string {
	if _, err := p.try("open", params{"url": p.w.URL + "/b/" + p.c.ID, "snapshot": "none", "timeout_ms": 20000}); err != nil {
		return fmt.Sprintf("open: %v", err)
	}
	for i, s := range p.c.Steps {
		began := time.Now()
		err := p.step(s)
		last := i == len(p.c.Steps)-1
		switch {
		case last && p.c.Expect.Error:
			if why := refusal(err, time.Since(began)); why != "" {
				return fmt.Sprintf("step %d %s: %s", i+1, s, why)
			}
		case err != nil:
			return fmt.Sprintf("step %d %s: %v", i+1, s, err)
		}
	}
	return p.judge()
}

// String is the step as the case has it.
func (s step) String() string { return fmt.Sprintf("%s %s", s.verb, s.args) }

// miss is a step that needs a ref and finds none.
type miss struct{ role, name, text string }

func (m miss) Error() string {
	return fmt.Sprintf("no ref for %s %s in:\n%s", m.role, m.name, m.text)
}

func refusal(err error, took time.Duration) string {
	switch m, missed := err.(miss); {
	case err == nil:
		return "not refused"
	case missed:
		return m.Error()
	case err == errHang || took > refuseWithin:
		return fmt.Sprintf("refused only after %v: %v", took, err)
	}
	return ""
}

func (p *playing) step(s step) error {
	switch s.verb {
	case "wait":
		var ms int
		s.arg(0, &ms)
		time.Sleep(time.Duration(ms) * time.Millisecond) // the case says so
		return nil
	case "snap":
		var err error
		p.seen, err = p.trySnapshot()
		return err
	case "dialogok":
		p.try("dialog", params{"accept": true, "timeout_ms": 5000}) // it may have been answered already
		return nil
	case "press":
		return p.act("press", params{"key": s.text(2)})
	}
	ref, err := p.target(s)
	if err != nil {
		if _, missed := err.(miss); missed && s.verb == "clickany" {
			return fmt.Errorf("refused: it is not shown: %v", s)
		}
		return err
	}
	switch s.verb {
	case "click", "clickold", "clickany":
		return p.act("click", params{"ref": ref})
	case "tryclick":
		p.act("click", params{"ref": ref})
	case "dblclick":
		return p.act("click", params{"ref": ref, "count": 2})
	case "hover":
		return p.act("hover", params{"ref": ref})
	case "fill":
		return p.act("type", params{"ref": ref, "text": s.text(2), "clear": true})
	case "tryfill":
		p.act("type", params{"ref": ref, "text": s.text(2), "clear": true})
	case "type":
		return p.act("type", params{"ref": ref, "text": s.text(2), "mode": "keys"})
	case "press2":
		if err := p.act("click", params{"ref": ref}); err != nil {
			return err
		}
		return p.act("press", params{"key": s.text(2)})
	case "select":
		return p.act("select", params{"ref": ref, "values": []string{s.text(2)}})
	case "drag":
		var role, name match
		s.arg(2, &role)
		s.arg(3, &name)
		to := p.seen.find(role, name)
		if to == nil {
			return miss{role.String(), name.String(), p.seen.Text}
		}
		return p.act("drag", params{"ref": ref, "to": to.Ref})
	case "upload":
		var names []string
		s.arg(2, &names)
		return p.act("upload", params{"ref": ref, "files": files(names)})
	case "read":
		r, err := p.try("read", params{"ref": ref, "kind": "text", "max_chars": 100000})
		p.read = r.Content
		return err
	default:
		return fmt.Errorf("no such verb")
	}
	return nil
}

// files are uploads that hold "hello": the cases know the size.
func files(names []string) []params {
	var fs []params
	for _, n := range names {
		fs = append(fs, params{"name": n, "base64": base64.StdEncoding.EncodeToString([]byte("hello"))})
	}
	return fs
}

func (p *playing) act(method string, q params) error {
	q["snapshot"] = "none"
	q["timeout_ms"] = actWithin
	_, err := p.try(method, q)
	return err
}

// target is the ref that a step means, from a fresh snapshot; for clickold from
// the last one.
func (p *playing) target(s step) (string, error) {
	var role, name match
	s.arg(0, &role)
	s.arg(1, &name)
	deadline := time.Now().Add(findWithin)
	for {
		if s.verb != "clickold" {
			var err error
			if p.seen, err = p.look(); err != nil {
				return "", fmt.Errorf("snapshot: %w", err)
			}
		}
		if n := p.seen.find(role, name); n != nil {
			return n.Ref, nil
		}
		if !p.c.Retry || time.Now().After(deadline) {
			return "", miss{role.String(), name.String(), p.seen.Text}
		}
	}
}

// look takes the snapshot in which the case looks for refs.
func (p *playing) look() (view, error) {
	if !p.c.Digest {
		return p.trySnapshot()
	}
	r, err := p.try("snapshot", params{"format": "json"})
	if err == nil && r.Snapshot == nil {
		err = errors.New("the result of snapshot has no snapshot")
	}
	if err != nil {
		return view{}, err
	}
	return view{*r.Snapshot}, nil
}

// arg decodes an argument; a case that does not fit is a broken file.
func (s step) arg(i int, into any) {
	if i >= len(s.args) {
		panic(fmt.Sprintf("step %s has no argument %d", s, i))
	}
	if err := json.Unmarshal(s.args[i], into); err != nil {
		panic(fmt.Sprintf("step %s: %v", s, err))
	}
}

func (s step) text(i int) string {
	var text string
	s.arg(i, &text)
	return text
}

// judge compares what the page saw with what was expected; pages tell it a
// little late.
func (p *playing) judge() string {
	e := p.c.Expect
	said := func() []any { return p.w.said(p.c.ID) }
	withoutShift := func() []any { return slices.DeleteFunc(said(), func(v any) bool { return v == "Shift" }) }
	last := func() any {
		if all := said(); len(all) > 0 {
			return all[len(all)-1]
		}
		return nil
	}
	for _, check := range []struct {
		asked bool
		what  string
		got   func() any
		want  any
	}{
		{e.Reports != nil, "reports", func() any { return said() }, e.Reports},
		{e.ReportsNoShift != nil, "reports", func() any { return withoutShift() }, e.ReportsNoShift},
		{e.None, "reports", func() any { return said() }, []any{}},
		{e.Last != nil, "last report", last, e.Last},
		{e.Probe != nil, "probe", func() any { return p.w.probed(p.c.ID) }, e.Probe},
	} {
		if check.asked {
			if got := settled(check.got, check.want); !reflect.DeepEqual(got, check.want) {
				return fmt.Sprintf("%s %#v, want %#v", check.what, got, check.want)
			}
		}
	}
	if e.Read != "" && !strings.Contains(fold(p.read), e.Read) {
		return fmt.Sprintf("read %q, want %q in it", p.read, e.Read)
	}
	if e.Has == nil && e.HasNot == nil && !e.Alive {
		return ""
	}
	v, err := p.trySnapshot()
	if err != nil {
		return fmt.Sprintf("the last snapshot: %v", err)
	}
	for _, pair := range e.Has {
		if v.find(pair[0], pair[1]) == nil {
			return miss{pair[0].String(), pair[1].String(), v.Text}.Error()
		}
	}
	for _, pair := range e.HasNot {
		if n := v.find(pair[0], pair[1]); n != nil {
			return fmt.Sprintf("%s %q is shown as %s in:\n%s", n.Role, n.Name, n.Ref, v.Text)
		}
	}
	return ""
}

// settled waits until got is want, and then a moment longer: a second report
// may follow the first.
func settled(got func() any, want any) any {
	for deadline := time.Now().Add(tellWithin); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if reflect.DeepEqual(got(), want) {
			time.Sleep(quiet) // nothing says that nothing more will come
			return got()
		}
	}
	return got()
}
