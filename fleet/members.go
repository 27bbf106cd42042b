package fleet

import (
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
	New      bool // it has just come, and judges no other node yet
}

// roster is what this node knows of all nodes, and of who has which session.
type roster struct {
	reading sync.Mutex // held while the nodes are read: what is read last is newest
	mu      sync.Mutex
	members []Member       // in the order of their numbers
	placed  map[string]int // sessions that this node has placed since the last beat
	located map[key]Owner
	judge   time.Time // when the first lease of another node is over, if that node does not beat
}

// maxLocated is how many sessions' owners are remembered.
const maxLocated = 20_000

// read reads the nodes.
func (n *Node) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n.reading.Lock()
	defer n.reading.Unlock()
	rows, err := n.db.QueryContext(ctx, `SELECT id, number, name, address, capacity, sessions, extract(epoch FROM lease_until - clock_timestamp()), state = $1,
		began > clock_timestamp() - $3 * interval '1 microsecond', id = $4 AND EXISTS (SELECT FROM recordings WHERE node = $4 AND gone)
		FROM nodes WHERE state <> $2 AND lease_until > clock_timestamp() - interval '1 minute' ORDER BY number, began`, stateUp, stateGone, steadyAfter.Microseconds(), n.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	steady := n.lease.steady(n.now(), steadyAfter)
	var members []Member
	var judge time.Time
	for rows.Next() {
		var m Member
		var lease float64 // seconds
		var gone bool
		if err := rows.Scan(&m.ID, &m.Number, &m.Name, &m.Address, &m.Capacity, &m.Sessions, &lease, &m.Open, &m.New, &gone); err != nil {
			return err
		}
		if over := time.Now().Add(time.Duration(lease * float64(time.Second))); lease > 0 && m.ID != n.id && (judge.IsZero() || over.Before(judge)) {
			judge = over
		}
		if gone {
			n.recordings.gone.Store(true)
		}
		m.Lost = lease < 0 && steady
		members = append(members, m)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	n.roster.mu.Lock()
	n.roster.members, n.roster.placed, n.roster.judge = members, map[string]int{}, judge
	n.roster.mu.Unlock()
	return nil
}

// look reads the nodes, drops the connections to those that are lost and begins to make those
// that are missing.
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
	return nil
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
// come has it only where no other one has room, because it would wait until it may judge. Error: session_limit.
func (n *Node) Place(lost bool) (Owner, error) {
	own := n.about.Sessions()
	n.roster.mu.Lock()
	defer n.roster.mu.Unlock()
	members := n.roster.members
	if lost {
		members = slices.Clone(members)
		if i := slices.IndexFunc(members, func(m Member) bool { return m.ID == n.id }); i >= 0 && n.lease.steady(n.now(), steadyAfter) {
			members[i].New = false // others know that already, and pass such sessions on to it
		}
		slices.SortStableFunc(members, func(a, b Member) int {
			switch {
			case a.New == b.New:
				return 0
			case b.New:
				return -1
			}
			return 1
		})
	}
	for _, m := range members {
		open := m.Sessions
		if m.ID == n.id {
			open = own
		}
		if open += n.roster.placed[m.ID]; m.Lost || !m.Open || m.ID == n.id && n.draining.Load() || open >= m.Capacity {
			continue
		}
		if m.ID != n.id {
			n.roster.placed[m.ID]++
		}
		return Owner{Node: m.ID, Number: m.Number, Name: m.Name}, nil
	}
	return Owner{}, protocol.Errorf(protocol.SessionLimit, "each of the fleet's nodes holds as many sessions as session.max allows, or drains")
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
