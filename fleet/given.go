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

// When a node uses a secret for an agent (a secret.Given), all nodes must redact its value from whatever they send the
// agent. The node first writes the sealed values into the table given, then reads which nodes have a lease, and waits
// until each of them confirms that it hides the values. A node that begins a lease does it in the opposite order: it
// writes its row first, and then reads the table given. So of two nodes that do this at the same time, at least one
// sees the other.

// givenSecrets is what this node knows of the table given.
type givenSecrets struct {
	mu         sync.Mutex
	hidden     map[string]time.Duration // tags of values that all nodes hide, each with lease.heldSince of when they did
	unreadable map[string]*rowError     // agents for whom the node does not act, since a row of given cannot be read
}

// hideRequest asks another node to redact values from whatever it sends the agent.
type hideRequest struct {
	Agent string         `json:"agent"`
	Given []secret.Given `json:"given"`
}

const (
	// hideTimeout is how long HideOnAllNodes waits for the other nodes. The lease of a lost node expires within it.
	hideTimeout = leaseDuration + databaseTimeout
	// hideAttemptTimeout is how long a node may take to confirm, before its lease is read again.
	hideAttemptTimeout = time.Second
	// maxHidden is how many values are remembered as hidden by all nodes.
	maxHidden = 20_000
)

// HideOnAllNodes has every node that may act redact the values from whatever it sends the agent, and returns when each
// has confirmed it. Call it before a value is in any page. Values that all nodes hide already cost nothing. After an error
// the values must not be used. Errors: fleet_unavailable, ctx's cause.
func HideOnAllNodes(ctx context.Context, n *Node, agent string, given []secret.Given) error {
	since := n.lease.continuousSince()
	fresh, err := notYetHidden(n, agent, given, since)
	if err != nil || len(fresh) == 0 {
		return err
	}
	if err := n.CheckLease(); err != nil {
		return err
	}
	if err := n.checkDatabase(); err != nil {
		return err
	}
	for tag, g := range fresh {
		if err := storeGiven(ctx, n, agent, tag, g); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return n.unavailable(ctx, "keeping what an agent is given", err)
		}
	}
	if err := waitUntilHidden(ctx, n, hideRequest{agent, slices.Collect(maps.Values(fresh))}); err != nil {
		return err
	}
	n.given.mu.Lock()
	defer n.given.mu.Unlock()
	if n.given.hidden == nil || len(n.given.hidden) > maxHidden {
		n.given.hidden = map[string]time.Duration{}
	}
	for tag := range fresh {
		n.given.hidden[tag] = since
	}
	return nil
}

// notYetHidden returns, by tag, the values that this node has not had hidden since its lease began (since). After a gap in
// the lease the other nodes may have deleted them.
func notYetHidden(n *Node, agent string, given []secret.Given, since time.Duration) (map[string]secret.Given, error) {
	fresh := map[string]secret.Given{}
	n.given.mu.Lock()
	defer n.given.mu.Unlock()
	for _, g := range given {
		content, err := json.Marshal(g)
		if err != nil {
			return nil, err
		}
		tag := n.keys.tag(agent, content)
		if at, known := n.given.hidden[tag]; !known || at != since {
			fresh[tag] = g
		}
	}
	return fresh, nil
}

// storeGiven writes a value into the database, for nodes whose lease begins later.
func storeGiven(ctx context.Context, n *Node, agent, tag string, g secret.Given) error {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	content, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = n.db.ExecContext(ctx, `INSERT INTO given (agent, tag, code, value, at) VALUES ($1, $2, $3, $4, clock_timestamp())
		ON CONFLICT (agent, tag) DO UPDATE SET at = excluded.at`, agent, []byte(tag), g.Kind == secret.TOTP, n.keys.sealGiven(agent, content))
	return err
}

// deleteExpiredGiven is an SQL statement without its end; $1 is stateGone. It deletes one-time codes that have expired, and values
// that are older than every node that has not ended, if their agent has no session. Newer values stay: the agent's next
// session may be at any node.
const deleteExpiredGiven = `DELETE FROM given WHERE code AND at < clock_timestamp() - interval '1 hour'
	OR at < (SELECT min(began) FROM nodes WHERE state <> $1) AND NOT EXISTS (SELECT FROM sessions WHERE sessions.agent = given.agent)`

// waitUntilHidden asks the other nodes to hide the values, until each has confirmed it or has lost its lease.
func waitUntilHidden(ctx context.Context, n *Node, h hideRequest) error {
	waiting, cancel := context.WithTimeout(ctx, hideTimeout)
	defer cancel()
	var left []Member
	for first := true; ; first = false {
		acting, err := otherLeaseholders(waiting, n)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && waiting.Err() == nil:
			return n.unavailable(ctx, "looking for the nodes that are to hide a secret", err)
		case err == nil && first:
			left = acting
		case err == nil: // a node whose lease has begun since reads the values from the database
			left = slices.DeleteFunc(left, func(m Member) bool {
				return !slices.ContainsFunc(acting, func(a Member) bool { return a.ID == m.ID })
			})
		}
		if left = requestHide(waiting, n, left, h); len(left) == 0 && err == nil {
			return nil
		}
		select {
		case <-time.After(retryInterval):
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

// otherLeaseholders returns the other nodes that have a lease by the database's clock.
func otherLeaseholders(ctx context.Context, n *Node) (others []Member, err error) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
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

// requestHide asks the nodes in parallel, and returns those that have not confirmed.
func requestHide(ctx context.Context, n *Node, nodes []Member, h hideRequest) (left []Member) {
	ctx, cancel := context.WithTimeout(ctx, hideAttemptTimeout)
	defer cancel()
	unanswered := make([]bool, len(nodes))
	var all sync.WaitGroup
	for i, m := range nodes {
		all.Go(func() {
			pending, err := sendFrame(ctx, n, m.ID, &frame{Hide: &h})
			if err == nil {
				_, err = pending.Wait(ctx)
				pending.abandon() // no answer within the time: the node is asked again
			}
			if err != nil {
				n.log.DebugContext(ctx, "a node has not confirmed that it hides a secret", "node", m.Number, "error", err)
			}
			unanswered[i] = err != nil
		})
	}
	all.Wait()
	for i, m := range nodes {
		if unanswered[i] {
			left = append(left, m)
		}
	}
	return left
}

// rowError says which row of the table given cannot be read. A node that cannot read it does not know what to hide from
// its agent.
type rowError struct {
	agent string
	tag   []byte
}

func (e *rowError) Error() string {
	where := fmt.Sprintf(`agent = '%s' AND tag = '\x%x'`, strings.ReplaceAll(e.agent, "'", "''"), e.tag)
	return fmt.Sprintf("a row of the table given, of the agent %q, cannot be read: it was sealed with another state.key, or changed: "+
		"change the secret if a page shows it, since it is hidden no more, and delete the row with DELETE FROM given WHERE %s", e.agent, where)
}

// loadGivenTimeout is how long loadGiven may take. The heartbeat before it has written a lease, of which some is left then.
const loadGivenTimeout = leaseDuration - databaseTimeout

// loadGiven reads the table given and hides its values at this node, for the agents, or for all if there are none. A node
// whose lease begins must do that before it acts: other nodes did not wait for it while it had no lease. If a row cannot
// be read, the node does not act for its agent (CheckAgent).
func loadGiven(ctx context.Context, n *Node, agents ...string) error {
	if !n.serving.Load() {
		return nil // Serve calls it again
	}
	ctx, cancel := context.WithTimeout(ctx, loadGivenTimeout)
	defer cancel()
	rows, err := n.db.QueryContext(ctx, "SELECT agent, tag, value FROM given WHERE $1::text[] IS NULL OR agent = ANY($1) ORDER BY at", agents)
	if err != nil {
		return err
	}
	defer rows.Close()
	unseal := n.keys.unsealGiven()
	given, unreadable := map[string][]secret.Given{}, map[string]*rowError{}
	for rows.Next() {
		var agent string
		var tag, sealed []byte
		if err := rows.Scan(&agent, &tag, &sealed); err != nil {
			return err
		}
		var g secret.Given
		content, err := unseal(agent, sealed)
		if err != nil || json.Unmarshal(content, &g) != nil {
			if unreadable[agent] == nil {
				unreadable[agent] = &rowError{agent, tag}
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
	n.given.mu.Lock()
	before := maps.Clone(n.given.unreadable)
	if n.given.unreadable == nil || len(agents) == 0 {
		n.given.unreadable = map[string]*rowError{}
	}
	for _, agent := range agents {
		delete(n.given.unreadable, agent)
	}
	maps.Copy(n.given.unreadable, unreadable)
	n.given.mu.Unlock()
	for agent, row := range unreadable {
		if old := before[agent]; old == nil || !bytes.Equal(old.tag, row.tag) {
			n.log.ErrorContext(ctx, "this node does not act for an agent, and shows it nothing", "agent", agent, "error", row)
		}
	}
	for agent := range before {
		if (len(agents) == 0 || slices.Contains(agents, agent)) && unreadable[agent] == nil {
			n.log.InfoContext(ctx, "this node acts for an agent again", "agent", agent)
		}
	}
	return nil
}

// CheckAgent returns nil while the node may act for an agent, else fleet_unavailable: its lease has expired, or it cannot
// read all that it has to hide from the agent. It does not ask the database.
func (n *Node) CheckAgent(agent string) error {
	if err := n.CheckLease(); err != nil {
		return err
	}
	n.given.mu.Lock()
	defer n.given.mu.Unlock()
	if n.given.unreadable[agent] == nil {
		return nil
	}
	return protocol.Errorf(protocol.FleetUnavailable, "node %d cannot read all that this agent was given of its secrets, so it does and shows nothing for the agent", n.number).
		With("node", n.number).With("reason", ReasonUnreadable).Then("the person who runs browserd finds the row of the table given, and what to do about it, in that node's log")
}

// ReasonUnreadable is details.reason of CheckAgent's error if a row of the table given cannot be read. Waiting does not
// help: somebody has to delete the row.
const ReasonUnreadable = "given_unreadable"

// unreadableAgents returns the agents for whom the node does not act.
func unreadableAgents(n *Node) []string {
	n.given.mu.Lock()
	defer n.given.mu.Unlock()
	return slices.Collect(maps.Keys(n.given.unreadable))
}
