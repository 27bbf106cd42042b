package session

import (
	"sync"
	"time"
)

// A session that was refused because the daemon was full counts as wanted for refusalWindow.
const refusalWindow = 30 * time.Second

// demand counts the sessions that were refused because the daemon was full. Any goroutine may call its methods.
type demand struct {
	mu     sync.Mutex
	total  int                                     // all refusals since the start
	agents map[string]map[refusedSession]time.Time // when each session of an agent was refused last
}

// refusedSession identifies a session that was refused: by its name, or by a number if the client gave no name.
type refusedSession struct {
	name   string
	number int
}

// refuse records that a session was refused. At most limit sessions of an agent count as wanted.
func (d *demand) refuse(agent, name string, limit int, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total++
	of := d.agents[agent]
	if of == nil {
		of = map[refusedSession]time.Time{}
		if d.agents == nil {
			d.agents = map[string]map[refusedSession]time.Time{}
		}
		d.agents[agent] = of
	}
	dropExpired(of, now)
	w := refusedSession{name: name}
	if name == "" {
		w.number = d.total
	}
	if _, known := of[w]; known || len(of) < limit {
		of[w] = now
	}
}

// wanted returns how many sessions were refused within refusalWindow.
func (d *demand) wanted(now time.Time) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for agent, of := range d.agents {
		dropExpired(of, now)
		if len(of) == 0 {
			delete(d.agents, agent)
		}
		n += len(of)
	}
	return n
}

func dropExpired(of map[refusedSession]time.Time, now time.Time) {
	for w, at := range of {
		if now.Sub(at) >= refusalWindow {
			delete(of, w)
		}
	}
}

// RecordRefusal records that an agent was refused a session because the daemon, or every daemon of the fleet,
// was full. name is the session's name; empty: the daemon would have chosen one.
func RecordRefusal(m *Manager, agent, name string) {
	m.demand.refuse(agent, name, m.cfg.MaxPerAgent, time.Now())
}

// Demand compares how many sessions the daemon's clients want with how many it may hold.
type Demand struct {
	Wanted   int // sessions that are open, are being opened, or were refused within refusalWindow because the daemon was full
	Capacity int // session.max; 0 while the daemon opens no more sessions
	Refused  int // refusals since the start because the daemon was full
}

// DemandOf returns the daemon's Demand. The sum over a fleet's daemons is the fleet's.
func DemandOf(m *Manager) Demand {
	d := Demand{Wanted: SlotsInUse(m) + m.demand.wanted(time.Now())}
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
