package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/internal/testtime"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// far is how late farAway brings what Chromium says. It is above what a busy
// machine mostly puts between two commands that do not wait for one another; where it was not,
// roundTripsOf has it later.
const far = 60 * time.Millisecond

// farAway is a transport to a Chromium that is far away: commands which do not
// wait for one another are all written before the first of their answers comes.
type farAway struct {
	cdp.Transport
	delay   time.Duration
	arrived chan late

	mu       sync.Mutex
	trips    [][]string // the commands of each round trip, in short
	answered bool       // an answer was read since the last command
	what     string     // see meanwhile
	do       func()
	asked    int64 // the command's id
}

type late struct {
	m   cdp.Message
	err error
	at  time.Time
}

func newFarAway(t cdp.Transport, delay time.Duration) *farAway {
	f := &farAway{Transport: t, delay: delay, arrived: make(chan late, 10_000)}
	go func() {
		for {
			var l late
			l.err = t.Read(context.Background(), &l.m)
			l.at = time.Now()
			if do := f.late(l.m.ID); do != nil {
				go func() {
					do()
					f.arrived <- l
				}()
				continue
			}
			f.arrived <- l
			if l.err != nil {
				return
			}
		}
	}()
	return f
}

// meanwhile has the answer to the next command that contains what come only when
// do has returned, and before it whatever Chromium says until then.
func (f *farAway) meanwhile(what string, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.what, f.do = what, do
}

// late is what is done before the answer to the command with that id; nil: nothing.
func (f *farAway) late(id int64) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == 0 || id != f.asked {
		return nil
	}
	f.asked = 0
	return f.do
}

func (f *farAway) Read(_ context.Context, m *cdp.Message) error {
	l := <-f.arrived
	time.Sleep(time.Until(l.at.Add(f.delay)))
	f.mu.Lock()
	f.answered = f.answered || l.m.ID != 0
	f.mu.Unlock()
	*m = l.m
	return l.err
}

func (f *farAway) Write(ctx context.Context, m *cdp.Message) error {
	for _, unawaited := range []script.Call{script.ReleaseHitTest.Call(script.None{}), script.EndHitTest.Call(script.None{})} {
		if strings.Contains(string(m.Params), unawaited.Expression) {
			return f.Transport.Write(ctx, m)
		}
	}
	f.mu.Lock()
	if f.what != "" && strings.Contains(string(m.Method)+" "+string(m.Params), f.what) {
		f.what, f.asked = "", m.ID
	}
	if f.answered || len(f.trips) == 0 {
		f.trips, f.answered = append(f.trips, nil), false
	}
	n := len(f.trips) - 1
	f.trips[n] = append(f.trips[n], fmt.Sprintf("%s %.60s", m.Method, m.Params))
	f.mu.Unlock()
	return f.Transport.Write(ctx, m)
}

// roundTrips runs do, and says which commands were written in each round trip.
func (f *farAway) roundTrips(do func()) [][]string {
	f.mu.Lock()
	f.trips = nil
	f.mu.Unlock()
	do()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trips
}

// openFarAway opens a page in a Chromium that is far away.
func openFarAway(t *testing.T, html string, delay time.Duration) (*visit, *farAway) {
	t.Helper()
	b, away := stageFar(t, delay)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html>"+html)
	}))
	t.Cleanup(srv.Close)
	ctx := limit(t, 30*time.Second)
	c, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(ctx, srv.URL, protocol.WaitAuto); err != nil {
		t.Fatal(err)
	}
	v := &visit{t: t, c: c, refs: snapshot.NewRefs()}
	v.look()
	return v, away
}

func stageFar(t *testing.T, delay time.Duration) (*Browser, *farAway) {
	t.Helper()
	var away *farAway
	b := stageOver(t, func(transport cdp.Transport) cdp.Transport {
		away = newFarAway(transport, delay)
		return away
	})
	return b, away
}

// stageOver starts a Chromium that is spoken to through what over makes of its
// transport.
func stageOver(t *testing.T, over func(cdp.Transport) cdp.Transport) *Browser {
	t.Helper()
	cfg := testConfig(t)
	cfg.AnswerTimeout = 0 // its calls would be counted
	cfg.WrapTransport = over
	return New(started(t, cfg), discard())
}

// roundTripsOf counts the round trips of all that do does with a page in a Chromium that is far away. Each
// time that there are too many, Chromium is four times as far away.
func roundTripsOf(t *testing.T, html string, do func(v *visit, away *farAway, want func(what string, trips [][]string, most int))) {
	t.Helper()
	delay := far
	testtime.OneOfThree(t, func() error {
		v, away := openFarAway(t, html, delay)
		delay *= 4
		var all error
		do(v, away, func(what string, trips [][]string, most int) { all = errors.Join(all, tooMany(what, trips, most)) })
		return all
	})
}

// A click is two round trips, whatever it waits for in the page: one to find
// the element, one for the input and all that came of it. A snapshot is one,
// also after a text has changed and where a page was opened a moment ago. Keys are one more, since they are let through
// when the focus is known to be there; what guards them costs none.
func TestRoundTrips(t *testing.T) {
	roundTripsOf(t, `<title>Counter</title><h1>Counter</h1><button onclick="n.textContent++">Count</button><p id=n>0</p><input aria-label=Name>`, clickAndType)
}

func clickAndType(v *visit, away *farAway, want func(string, [][]string, int)) {
	t := v.t
	button := v.ref("button", "Count")
	for _, shown := range []bool{true, false, true} {
		trips := away.roundTrips(func() {
			ctx := limit(t, 20*time.Second)
			e, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Click{Ref: button}, Unshown: !shown})
			if err != nil || !e.Changed || e.Hit != button {
				t.Fatalf("%+v, %v", e, err)
			}
		})
		want("a click", trips, 2)
		trips = away.roundTrips(v.look)
		want("a snapshot", trips, 1)
	}
	field := v.ref("textbox", "Name")
	act := func(what string, most int, do protocol.Action) {
		want(what, away.roundTrips(func() {
			if e, err := v.c.Act(limit(t, 20*time.Second), v.refs, protocol.Act{Action: do}); err != nil || e.Hit != field {
				t.Fatalf("%s: %+v, %v", what, e, err)
			}
		}), most)
	}
	act("type", 4, protocol.Type{Ref: field, Text: "twenty characters ok"})
	act("type where the focus is", 3, protocol.Type{Ref: field, Text: "another twenty, fine", Clear: true})
	act("type with Enter", 5, protocol.Type{Ref: field, Text: "x", Submit: true})
	act("press", 3, protocol.Press{Ref: field, Key: "Home"})
	ctx := limit(t, 20*time.Second)
	if _, err := v.c.Open(ctx, v.c.selected.nav.url, protocol.WaitAuto); err != nil {
		t.Fatal(err)
	}
	if d, err := v.c.selected.frames.main.document(); err != nil || d.reported.Await(ctx) != nil {
		t.Fatal("its listeners are not reported: ", err)
	}
	want("the first snapshot of a page that was opened", away.roundTrips(v.look), 1)
}

// In a tab of several documents a click is four: what has the other documents refuse the press
// goes with the search for the element, but the pointer comes first, and what is under it then
// is asked. Where the pointer is there already, it is two. What is typed has one more before
// its keys, which the other documents refuse by then.
func TestRoundTripsBesideAFrame(t *testing.T) {
	roundTripsOf(t, `<title>Counter</title><h1>Counter</h1><button onclick="n.textContent++">Count</button><p id=n>0</p><input aria-label=Name><iframe srcdoc="<button>Inner</button>"></iframe>`, clickAndTypeBesideAFrame)
}

func clickAndTypeBesideAFrame(v *visit, away *farAway, want func(string, [][]string, int)) {
	t := v.t
	v.ref("button", "Inner") // the frame is there
	button, field := v.ref("button", "Count"), v.ref("textbox", "Name")
	for _, step := range []struct {
		what string
		most int
		do   protocol.Action
		hit  string
	}{
		{"a click", 4, protocol.Click{Ref: button}, button},
		{"another click there", 2, protocol.Click{Ref: button}, button},
		{"type", 7, protocol.Type{Ref: field, Text: "twenty characters ok"}, field},
		{"type where the focus is", 4, protocol.Type{Ref: field, Text: "another twenty, fine", Clear: true}, field},
		{"press", 4, protocol.Press{Ref: field, Key: "Home"}, field},
	} {
		want(step.what, away.roundTrips(func() {
			e, err := v.c.Act(limit(t, 20*time.Second), v.refs, protocol.Act{Action: step.do, Unshown: true})
			if err != nil || e.Hit != step.hit {
				t.Fatalf("%s: %+v, %v", step.what, e, err)
			}
		}), step.most)
	}
}

func tooMany(what string, trips [][]string, most int) error {
	if len(trips) > 0 && len(trips) <= most {
		return nil
	}
	var b strings.Builder
	for i, trip := range trips {
		fmt.Fprintf(&b, "\n%d. %s", i+1, strings.Join(trip, "\n   "))
	}
	return fmt.Errorf("%s took %d round trips, want %d:%s", what, len(trips), most, b.String())
}
