package session

import (
	"sync"
	"time"
)

// A session that was refused because there was no room is wanted for wantedFor after that.
const wantedFor = 30 * time.Second

// demand counts the sessions that were refused because there was no room. Any goroutine may call
// its methods.
type demand struct {
	mu     sync.Mutex
	total  int                           // refusals ever
	agents map[string]map[want]time.Time // when each session of an agent was refused last
}

// want is a session that was refused. One without a name is told apart by its number.
type want struct {
	name   string
	number int
}

// refuse counts a session. An agent wants at most limit sessions.
func (d *demand) refuse(agent, name string, limit int, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total++
	of := d.agents[agent]
	if of == nil {
		of = map[want]time.Time{}
		if d.agents == nil {
			d.agents = map[string]map[want]time.Time{}
		}
		d.agents[agent] = of
	}
	forget(of, now)
	w := want{name: name}
	if name == "" {
		w.number = d.total
	}
	if _, known := of[w]; known || len(of) < limit {
		of[w] = now
	}
}

// wanted returns how many sessions were refused lately.
func (d *demand) wanted(now time.Time) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for agent, of := range d.agents {
		forget(of, now)
		if len(of) == 0 {
			delete(d.agents, agent)
		}
		n += len(of)
	}
	return n
}

func forget(of map[want]time.Time, now time.Time) {
	for w, at := range of {
		if now.Sub(at) >= wantedFor {
			delete(of, w)
		}
	}
}

// Refused says that an agent was refused a session because there was no room, here or at any
// daemon of the fleet. name is what it was to be called; empty: the daemon would have chosen.
func Refused(m *Manager, agent, name string) {
	m.demand.refuse(agent, name, m.cfg.MaxPerAgent, time.Now())
}

// Demand says how many sessions the daemon's clients want, and how many it may hold.
type Demand struct {
	Wanted   int // that are open, are being opened, or were refused lately because there was no room
	Capacity int // session.max; 0 while the daemon opens no more sessions
	Refused  int // how often a session was refused because there was no room, since the start
}

// DemandOf returns the daemon's demand. In a fleet the demands of all daemons may be added up.
func DemandOf(m *Manager) Demand {
	d := Demand{Wanted: Places(m) + m.demand.wanted(time.Now())}
	m.mu.Lock()
	if !m.draining && !m.closing {
		d.Capacity = m.cfg.Max
	}
	m.mu.Unlock()
	m.demand.mu.Lock()
	d.Refused = m.demand.total
	m.demand.mu.Unlock()
	return d
}
