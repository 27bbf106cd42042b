package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot/pagetext"
)

// framesPage is changingPage with frames of its own and of another origin that come, go,
// change and load anew, a field that gives its focus away while it is typed into, a dead button, and
// a long text and list at the end.
const framesPage = changingPage + `
<div id=frames></div><input id=away aria-label=Away><input id=next aria-label=Next><button disabled>Dead</button>
<ul id=more></ul><article aria-label=Words>WORDS</article>
<script>
for (let i = 0; i < 12; i++) more.insertAdjacentHTML('beforeend', '<li><a href="#' + i + '">Link ' + i + '</a></li>');
away.oninput = () => { n++; next.focus(); count.textContent = 'typed ' + n };
const add = src => { const f = document.createElement('iframe'); f.src = src; f.title = 'Frame ' + n++; frames_.append(f) };
const frames_ = document.getElementById('frames');
const drop = () => { const f = frames_.children; f.length && f[chance(f.length)].remove() };
const say = m => { for (const f of frames_.children) f.contentWindow.postMessage(m, '*') };
onkeyup = e => {
  if (e.key === 'F4') frames_.children.length < 3 ? add('/inner' + chance(2)) : drop();
  if (e.key === 'F8') frames_.children.length < 3 ? add('ALT/inner' + chance(2)) : drop();
  if (e.key === 'F9') say('change');
  if (e.key === 'F10') { history.pushState(null, '', '#' + n++); document.title = 'Changing ' + n }
};
</script>`

const innerPage = `<!doctype html><title>Inner</title><h3>Inside</h3><ul id=l><li><button>In 0</button></ul>
<script>let n = 1; onmessage = () => { n % 3 ? l.insertAdjacentHTML('afterbegin', '<li><button>In ' + n + '</button><a href="#">and</a></li>') : l.lastChild.remove(); n++ };
onkeyup = e => parent.postMessage(e.key, '*')</script>`

// reader is a client that holds a page's text.
type reader struct {
	c      *client.Client
	held   pagetext.PageText
	limits []params // those that its text may have
}

// shows is what an answer, or the details of an error, show of the page.
type shows struct {
	pagetext.Result
	Results []shows        // of a batch
	Inner   *shows         `json:"result"` // of one command of a batch
	Tabs    []protocol.Tab // of tab_list
}

// call sends a command and applies what its answer shows. The error is one of applying.
func (r *reader) call(method string, p params) (shows, error) {
	ctx, cancel := commandTime()
	defer cancel()
	var got shows
	err := r.c.Call(ctx, method, p, &got)
	var e *protocol.Error
	switch {
	case errors.As(err, &e):
		text, err := json.Marshal(e.Details)
		if err != nil {
			return got, err
		}
		got = shows{}
		if json.Unmarshal(text, &got) != nil {
			return got, nil // nothing in it is a page
		}
	case err != nil:
		return got, err
	}
	return got, r.apply(got)
}

func (r *reader) apply(got shows) error {
	if err := r.held.Apply(got.Result); err != nil {
		return fmt.Errorf("%w\n%s\nto\n%s", err, got.Delta.Text, r.held.Text())
	}
	for _, one := range got.Results {
		if one.Inner != nil {
			if err := r.apply(*one.Inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// newLimits chooses the limits of a snapshot.
func newLimits(t *rapid.T) params {
	p := params{}
	for name, values := range map[string][]any{
		"interactive_only": {true, false},
		"max_nodes":        {200, 15, 40},
		"max_chars":        {12000, 900, 2500},
		"max_depth":        {12, 2, 4},
		"max_text":         {200, 10},
		"dedupe_text":      {true, false},
		"scope":            {"", "#todo", "#frames"},
		"attrs":            {nil, []string{"href"}},
	} {
		if v := rapid.SampledFrom(append(slices.Repeat([]any{values[0]}, 2), values...)).Draw(t, name); v != nil && v != "" {
			p[name] = v
		}
	}
	return p
}

// Whatever several clients of one session do, each in its own limits, each has the page
// by the deltas that it was sent.
func TestDeltasBetweenOtherCommands(t *testing.T) {
	t.Parallel()
	d, w := testdaemon.Start(t, testdaemon.Options{}), newPageServer(t)
	for seed := range 3 {
		page := strings.NewReplacer("SEED", fmt.Sprint(seed+1), "ALT", w.alt(), "WORDS", strings.Repeat("One more paragraph of text. ", 8)).Replace(framesPage)
		w.serve(fmt.Sprint("/changing", seed), page, "")
	}
	w.serve("/inner0", innerPage, "")
	w.serve("/inner1", strings.ReplaceAll(innerPage, "In ", "Within "), "")
	deltas := 0
	rapid.Check(t, func(t *rapid.T) {
		if plays.Load() < maxPlays {
			deltas += playDeltas(t, d, w)
		}
	})
	t.Logf("%d deltas", deltas)
	if deltas < 100 {
		t.Errorf("only %d deltas", deltas)
	}
}

func playDeltas(t *rapid.T, d *testdaemon.Daemon, w *pageServer) (deltas int) {
	name := "s" + fmt.Sprint(plays.Add(1))
	dial := func() *client.Client { return d.Dial(t) }
	readers := []*reader{{c: dial()}, {c: dial()}}
	observer := &reader{c: dial()}
	var log []string
	ask := func(r *reader, method string, p params) shows {
		p = maps.Clone(p)
		p["session"] = name
		if r != observer {
			log = append(log, fmt.Sprint("client ", slices.Index(readers, r), ": ", method, " ", p))
		}
		got, err := r.call(method, p)
		if err != nil {
			t.Fatalf("%s\n%v", strings.Join(log, "\n"), err)
		}
		if got.Delta != nil {
			deltas++
		}
		return got
	}
	url := func() string { return w.URL + fmt.Sprint("/changing", rapid.IntRange(0, 2).Draw(t, "page")) }
	if err := readers[0].c.Call(context.Background(), "session_open", params{"name": name}, nil); err != nil {
		t.Fatal(err)
	}
	defer readers[0].call("session_close", params{"session": name})
	ask(readers[0], "open", params{"url": url()})
	for range rapid.IntRange(5, 20).Draw(t, "steps") {
		r := rapid.SampledFrom(readers).Draw(t, "reader")
		press := func() params {
			return params{"key": rapid.SampledFrom([]string{"F2", "F2", "F2", "F4", "F8", "F9", "F10"}).Draw(t, "key")}
		}
		switch rapid.IntRange(0, 17).Draw(t, "kind") {
		case 0:
			p := press()
			p["snapshot"] = "full"
			ask(r, "press", p)
		case 1:
			p := press()
			p["snapshot"] = "none"
			ask(r, "press", p)
		case 2, 3:
			r.limits = []params{newLimits(t)}
			ask(r, "snapshot", r.limits[0])
		case 4:
			p := newLimits(t)
			p["delta"] = true
			ask(r, "snapshot", p)
			delete(p, "delta")
			r.limits = append(r.limits, p)
		case 5:
			ask(r, "type", params{"ref": params{"label": "Away"}, "text": "more"})
		case 6:
			ask(r, "click", params{"ref": "text=Dead", "timeout_ms": 300})
		case 7:
			ask(r, "find", params{"role": "button"})
		case 8:
			ask(r, "run", params{"code": fmt.Sprintf("await browser.press({key: %q}); await browser.snapshot({max_nodes: 5}); await browser.press({key: 'F2', snapshot: 'delta'})", press()["key"])})
		case 9:
			ask(r, "run", params{"code": fmt.Sprintf("await browser.press({key: %q}); throw new Error('no')", press()["key"])})
		case 10:
			limits := newLimits(t)
			ask(r, "batch", params{"stop_on_error": false, "commands": []params{
				{"method": "press", "params": press()}, {"method": "click", "params": params{"ref": "@e99999"}},
				{"method": "snapshot", "params": limits}, {"method": "press", "params": params{"key": "F2"}}}})
			r.limits = []params{limits}
		case 11:
			method, p := rapid.SampledFrom([]string{"tab_new", "reload", "back", "open"}).Draw(t, "navigation"), params{}
			if method == "tab_new" || method == "open" {
				p["url"] = url()
			}
			ask(r, method, p)
		case 12:
			tabs := ask(r, "tab_list", params{}).Tabs
			ask(r, "tab_select", params{"tab": rapid.SampledFrom(tabs).Draw(t, "tab").Tab})
		case 13: // its connection is lost
			i := slices.Index(readers, r)
			r = &reader{c: dial()}
			readers[i] = r
		case 14:
			ask(r, "screenshot", params{"annotate": true})
		default:
			ask(r, "press", press())
		}
		if rapid.Bool().Draw(t, "unobserved") {
			continue
		}
		diff := ""
		for limit := time.Now().Add(10 * time.Second); ; { // a frame may load in between
			ask(r, "snapshot", params{"delta": true})
			if diff = differs(r, func(limits params) string {
				observer.held = pagetext.PageText{}
				ask(observer, "snapshot", limits)
				return observer.held.Text()
			}); diff == "" || time.Now().After(limit) {
				break
			}
		}
		if diff != "" {
			t.Fatalf("after\n%s\nthe page before what the client holds:\n%s\nwhat it holds:\n%s", strings.Join(log, "\n"), diff, r.held.Text())
		}
	}
	return deltas
}

// differs compares what r holds with fresh snapshots in the limits that it may have: its
// own or, where a whole snapshot was due, the usual ones, and their max_chars.
func differs(r *reader, fresh func(limits params) string) (diff string) {
	for _, limits := range append(slices.Clone(r.limits), params{}) {
		for _, chars := range []any{limits["max_chars"], 12000, 2500, 900} {
			limits := maps.Clone(limits)
			if chars != nil {
				limits["max_chars"] = chars
			}
			if diff = cmp.Diff(fresh(limits), r.held.Text()); diff == "" {
				r.limits = []params{limits}
				return ""
			}
		}
	}
	return diff
}

// plays counts the sessions of TestDeltasBetweenOtherCommands, of which it has as many as take
// some twenty seconds.
var plays atomic.Int64

const maxPlays = 25

// commandTime is the time that a command has.
func commandTime() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}
