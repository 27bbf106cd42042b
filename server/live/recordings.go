package live

import (
	"sync"
	"time"

	"github.com/browserd/browserd/recording"
)

// maxRecordings is how many recordings of a session the view lists: the newest ones.
const maxRecordings = 20

// recordingsInterval is how long a list of an agent's recordings is cached, since making it reads directories.
const recordingsInterval = 2 * time.Second

// Recordings lists the recordings of sessions for the view, with a cache. Any goroutine may call its methods.
type Recordings struct {
	store func() *recording.Store // returns nil if sessions cannot be recorded

	mu    sync.Mutex
	lists map[string]cachedList // by agent
}

type cachedList struct {
	at   time.Time
	list []recording.Recorded
}

// NewRecordings returns the Recordings of a store. store is called when somebody looks; it returns nil if
// sessions cannot be recorded.
func NewRecordings(store func() *recording.Store) *Recordings {
	return &Recordings{store: store, lists: map[string]cachedList{}}
}

// ForSession returns the recordings of a session, the newest first.
func (r *Recordings) ForSession(agent, session string) []recording.Recorded {
	list := []recording.Recorded{}
	store := r.store()
	if store == nil {
		return list
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.lists[agent].at) > recordingsInterval {
		for other, l := range r.lists { // drop the lists of other agents that have expired
			if now.Sub(l.at) > recordingsInterval {
				delete(r.lists, other)
			}
		}
		r.lists[agent] = cachedList{now, store.List(agent)}
	}
	all := r.lists[agent].list
	for i := len(all) - 1; i >= 0 && len(list) < maxRecordings; i-- {
		if all[i].Session == session {
			list = append(list, all[i])
		}
	}
	return list
}
