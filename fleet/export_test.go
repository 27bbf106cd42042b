package fleet

// For the tests in package fleet_test, which run commands at several nodes.
var (
	TestOptions    = testOptions
	NewFaultyProxy = newFaultyProxy
	Await          = await
	Quiet          = quiet
	AgentLock      = agentLock
)

// What Drop accepts.
const (
	DropRequests      = dropRequests
	DropUpdateReplies = dropUpdateReplies
	DropNothing       = dropNothing
)

// Drop sets what the proxy drops from now on.
func (f *faultyProxy) Drop(what int32) {
	if f.drops.Store(what); what == dropNothing {
		f.cut()
	}
}

// PretendOpen has a node believe that another one accepts new sessions, as it did before its last heartbeat.
func PretendOpen(n *Node, other string) {
	n.membership.mu.Lock()
	defer n.membership.mu.Unlock()
	delete(n.membership.placements, other)
	for i := range n.membership.members {
		if m := &n.membership.members[i]; m.ID == other {
			m.Open = true
		}
	}
}
