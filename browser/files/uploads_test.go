package files

import (
	"errors"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// An empty file takes up a directory and an entry: it counts too, and counts no longer
// when it has been removed.
func TestEmptyFilesCount(t *testing.T) {
	var u Uploads
	u.Limit(SessionQuota(10 * leastFile))
	t.Cleanup(u.Remove)
	many := make([]protocol.File, 11)
	if _, err := u.Store(many); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("11 empty files: %v", err)
	}
	for range 2 {
		paths, err := u.Store(many[:10])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Store(many[:1]); protocol.CodeOf(err) != protocol.TooLarge {
			t.Errorf("an eleventh: %v", err)
		}
		u.Discard(paths, many[:10])
	}
}

// The sessions of an agent share its quota beside their own, and a session that ends gives
// back what it took of it; a file that was refused by one quota counts against none.
func TestSessionsShareAnAgentsQuota(t *testing.T) {
	agent := AgentQuota(3*leastFile, nil)
	var a, b Uploads
	a.Limit(SessionQuota(2*leastFile), agent)
	b.Limit(SessionQuota(2*leastFile), agent)
	t.Cleanup(b.Remove)
	store := func(u *Uploads, n int, want string) {
		t.Helper()
		_, err := u.Store(make([]protocol.File, n))
		got := ""
		if e := (*protocol.Error)(nil); errors.As(err, &e) {
			got, _ = e.Details["quota"].(string)
		}
		if got != want || (err != nil) != (want != "") {
			t.Errorf("%d files: %v, want %q", n, err, want)
		}
	}
	store(&a, 2, "")
	store(&a, 1, "session.upload_bytes")
	store(&b, 2, "session.upload_bytes_per_agent")
	store(&b, 1, "")
	a.Remove()
	a.Remove()
	if _, err := a.Store(make([]protocol.File, 1)); protocol.CodeOf(err) != protocol.SessionNotFound {
		t.Errorf("after the session's end: %v", err)
	}
	store(&b, 1, "")
	if agent.used != 2*leastFile {
		t.Errorf("%d bytes count against the agent", agent.used)
	}
}
