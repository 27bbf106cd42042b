package fleet

import (
	"cmp"
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Member is a node as the last beat found it.
type Member struct {
	ID       string
	Number   int
	Name     string
	Address  string // where other nodes reach it
	Capacity int
	Sessions int
	Lost     bool // its lease is over
	Open     bool // it takes new sessions
	New      bool // it has just come (newFor)
	age      time.Duration
	silent   bool // it has missed two beats, but not for long
}

// roster is what this node knows of all nodes, and of who has which session.
type roster struct {
	reading  sync.Mutex // held while the nodes are read: what is read last is newest
	mu       sync.Mutex
	members  []Member       // in the order of their numbers
	placed   map[string]int // sessions that this node has placed since the last beat
	located  map[key]Owner
	judge    time.Time // when the first lease of another node is over, if that node does not beat
	last     time.Time // when the nodes were read
	coming   int       // as About.Coming was told
	settings string    // settingsMark
}

// newFor is how long a node is new. It judges nobody before steadyAfter; and who is killed and starts again at once
// is no longer new only when others have taken its sessions, for which they have made themselves ready meanwhile.
const newFor = leaseFor + steadyAfter

// maxLocated is how many sessions' owners are remembered.
const maxLocated = 20_000

// read reads the nodes.
func (n *Node) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n.reading.Lock()
	defer n.reading.Unlock()
	rows, err := n.db.QueryContext(ctx, `SELECT id, number, name, address, capacity, sessions, extract(epoch FROM lease_until - clock_timestamp()), state = $1,
		extract(epoch FROM clock_timestamp() - began), `+settingsMark+`,
		id = $3 AND EXISTS (SELECT FROM recordings WHERE node = $3 AND gone)
		FROM nodes WHERE state <> $2 AND lease_until > clock_timestamp() - interval '1 minute' ORDER BY number, began`, stateUp, stateGone, n.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	steady, own := n.lease.steady(n.now(), steadyAfter), n.about.Sessions()
	var members []Member
	var judge time.Time
	var settings string
	for rows.Next() {
		var m Member
		var lease, age float64 // seconds
		var gone bool
		if err := rows.Scan(&m.ID, &m.Number, &m.Name, &m.Address, &m.Capacity, &m.Sessions, &lease, &m.Open, &age, &settings, &gone); err != nil {
			return err
		}
		if over := time.Now().Add(time.Duration(lease * float64(time.Second))); lease > 0 && m.ID != n.id && (judge.IsZero() || over.Before(judge)) {
			judge = over
		}
		if gone {
			n.recordings.gone.Store(true)
		}
		m.age = time.Duration(age * float64(time.Second))
		m.New = m.age < newFor
		m.Lost = lease < 0 && steady
		// What the database missed itself, while it did not answer, says nothing of a node.
		left := time.Duration(lease * float64(time.Second))
		m.silent = left < leaseFor-2*beatEvery && left > -beatEvery && steady && time.Since(n.roster.last) < beatEvery+patience/3
		members = append(members, m)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	n.roster.mu.Lock()
	n.roster.members, n.roster.placed, n.roster.judge, n.roster.last, n.roster.settings = members, map[string]int{}, judge, time.Now(), settings
	coming := comingHere(n, own)
	changed := coming != n.roster.coming
	n.roster.coming = coming
	n.roster.mu.Unlock()
	if changed && n.about.Coming != nil {
		n.log.Info("sessions of nodes that do not beat are expected here", "sessions", coming)
		n.about.Coming(coming)
	}
	return nil
}

// look reads the nodes, drops the connections to those that are lost and begins to make those
// that are missing. It has the policy hold what operators have added since.
func (n *Node) look(ctx context.Context) error {
	began := time.Now()
	if err := n.read(ctx); err != nil {
		return err
	}
	members := n.Members()
	n.links.mu.Lock()
	var lost []*outbound
	for id, o := range n.links.open {
		// One that has just been made may be to a node that has come since.
		if o.made.Before(began) && !slices.ContainsFunc(members, func(m Member) bool { return m.ID == id && !m.Lost }) {
			lost = append(lost, o)
		}
	}
	n.links.mu.Unlock()
	for _, o := range lost {
		o.close() // what waits for its answer waits no longer
	}
	var others []string
	for _, m := range members {
		if m.ID != n.id && !m.Lost {
			others = append(others, m.ID)
		}
	}
	n.links.tryAgain(n, others)
	return follow(ctx, n)
}

// untilLeaseEnds returns how long it is until the first lease of another node is over, as far as the last
// reading knows; at most most.
func (r *roster) untilLeaseEnds(most time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	const after = 10 * time.Millisecond // by the database's clock it is over then
	if r.judge.IsZero() {
		return most
	}
	return min(max(time.Until(r.judge), 0)+after, most)
}

// Members returns the nodes that the last beat found, this one among them.
func (r *roster) Members() []Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.members)
}

// member returns a node, nil if the last beat did not find it.
func (r *roster) member(id string) *Member {
	for _, m := range r.Members() {
		if m.ID == id {
			return &m
		}
	}
	return nil
}

// Place chooses the node for a session that is opened: the one with the lowest number that has room, so
// that the nodes with high numbers become empty. lost: it is that of a lost node, and a node that has just
// come has it only where no other one has room, the last that came after the others. Error: session_limit.
func (n *Node) Place(lost bool) (Owner, error) {
	own := n.about.Sessions()
	n.roster.mu.Lock()
	defer n.roster.mu.Unlock()
	for _, m := range withRoom(n, own, lost) {
		if m.ID != n.id {
			n.roster.placed[m.ID]++
		}
		return Owner{Node: m.ID, Number: m.Number, Name: m.Name}, nil
	}
	return Owner{}, protocol.Errorf(protocol.SessionLimit, "each of the fleet's nodes holds as many sessions as session.max allows, or drains")
}

// withRoom returns the nodes that have room for a session, the one that is chosen first before the others. This one
// has so many sessions. The caller holds mu.
func withRoom(n *Node, own int, lost bool) []Member {
	var list []Member
	for _, m := range n.roster.members {
		if m.ID == n.id {
			m.Sessions = own
			m.New = m.New && !n.lease.steady(n.now(), newFor) // others know that already, and pass lost sessions on to it
		}
		m.Sessions += n.roster.placed[m.ID]
		if !m.Lost && m.Open && !(m.ID == n.id && n.draining.Load()) && m.Sessions < m.Capacity {
			list = append(list, m)
		}
	}
	if lost {
		slices.SortStableFunc(list, func(a, b Member) int {
			switch {
			case a.New && b.New:
				return cmp.Compare(b.age, a.age)
			case a.New == b.New:
				return 0
			case b.New:
				return -1
			}
			return 1
		})
	}
	return list
}

// comingHere returns how many sessions are placed here if the nodes that are silent are lost. The caller holds mu.
func comingHere(n *Node, own int) int {
	lost := 0
	for _, m := range n.roster.members {
		if m.silent {
			lost += m.Sessions
		}
	}
	for _, m := range withRoom(n, own, true) {
		room := m.Capacity - m.Sessions
		switch {
		case m.silent:
		case m.ID == n.id:
			return min(lost, room)
		default:
			lost = max(0, lost-room)
		}
	}
	return 0
}

// Full notes that a node refused a session, so that Place chooses another until the next beat.
func (r *roster) Full(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.placed[node] = 1 << 20
}

// Locate is Owner, and remembers the answer until Unlocate.
func (n *Node) Locate(ctx context.Context, agent, name string) (*Owner, error) {
	k := key{agent, name}
	n.roster.mu.Lock()
	o, known := n.roster.located[k]
	n.roster.mu.Unlock()
	if known {
		return &o, nil
	}
	owner, err := n.Owner(ctx, agent, name)
	if owner != nil && !owner.Lost {
		n.Located(agent, name, *owner)
	}
	return owner, err
}

// Located remembers who has a session.
func (r *roster) Located(agent, name string, owner Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.located) >= maxLocated {
		clear(r.located)
	}
	r.located[key{agent, name}] = owner
}

// Unlocate forgets who has a session.
func (r *roster) Unlocate(agent, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.located, key{agent, name})
}

// advertised returns where other nodes reach this one.
func advertised(cfg Config, at net.Addr) string {
	if cfg.Advertise != "" {
		return cfg.Advertise
	}
	tcp, ok := at.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort(cfg.Name, portOf(tcp))
	}
	return at.String()
}
