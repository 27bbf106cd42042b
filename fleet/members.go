package fleet

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Member is one node of the fleet, as this node's last heartbeat read it.
type Member struct {
	ID          string
	Number      int
	Name        string
	Address     string // where other nodes reach it
	Capacity    int
	Sessions    int
	Lost        bool // its lease has expired, and this node may declare others lost
	Open        bool // it is neither draining nor gone: it accepts new sessions
	New         bool // it joined less than newNodePeriod ago
	age         time.Duration
	missedBeats bool // it has missed two heartbeats, but its lease expired less than heartbeatInterval ago
}

// turn is a lock for which one waits as long as one has time. Its capacity is 1.
type turn chan struct{}

func (t turn) lock(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) unlock() { <-t }

// membership is this node's view of the fleet: the nodes, and a cache of session owners.
type membership struct {
	shared       sharedReading  // it has a lock of its own
	reading      turn           // held while the table nodes is read, so that the last reading to be stored is the newest
	mu           sync.Mutex     // guards what follows
	members      []Member       // in the order of their numbers
	placements   map[string]int // sessions that this node has placed since the last heartbeat, by node
	owners       map[key]Owner  // cache; see Locate
	nextExpiry   time.Time      // when the first lease of another node expires unless that node renews it; zero: there is none
	readAt       time.Time      // when members were read
	expected     int            // what Options.ExpectTakeOvers was called with last
	policyDigest string         // what policyDigestQuery returned last
}

// newNodePeriod is how long a node counts as new after it joined. A new node cannot declare others lost before
// declareLostAfter. The period is also longer than a lease, so that a node that was killed and restarts at once is
// still new while its old sessions are taken over: the other nodes have prepared browsers for them.
const newNodePeriod = leaseDuration + declareLostAfter

// maxCachedOwners is the size of the cache of session owners.
const maxCachedOwners = 20_000

// readMembers reads the table nodes into membership.
func (n *Node) readMembers(ctx context.Context) error {
	if err := n.membership.reading.lock(ctx); err != nil {
		return err
	}
	defer n.membership.reading.unlock()
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout) // not before: who waited for the lock would have no time left
	defer cancel()
	rows, err := n.db.QueryContext(ctx, `SELECT id, number, name, address, capacity, sessions, extract(epoch FROM lease_until - clock_timestamp()), state = $1,
		extract(epoch FROM clock_timestamp() - began), `+policyDigestQuery+`,
		id = $3 AND EXISTS (SELECT FROM recordings WHERE node = $3 AND gone)
		FROM nodes WHERE state <> $2 AND lease_until > clock_timestamp() - interval '1 minute' ORDER BY number, began`, stateUp, stateGone, n.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	mayDeclareLost, own := n.lease.heldFor(n.now(), declareLostAfter), n.opts.Sessions()
	var members []Member
	var nextExpiry time.Time
	var policyDigest string
	for rows.Next() {
		var m Member
		var lease, age float64 // seconds
		var gone bool
		if err := rows.Scan(&m.ID, &m.Number, &m.Name, &m.Address, &m.Capacity, &m.Sessions, &lease, &m.Open, &age, &policyDigest, &gone); err != nil {
			return err
		}
		if over := time.Now().Add(time.Duration(lease * float64(time.Second))); lease > 0 && m.ID != n.id && (nextExpiry.IsZero() || over.Before(nextExpiry)) {
			nextExpiry = over
		}
		if gone {
			n.recordings.removalsDue.Store(true)
		}
		m.age = time.Duration(age * float64(time.Second))
		m.New = m.age < newNodePeriod
		m.Lost = lease < 0 && mayDeclareLost
		// After an outage of the database all nodes have missed heartbeats: count them only if this node's readings went on.
		left := time.Duration(lease * float64(time.Second))
		m.missedBeats = left < leaseDuration-2*heartbeatInterval && left > -heartbeatInterval && mayDeclareLost && time.Since(n.membership.readAt) < heartbeatInterval+databaseTimeout/3
		members = append(members, m)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	n.membership.mu.Lock()
	n.membership.members, n.membership.placements, n.membership.nextExpiry, n.membership.readAt, n.membership.policyDigest = members, map[string]int{}, nextExpiry, time.Now(), policyDigest
	expected := expectedTakeOvers(n, own)
	changed := expected != n.membership.expected
	n.membership.expected = expected
	n.membership.mu.Unlock()
	if changed && n.opts.ExpectTakeOvers != nil {
		n.log.Info("expecting to take over sessions of nodes that miss heartbeats", "sessions", expected)
		n.opts.ExpectTakeOvers(expected)
	}
	return nil
}

// sharedReading is how readings outside of heartbeats are made: those who want one at the same time share it, and they
// follow each other at sharedReadingInterval or more. So nobody can make the node ask the database without end.
type sharedReading struct {
	mu   sync.Mutex
	next *reading  // not begun yet; nil: nobody wants one
	due  time.Time // when the next one may begin
}

// reading is one reading of the table nodes.
type reading struct {
	done chan struct{}
	err  error // read it after done
}

const sharedReadingInterval = time.Second

// readMembersSoon returns the next reading that is shared. It does not wait for it.
func readMembersSoon(n *Node) *reading {
	s := &n.membership.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		return s.next
	}
	r := &reading{done: make(chan struct{})}
	if n.ctx.Err() != nil {
		r.err = net.ErrClosed
		close(r.done)
		return r
	}
	s.next = r
	wait := time.Until(s.due)
	n.running.Go(func() {
		defer close(r.done)
		select {
		case <-time.After(wait):
		case <-n.ctx.Done():
		}
		s.mu.Lock()
		s.next, s.due = nil, time.Now().Add(sharedReadingInterval)
		s.mu.Unlock()
		r.err = n.readMembers(n.ctx)
	})
	return r
}

// errNotAMember is the error of a command for a node that is not, or not any more, one of the fleet.
var errNotAMember = errors.New("the node has left the fleet")

// seek returns the node of that ID. If the last reading did not have it, it may have joined since: then seek waits for
// another reading.
func seek(ctx context.Context, n *Node, id string) (*Member, error) {
	if m := n.member(id); m != nil {
		return m, nil
	}
	if !isID(id) {
		return nil, errNotAMember
	}
	r := readMembersSoon(n)
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if r.err != nil {
		return nil, r.err
	}
	if m := n.member(id); m != nil {
		return m, nil
	}
	return nil, errNotAMember
}

// refresh reads the nodes, closes the connections to lost nodes and starts to connect to those without a
// connection. It also applies what operators have added to the policy since the last refresh.
func (n *Node) refresh(ctx context.Context) error {
	began := time.Now()
	if err := n.readMembers(ctx); err != nil {
		return err
	}
	members := n.Members()
	n.links.mu.Lock()
	var lost []*outbound
	for id, o := range n.links.open {
		// A connection that is newer than the reading may be to a node that joined after it.
		if o.connected.Before(began) && !slices.ContainsFunc(members, func(m Member) bool { return m.ID == id && !m.Lost }) {
			lost = append(lost, o)
		}
	}
	n.links.mu.Unlock()
	for _, o := range lost {
		o.close() // commands that wait for its answer fail with ErrLost
	}
	var others []string
	for _, m := range members {
		if m.ID != n.id && !m.Lost {
			others = append(others, m.ID)
		}
	}
	n.links.retryMissing(n, others)
	return applyPolicyAdditions(ctx, n)
}

// untilNextExpiry returns how long it is until the first lease of another node expires, going by the last
// reading. It returns at most most.
func (m *membership) untilNextExpiry(most time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	const after = 10 * time.Millisecond // so that it has expired by the database's clock too
	if m.nextExpiry.IsZero() {
		return most
	}
	return min(max(time.Until(m.nextExpiry), 0)+after, most)
}

// Members returns the nodes that the last heartbeat read, this one among them.
func (m *membership) Members() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.members)
}

// member returns the node of that ID; nil: the last heartbeat did not read it.
func (m *membership) member(id string) *Member {
	for _, one := range m.Members() {
		if one.ID == id {
			return &one
		}
	}
	return nil
}

// Place chooses the node for a session: the one with the lowest number that has room, so that the nodes with
// high numbers become empty. lost says that the session is that of a lost node. Then new nodes come last, the
// newest after the others. Error: session_limit.
func (n *Node) Place(lost bool) (Owner, error) {
	own := n.opts.Sessions()
	n.membership.mu.Lock()
	defer n.membership.mu.Unlock()
	for _, m := range candidates(n, own, lost) {
		if m.ID != n.id {
			n.membership.placements[m.ID]++
		}
		return Owner{Node: m.ID, Number: m.Number, Name: m.Name}, nil
	}
	return Owner{}, protocol.Errorf(protocol.SessionLimit, "each of the fleet's nodes holds as many sessions as session.max allows, or drains")
}

// candidates returns the nodes that have room for a session, in the order of preference. own is how many sessions
// this node has now. The caller holds mu.
func candidates(n *Node, own int, lost bool) []Member {
	var list []Member
	for _, m := range n.membership.members {
		if m.ID == n.id {
			m.Sessions = own
			m.New = m.New && !n.lease.heldFor(n.now(), newNodePeriod) // the others may count it as old already, and forward lost sessions to it
		}
		m.Sessions += n.membership.placements[m.ID]
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

// expectedTakeOvers returns how many sessions this node would take over if the nodes that miss heartbeats turned out
// to be lost. own is how many sessions this node has now. The caller holds mu.
func expectedTakeOvers(n *Node, own int) int {
	lost := 0
	for _, m := range n.membership.members {
		if m.missedBeats {
			lost += m.Sessions
		}
	}
	for _, m := range candidates(n, own, true) {
		room := m.Capacity - m.Sessions
		switch {
		case m.missedBeats:
		case m.ID == n.id:
			return min(lost, room)
		default:
			lost = max(0, lost-room)
		}
	}
	return 0
}

// MarkFull notes that a node refused a session: until the next heartbeat Place chooses another one.
func (m *membership) MarkFull(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.placements[node] = 1 << 20
}

// Locate is Owner with a cache. An answer stays in the cache until ForgetOwner; a lost owner is not cached.
func (n *Node) Locate(ctx context.Context, agent, name string) (*Owner, error) {
	k := key{agent, name}
	n.membership.mu.Lock()
	o, known := n.membership.owners[k]
	n.membership.mu.Unlock()
	if known {
		return &o, nil
	}
	owner, err := n.Owner(ctx, agent, name)
	if owner != nil && !owner.Lost {
		n.CacheOwner(agent, name, *owner)
	}
	return owner, err
}

// CacheOwner puts the owner of a session into the cache of Locate.
func (m *membership) CacheOwner(agent, name string, owner Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.owners) >= maxCachedOwners {
		clear(m.owners)
	}
	m.owners[key{agent, name}] = owner
}

// ForgetOwner removes a session from the cache of Locate.
func (m *membership) ForgetOwner(agent, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, key{agent, name})
}

// OwnAddresses returns the addresses at which the node is reached by other nodes, as far as they are not names.
func OwnAddresses(n *Node) (own []netip.AddrPort) {
	for _, at := range []string{n.listener.Addr().String(), n.address} {
		if addr, err := netip.ParseAddrPort(at); err == nil && !slices.Contains(own, addr) {
			own = append(own, addr)
		}
	}
	return own
}

// advertised returns the address at which other nodes reach this one. at is where it listens.
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
