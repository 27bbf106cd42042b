package e2e_test

import (
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// A command that needs a session and finds none opens it, whether it queues or not; what
// it says of the page is what it says behind session_open. To close one there has to be one.
func TestAnyFirstCommandOpensItsSession(t *testing.T) {
	t.Parallel()
	for source, env := range map[string]map[string]string{"chromium": nil, "http": {"BROWSERD_BROWSER__DISABLED": "true"}} {
		d := testdaemon.Start(t, testdaemon.Options{Env: env})
		for _, command := range []string{"snapshot", "tab_list", "console", "network", "downloads"} {
			a := newAgent(t, d)
			r := a.do(command, nil)
			if r.Session == "" || r.Page.Tab != "t1" || r.Page.URL != "about:blank" || r.Page.Source != source || r.Page.Ready != "complete" {
				t.Errorf("%s, %s: session %q, page %+v", source, command, r.Session, r.Page)
			}
			next := a.do("read", nil)
			if next.Session != r.Session {
				t.Errorf("%s: the next command is in session %q, and that one in %q", command, next.Session, r.Session)
			}
			if next.Page.Document != 0 {
				t.Errorf("%s, %s: %d documents were loaded where none was opened", source, command, next.Page.Document)
			}
		}
		newAgent(t, d).refused("dialog", params{"accept": true}, protocol.NotActionable)
		newAgent(t, d).refused("session_close", nil, protocol.SessionNotFound)
	}
}
