package handoff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

var ann, ben = Person{ID: "1", Name: "ann"}, Person{ID: "2", Name: "ben"}

// recordChanges records the changes of a Control, as lines.
func recordChanges(c *Control) *[]string {
	var lines []string
	c.Changed = func(s Status) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", s.State, s.Driver, s.Note)))
	}
	return &lines
}

func link() (string, time.Time, error) { return "http://view", time.Now().Add(10 * time.Minute), nil }

func code(err error) protocol.Code { return protocol.CodeOf(err) }

// The agent asks for a hand-off, one person drives, nobody else may, and the outcome is returned once.
func TestAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(Control)
		lines := recordChanges(c)
		if c.Refusal(true) != nil || c.Ended() != nil {
			t.Error("a session is handed off before anybody asked")
		}
		if began, err := c.Ask("captcha", time.Hour, link); !began || err != nil {
			t.Fatal(began, err)
		}
		if c.Refusal(false) != nil || code(c.Refusal(true)) != protocol.HandedOff {
			t.Error("while a person is waited for, reading is allowed and acting is not")
		}
		working, stop := c.UntilTakenOver(context.Background())
		defer stop()
		if err := c.Take(ann); err != nil {
			t.Fatal(err)
		}
		if code(context.Cause(working)) != protocol.HandedOff {
			t.Errorf("what ran ends with %v", context.Cause(working))
		}
		late, stop := c.UntilTakenOver(context.Background())
		defer stop()
		if code(context.Cause(late)) != protocol.HandedOff {
			t.Error("what begins while a person drives goes on")
		}
		if code(c.Refusal(false)) != protocol.HandedOff {
			t.Error("the agent reads while a person drives")
		}
		if code(c.Take(ben)) != protocol.HandedOff || code(c.End(ben, Done, "")) != protocol.HandedOff || c.HandBack(ben) {
			t.Error("two drive")
		}
		over, ended := c.Ended(), false
		if _, _, ok := c.Enter(t.Context(), ann, false); ok {
			t.Error("what the person does goes to a session that is not ready")
		}
		c.Begin(ann, func() { ended = true })
		inside, leave, ok := c.Enter(t.Context(), ann, true)
		if _, _, others := c.Enter(t.Context(), ben, false); !ok || others {
			t.Fatalf("the driver is let in: %t, another: %t", ok, others)
		}
		if err := c.End(ann, Done, "here you are"); err != nil {
			t.Fatal(err)
		}
		<-over
		if _, _, ok := c.Enter(t.Context(), ann, false); ok || c.Refusal(true) != nil {
			t.Error("it is over, and the person still has the session")
		}
		synctest.Wait()
		if inside.Err() == nil || ended || !c.DroveAt(time.Now()) {
			t.Errorf("over, and what the driver had begun goes on: %v; the agent goes on meanwhile: %t", inside.Err(), ended)
		}
		leave()
		synctest.Wait()
		time.Sleep(time.Second)
		if !ended || c.DroveAt(time.Now()) || !c.DroveAt(time.Now().Add(-time.Second)) {
			t.Errorf("nothing runs any more, and the agent goes on: %t", ended)
		}
		if said := c.Outcome(); said == nil || said.State != Done || said.Note != "here you are" || said.Reason != "captcha" {
			t.Errorf("the outcome is %+v", said)
		}
		if c.Outcome() != nil {
			t.Error("the outcome is told twice")
		}
		if diff := cmp.Diff([]string{"waiting", "waiting ann", "done  here you are"}, *lines); diff != "" {
			t.Error(diff)
		}
	})
}

// When a hand-off ends, and with which state.
func TestHandoffEnds(t *testing.T) {
	for name, test := range map[string]struct {
		do    func(c *Control)
		after time.Duration
		want  State
		lines string
	}{
		"nobody comes":                    {func(c *Control) { c.Ask("", 10*time.Minute, link) }, 10 * time.Minute, Expired, "waiting,expired"},
		"unasked, and handed back":        {func(c *Control) { c.Take(ann); c.HandBack(ann) }, 0, Done, "waiting ann,done"},
		"unasked, and the driver is gone": {func(c *Control) { c.Take(ann) }, DriverTimeout, Done, "waiting ann,done"},
		"asked, and the driver is gone":   {func(c *Control) { c.Ask("", time.Hour, link); c.Take(ann) }, time.Hour, Expired, "waiting,waiting ann,waiting,expired"},
		"asked, handed back, done by ben": {func(c *Control) {
			c.Ask("", time.Hour, link)
			c.Take(ann)
			c.HandBack(ann)
			c.Take(ben)
			c.End(ben, Done, "")
		}, 0, Done, "waiting,waiting ann,waiting,waiting ben,done"},
		"cancelled by somebody who looks on": {func(c *Control) { c.Ask("", time.Hour, link); c.End(ben, Cancelled, "no") }, 0, Cancelled, "waiting,cancelled  no"},
		"the driver types beyond the time": {func(c *Control) {
			c.Ask("", 2*time.Minute, link)
			c.Take(ann)
			for range 6 {
				time.Sleep(30 * time.Second)
				c.MarkActive(ann, true)
			}
		}, 4 * time.Minute, Expired, "waiting,waiting ann,expired"},
		"the driver looks on": {func(c *Control) {
			c.Take(ann)
			for range 60 {
				time.Sleep(30 * time.Second)
				c.MarkActive(ann, false)
			}
		}, TakeoverDuration, Expired, "waiting ann,expired"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := new(Control)
				lines := recordChanges(c)
				began := time.Now()
				var ended time.Duration
				changed := c.Changed
				c.Changed = func(s Status) {
					changed(s)
					if s.State != Waiting {
						ended = time.Since(began)
					}
				}
				test.do(c)
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				said := c.Outcome()
				if said == nil || said.State != test.want || ended != test.after {
					t.Errorf("%+v after %v, want %s after %v", said, ended, test.want, test.after)
				}
				if got := strings.Join(*lines, ","); got != test.lines {
					t.Errorf("it said %q, want %q", got, test.lines)
				}
			})
		})
	}
}

// A link is reused until it expires. If no link can be made, no hand-off begins.
func TestLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := new(Control), 0
		made := func() (string, time.Time, error) {
			n++
			return fmt.Sprint(n), time.Now().Add(10 * time.Minute), nil
		}
		broken := errors.New("no browser reaches the daemon")
		if _, err := c.Ask("", time.Hour, func() (string, time.Time, error) { return "", time.Time{}, broken }); err != broken || c.Ended() != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			pause time.Duration
			want  string
		}{{0, "1"}, {9 * time.Minute, "1"}, {time.Minute, "2"}, {0, "2"}} {
			time.Sleep(step.pause)
			if _, err := c.Ask("", time.Hour, made); err != nil || c.Status().URL != step.want {
				t.Errorf("after %v more the link is %s, want %s", step.pause, c.Status().URL, step.want)
			}
		}
		c.Close()
	})
}

// Actions that need the session's turn run one at a time, and not after the person has stopped driving.
func TestExclusiveIsOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(Control)
		c.Take(ann)
		c.Begin(ann, func() {})
		_, leave, _ := c.Enter(t.Context(), ann, true)
		let := make(chan bool, 2)
		for range 2 {
			go func() {
				_, leave, ok := c.Enter(t.Context(), ann, true)
				let <- ok
				if ok {
					leave()
				}
			}()
		}
		synctest.Wait()
		if len(let) > 0 {
			t.Error("two at a time")
		}
		if _, leave, ok := c.Enter(t.Context(), ann, false); !ok {
			t.Error("what needs no turn waits for what does")
		} else {
			leave()
		}
		c.HandBack(ann)
		if <-let || <-let {
			t.Error("what waited is done after the hand-back")
		}
		leave()
	})
}
