package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/secret"
)

// What an agent was given of its secrets is hidden from it at all nodes. The node that gives it writes the values
// into the database, sealed, then asks there which nodes have a lease, and waits until each of them hides the
// values. A node begins its lease the other way round: it writes its row first, and reads the values then. So of
// two that do this at once, at least one sees the other.

// hidden are values that a node is to remove from whatever it sends the agent.
type hidden struct {
	Agent string         `json:"agent"`
	Given []secret.Given `json:"given"`
}

const (
	// giveFor is how long Give waits for the other nodes: the lease of one that is lost is over by then.
	giveFor = leaseFor + patience
	// hideFor is how long one node may take to say that it hides the values, before its lease is looked at again.
	hideFor = time.Second
	// maxTold is how many values are remembered that this node has given.
	maxTold = 20_000
)

// Give has every node that may act hide the values from the agent, and returns when each says that it does. Call it
// before the values are in any page. What this node has given the agent before, it does not say again. Errors:
// fleet_unavailable, and the values must not be given; ctx's cause.
func Give(ctx context.Context, n *Node, agent string, given []secret.Given) error {
	since := n.lease.begun()
	fresh, err := untold(n, agent, given, since)
	if err != nil || len(fresh) == 0 {
		return err
	}
	if err := n.CheckLease(); err != nil {
		return err
	}
	if err := n.answers(); err != nil {
		return err
	}
	for tag, g := range fresh {
		if err := keepGiven(ctx, n, agent, tag, g); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return n.unavailable(ctx, "keeping what an agent is given", err)
		}
	}
	if err := hideEverywhere(ctx, n, hidden{agent, slices.Collect(maps.Values(fresh))}); err != nil {
		return err
	}
	n.record.mu.Lock()
	defer n.record.mu.Unlock()
	if len(n.told) > maxTold {
		clear(n.told)
	}
	for tag := range fresh {
		n.told[tag] = since
	}
	return nil
}

// untold returns the values, by their tags, that this node has not told the others since its leases began. After a
// lease that was over others may have forgotten them.
func untold(n *Node, agent string, given []secret.Given, since time.Duration) (map[string]secret.Given, error) {
	fresh := map[string]secret.Given{}
	n.record.mu.Lock()
	defer n.record.mu.Unlock()
	for _, g := range given {
		content, err := json.Marshal(g)
		if err != nil {
			return nil, err
		}
		tag := n.keys.tag(agent, content)
		if at, told := n.told[tag]; !told || at != since {
			fresh[tag] = g
		}
	}
	return fresh, nil
}

// keepGiven writes a value into the database, for nodes that begin to act later.
func keepGiven(ctx context.Context, n *Node, agent, tag string, g secret.Given) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	content, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = n.db.ExecContext(ctx, `INSERT INTO given (agent, tag, code, value, at) VALUES ($1, $2, $3, $4, clock_timestamp())
		ON CONFLICT (agent, tag) DO UPDATE SET at = excluded.at`, agent, []byte(tag), g.Kind == secret.TOTP, n.keys.sealGiven(agent, content))
	return err
}

// forgetGiven is a part of a statement. It forgets values that no living node has given and no session can show,
// and one-time codes that are of no use any more. One that was given since any node began stays: an agent's next
// session may be at any node. stateGone is its $1.
const forgetGiven = `DELETE FROM given WHERE code AND at < clock_timestamp() - interval '1 hour'
	OR at < (SELECT min(began) FROM nodes WHERE state <> $1) AND NOT EXISTS (SELECT FROM sessions WHERE sessions.agent = given.agent)`

// hideEverywhere waits until each other node hides the values, or has no lease.
func hideEverywhere(ctx context.Context, n *Node, h hidden) error {
	waiting, cancel := context.WithTimeout(ctx, giveFor)
	defer cancel()
	var left []Member
	for first := true; ; first = false {
		acting, err := othersActing(waiting, n)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && waiting.Err() == nil:
			return n.unavailable(ctx, "looking for the nodes that are to hide a secret", err)
		case err == nil && first:
			left = acting
		case err == nil: // what has come since reads the database
			left = slices.DeleteFunc(left, func(m Member) bool {
				return !slices.ContainsFunc(acting, func(a Member) bool { return a.ID == m.ID })
			})
		}
		if left = askToHide(waiting, n, left, h); len(left) == 0 && err == nil {
			return nil
		}
		select {
		case <-time.After(retryEvery):
			continue
		case <-waiting.Done():
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(left) == 0 {
			return n.unavailable(ctx, "looking for the nodes that are to hide a secret", waiting.Err())
		}
		return protocol.Errorf(protocol.FleetUnavailable, "node %d has not said that it hides the secret, which is therefore not given", left[0].Number).With("node", left[0].Number)
	}
}

// othersActing returns the other nodes that may act, by the database's clock.
func othersActing(ctx context.Context, n *Node) (others []Member, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows, err := n.db.QueryContext(ctx, "SELECT id, number FROM nodes WHERE id <> $1 AND state <> $2 AND lease_until > clock_timestamp() ORDER BY number", n.id, stateGone)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m Member
		if err := rows.Scan(&m.ID, &m.Number); err != nil {
			return nil, err
		}
		others = append(others, m)
	}
	return others, rows.Err()
}

// askToHide asks the nodes, all at once, and returns those that have not answered.
func askToHide(ctx context.Context, n *Node, nodes []Member, h hidden) (left []Member) {
	ctx, cancel := context.WithTimeout(ctx, hideFor)
	defer cancel()
	silent := make([]bool, len(nodes))
	var all sync.WaitGroup
	for i, m := range nodes {
		all.Go(func() {
			pending, err := sendFrame(ctx, n, m.ID, &frame{Hide: &h})
			if err == nil {
				_, err = pending.Wait(ctx)
				pending.forget() // it is asked again
			}
			if err != nil {
				n.log.DebugContext(ctx, "a node has not said that it hides a secret", "node", m.Number, "error", err)
			}
			silent[i] = err != nil
		})
	}
	all.Wait()
	for i, m := range nodes {
		if silent[i] {
			left = append(left, m)
		}
	}
	return left
}

// rowError is that of a row of what an agent was given. A node that cannot read it does not know what to hide from the agent.
type rowError struct {
	agent string
	tag   []byte
}

func (e *rowError) Error() string {
	where := fmt.Sprintf(`agent = '%s' AND tag = '\x%x'`, strings.ReplaceAll(e.agent, "'", "''"), e.tag)
	return fmt.Sprintf("a row of the table given, of the agent %q, cannot be read: it was sealed with another state.key, or changed: "+
		"change the secret if a page shows it, since it is hidden no more, and delete the row with DELETE FROM given WHERE %s", e.agent, where)
}

// learnFor is how long the reading may take: some of the lease that began before it is left then.
const learnFor = leaseFor - patience

// learnGiven has this node hide all that agents were given at any node; with agents, that these were. Only then may it
// act: the others do not wait for a node whose lease is over. For agents of whom it cannot read all it does not act (CheckAgent).
func learnGiven(ctx context.Context, n *Node, agents ...string) error {
	if !n.serving.Load() {
		return nil // Serve does it
	}
	ctx, cancel := context.WithTimeout(ctx, learnFor)
	defer cancel()
	rows, err := n.db.QueryContext(ctx, "SELECT agent, tag, value FROM given WHERE $1::text[] IS NULL OR agent = ANY($1) ORDER BY at", agents)
	if err != nil {
		return err
	}
	defer rows.Close()
	unseal := n.keys.unsealGiven()
	given, unread := map[string][]secret.Given{}, map[string]*rowError{}
	for rows.Next() {
		var agent string
		var tag, sealed []byte
		if err := rows.Scan(&agent, &tag, &sealed); err != nil {
			return err
		}
		var g secret.Given
		content, err := unseal(agent, sealed)
		if err != nil || json.Unmarshal(content, &g) != nil {
			if unread[agent] == nil {
				unread[agent] = &rowError{agent, tag}
			}
			continue
		}
		given[agent] = append(given[agent], g)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for agent, all := range given {
		n.handler.Hide(agent, all)
	}
	n.record.mu.Lock()
	was := maps.Clone(n.unread)
	if n.unread == nil || len(agents) == 0 {
		n.unread = map[string]*rowError{}
	}
	for _, agent := range agents {
		delete(n.unread, agent)
	}
	maps.Copy(n.unread, unread)
	n.record.mu.Unlock()
	for agent, row := range unread {
		if before := was[agent]; before == nil || !bytes.Equal(before.tag, row.tag) {
			n.log.ErrorContext(ctx, "this node does and shows nothing for an agent", "agent", agent, "error", row)
		}
	}
	for agent := range was {
		if (len(agents) == 0 || slices.Contains(agents, agent)) && unread[agent] == nil {
			n.log.InfoContext(ctx, "this node acts for an agent again", "agent", agent)
		}
	}
	return nil
}

// CheckAgent returns nil while the node may act for an agent, else fleet_unavailable: its lease is over, or it does not
// know all that it has to hide from the agent. It asks nobody.
func (n *Node) CheckAgent(agent string) error {
	if err := n.CheckLease(); err != nil {
		return err
	}
	n.record.mu.Lock()
	defer n.record.mu.Unlock()
	if n.unread[agent] == nil {
		return nil
	}
	return protocol.Errorf(protocol.FleetUnavailable, "node %d cannot read all that this agent was given of its secrets, so it does and shows nothing for the agent", n.number).
		With("node", n.number).With("reason", ReasonUnreadable).Then("the person who runs browserd finds the row of the table given, and what to do about it, in that node's log")
}

// ReasonUnreadable is details.reason of the error of a node that may not act for an agent, however long one waits.
const ReasonUnreadable = "given_unreadable"

// unreadAgents are the agents for whom the node does not act.
func unreadAgents(n *Node) []string {
	n.record.mu.Lock()
	defer n.record.mu.Unlock()
	return slices.Collect(maps.Keys(n.unread))
}
