package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// A session that has ended is reported once, to whoever comes next: which, when and why.
func TestSessionEnded(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_BROWSER__DISABLED": "true", "BROWSERD_SESSION__IDLE_TIMEOUT": "2s",
	}})
	w := newPageServer(t)
	w.serve("/page", page("ended", `<a href=/page>Again</a>`), "")
	open := params{"url": w.URL + "/page"}
	for reason, end := range map[string]func(a *agent){
		"closed": func(a *agent) { a.do("session_close", nil) },
		"idle_timeout": func(a *agent) {
			for deadline := time.Now().Add(20 * time.Second); len(a.do("session_list", nil).Sessions) > 0; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the session does not end")
				}
			}
		},
	} {
		t.Run(reason, func(t *testing.T) {
			a := newAgent(t, d)
			first := a.do("open", open)
			if first.SessionEnded != nil {
				t.Errorf("nothing has ended: %v", first.SessionEnded)
			}
			name := first.Session
			end(a)
			// A ref of it is not taken for one of the new session, and who names it hears why.
			if e := a.refused("click", params{"ref": "@e1"}, protocol.StaleRef); !strings.Contains(e.Message, name) {
				t.Errorf("a ref of it: %v", e)
			}
			if e := a.refused("snapshot", params{"session": name}, protocol.SessionNotFound); e.Details["reason"] != reason || e.Details["ended_at"] == nil {
				t.Errorf("by name: %v", e.Details)
			}
		})
		t.Run(reason+", then the next answer", func(t *testing.T) {
			a := newAgent(t, d)
			name := a.do("open", open).Session
			end(a)
			next := a.do("open", open)
			ended := next.SessionEnded
			if ended == nil || next.Session == name || ended.Session != name || ended.Reason != reason || time.Since(ended.At).Abs() > time.Minute {
				t.Fatalf("session %s: %+v", next.Session, ended)
			}
			if again := a.do("snapshot", nil); again.SessionEnded != nil {
				t.Errorf("told twice: %+v", again.SessionEnded)
			}
		})
	}
}
