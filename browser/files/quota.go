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
	// elsewhere counts what other daemons keep; nil: this one serves alone.
	elsewhere Elsewhere

	mu   sync.Mutex
	used int64 // bytes
}

// Elsewhere counts uploads of one agent at all daemons that serve as one. A quota asks it one thing after the other.
type Elsewhere interface {
	// Keep notes that this daemon keeps so many bytes, and returns how many the others do. Where all together would
	// be more than limit it notes nothing. What it has noted after an error is not known: say it with Free.
	Keep(bytes, limit int64) (others int64, err error)
	// Free notes that this daemon keeps so many bytes, which are fewer than before. It may come late.
	Free(bytes int64)
}

// SessionQuota returns the quota of one session's uploads.
func SessionQuota(bytes int64) *Quota {
	return &Quota{key: "session.upload_bytes", whose: "this session", limit: bytes,
		next: "close the session, which removes its uploads, and go on in a new one; state_save keeps its login"}
}

// AgentQuota returns the quota of the uploads of all sessions of one agent, those at other daemons too, unless
// elsewhere is nil.
func AgentQuota(bytes int64, elsewhere Elsewhere) *Quota {
	return &Quota{elsewhere: elsewhere, key: "session.upload_bytes_per_agent", whose: "all sessions of this agent together", limit: bytes,
		next: "close a session that has uploaded files, which removes them"}
}

// take counts so many bytes. It returns too_large where they exceed the limit.
func (q *Quota) take(bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	total, shared := q.used+bytes, int64(0)
	if q.elsewhere != nil && total <= q.limit {
		others, err := q.elsewhere.Keep(total, q.limit)
		if err != nil {
			q.elsewhere.Free(q.used)
			return err
		}
		shared = others
	}
	if all := total + shared; all > q.limit {
		return protocol.Errorf(protocol.TooLarge, "files: the uploads of %s would be %d bytes, and %s allows %d", q.whose, all, q.key, q.limit).
			With("quota", q.key).With("limit", q.limit).With("size", all).Then("%s", q.next)
	}
	q.used = total
	return nil
}

func (q *Quota) give(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= bytes
	if q.elsewhere != nil {
		q.elsewhere.Free(q.used)
	}
}
