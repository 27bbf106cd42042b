package files

import (
	"sync"

	"github.com/browserd/browserd/protocol"
)

// Quota limits the bytes of uploads that are on disk at the same time. Any goroutine may
// call its methods.
type Quota struct {
	key   string // in the configuration
	whose string
	next  string // what a client may do where there is no room
	limit int64  // bytes

	mu   sync.Mutex
	used int64 // bytes
}

// SessionQuota returns the quota of one session's uploads.
func SessionQuota(bytes int64) *Quota {
	return &Quota{key: "session.upload_bytes", whose: "this session", limit: bytes,
		next: "close the session, which removes its uploads, and go on in a new one; state_save keeps its login"}
}

// AgentQuota returns the quota of the uploads of all sessions of one agent.
func AgentQuota(bytes int64) *Quota {
	return &Quota{key: "session.upload_bytes_per_agent", whose: "all sessions of this agent together", limit: bytes,
		next: "close a session that has uploaded files, which removes them"}
}

// take counts so many bytes. It returns too_large where they exceed the limit.
func (q *Quota) take(bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if total := q.used + bytes; total > q.limit {
		return protocol.Errorf(protocol.TooLarge, "files: the uploads of %s would be %d bytes, and %s allows %d", q.whose, total, q.key, q.limit).
			With("quota", q.key).With("limit", q.limit).With("size", total).Then("%s", q.next)
	}
	q.used += bytes
	return nil
}

func (q *Quota) give(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= bytes
}
