package live

import (
	"sync"
	"time"

	"github.com/browserd/browserd/recording"
)

// maxRecordings is how many recordings of a session the view lists, the newest.
const maxRecordings = 20

// recordingsEvery is how long a list of an agent's recordings holds: reading it reads folders.
const recordingsEvery = 2 * time.Second

// Recordings are what there is to look at afterwards. Any goroutine may call its methods.
type Recordings struct {
	store func() *recording.Store // nil: they are kept nowhere

	mu    sync.Mutex
	lists map[string]listed // by agent
}

type listed struct {
	at   time.Time
	list []recording.Recorded
}

// NewRecordings returns those of a store, which is asked for when somebody looks; nil: there are none.
func NewRecordings(store func() *recording.Store) *Recordings {
	return &Recordings{store: store, lists: map[string]listed{}}
}

// Of returns the recordings of a session, the newest first.
func (r *Recordings) Of(agent, session string) []recording.Recorded {
	list := []recording.Recorded{}
	store := r.store()
	if store == nil {
		return list
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.lists[agent].at) > recordingsEvery {
		for other, l := range r.lists { // agents come and go
			if now.Sub(l.at) > recordingsEvery {
				delete(r.lists, other)
			}
		}
		r.lists[agent] = listed{now, store.List(agent)}
	}
	all := r.lists[agent].list
	for i := len(all) - 1; i >= 0 && len(list) < maxRecordings; i-- {
		if all[i].Session == session {
			list = append(list, all[i])
		}
	}
	return list
}
