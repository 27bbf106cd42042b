package fleet

// What the tests see that run commands at several nodes.
var (
	AboutTest = about
	NewFaulty = newFaulty
	Await     = await
	Quiet     = quiet
	AgentLock = agentLock
)

// Loses is what the network between a node and PostgreSQL loses from now on: Requests, or
// Nothing.
const (
	Requests = requests
	Updates  = updates
	Nothing  = nothing
)

func (f *faulty) Loses(what int32) {
	if f.lose.Store(what); what == nothing {
		f.cut()
	}
}

// Believes has a node believe that another one takes new sessions, as before its last beat.
func Believes(n *Node, other string) {
	n.roster.mu.Lock()
	defer n.roster.mu.Unlock()
	delete(n.roster.placed, other)
	for i := range n.roster.members {
		if m := &n.roster.members[i]; m.ID == other {
			m.Open = true
		}
	}
}
