package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/live"
)

// overviewPath is where nodes ask each other for what their live views show: the node's sessions and
// questions, as a live.NodeOverview. No client reaches it.
const overviewPath = "/fleet/look"

const (
	overviewTimeout   = time.Second            // for another node's answer
	overviewMaxAge    = time.Second            // an older overview is fetched again
	firstOverviewWait = 500 * time.Millisecond // how long a new view waits for the nodes that it has no overview of
	maxOverview       = 8 << 20                // bytes of an answer
)

// viewerScope says which sessions and questions a viewer may see. It is sent to the other nodes.
type viewerScope struct {
	Agent     string `json:"agent,omitempty"`
	Everybody bool   `json:"everybody,omitempty"`
	Answers   bool   `json:"answers,omitempty"`
}

// overviewCache holds the last overview of each other node, by what the viewer may see. Any goroutine
// may call its methods.
type overviewCache struct {
	mu      sync.Mutex
	byScope map[viewerScope]map[string]*cachedOverview // by node
}

// cachedOverview is the last overview of one node.
type cachedOverview struct {
	at       time.Time
	overview live.NodeOverview
	fetching chan struct{} // closed when the node has answered or its time is up; nil: it is not being asked
}

// maxScopes is how many scopes the cache holds before it is emptied.
const maxScopes = 100

// overviews returns the overviews of the other nodes. Old ones are fetched again in the background, each by a
// goroutine of its own. The call waits only for nodes without an overview, at most firstOverviewWait. A node that does
// not answer is Silent, and keeps the sessions of its last overview.
func (o *overviewCache) overviews(s *Server, who viewerScope) []live.NodeOverview {
	members := otherNodes(s)
	var first []chan struct{}
	o.mu.Lock()
	overviews := map[string]*cachedOverview{}
	for _, m := range members {
		l := o.byScope[who][m.ID]
		if l == nil {
			l = &cachedOverview{}
		}
		overviews[m.ID] = l
		if l.fetching == nil && time.Since(l.at) > overviewMaxAge && s.begin() {
			l.fetching = make(chan struct{})
			go func() {
				defer s.open.Done()
				ctx, cancel := context.WithTimeout(s.dispatch.life, overviewTimeout)
				defer cancel()
				seen := fetchOverview(ctx, s, m, who)
				o.mu.Lock()
				defer o.mu.Unlock()
				if seen.Silent {
					seen.Sessions = l.overview.Sessions
				}
				close(l.fetching)
				l.at, l.overview, l.fetching = time.Now(), seen, nil
			}()
		}
		if l.at.IsZero() && l.fetching != nil {
			first = append(first, l.fetching)
		}
	}
	if len(o.byScope) >= maxScopes || o.byScope == nil {
		o.byScope = map[viewerScope]map[string]*cachedOverview{}
	}
	o.byScope[who] = overviews
	o.mu.Unlock()
	if len(first) > 0 {
		late := time.NewTimer(firstOverviewWait)
		defer late.Stop()
		for _, fetching := range first {
			select {
			case <-fetching:
				continue
			case <-late.C:
			}
			break
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	list := []live.NodeOverview{}
	for _, m := range members {
		if l := overviews[m.ID]; !l.at.IsZero() {
			list = append(list, l.overview)
		}
	}
	return list
}

// begin counts work for which Shutdown waits. Once Shutdown has begun it counts nothing and returns false.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.open.Add(1)
	}
	return !s.closed
}

// otherNodes returns the other nodes of the fleet that have their leases.
func otherNodes(s *Server) []fleet.Member {
	if s.peers.node == nil {
		return nil
	}
	return slices.DeleteFunc(s.peers.node.Members(), func(m fleet.Member) bool { return m.ID == s.peers.node.ID() || m.Lost })
}

// fetchOverviews asks all other nodes at the same time.
func fetchOverviews(s *Server, who viewerScope) []live.NodeOverview {
	ctx, cancel := context.WithTimeout(s.dispatch.life, overviewTimeout)
	defer cancel()
	members := otherNodes(s)
	list := make([]live.NodeOverview, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { list[i] = fetchOverview(ctx, s, m, who) })
	}
	all.Wait()
	return list
}

// fetchOverview asks one node.
func fetchOverview(ctx context.Context, s *Server, m fleet.Member, who viewerScope) live.NodeOverview {
	var seen live.NodeOverview
	if err := s.peers.tunnel.fetchJSON(ctx, m.ID, overviewPath, who, &seen); err != nil {
		s.log.Debug("a node did not send its overview", "node", m.Number, "error", err)
		return live.NodeOverview{Node: m.Name, ID: m.ID, Silent: true}
	}
	seen.Node, seen.ID = m.Name, m.ID
	return seen
}

// serveOverview answers another node with the sessions and questions here that a viewer may see.
func serveOverview(s *Server, w http.ResponseWriter, r *http.Request) {
	var who viewerScope
	if json.NewDecoder(io.LimitReader(r.Body, maxForm)).Decode(&who) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e := live.NodeOverview{Sessions: s.runtime.Sessions.Overviews(who.Agent, who.Everybody), Open: s.runtime.Sessions.Count(), Max: s.runtime.Sessions.Max(), Questions: []policy.Question{}}
	for i, o := range e.Sessions {
		if o.Handoff.Driver != "" {
			e.Sessions[i].Tabs = nil // nobody watches a person
		}
	}
	if confirmations := s.runtime.Rules.Confirmations; who.Answers && confirmations != nil {
		e.Questions = confirmations.Pending()
	}
	text, err := json.Marshal(e)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if who.Everybody {
		text = s.runtime.Secrets.RedactAll(text)
	} else {
		text = s.runtime.Secrets.Redact(who.Agent, text)
	}
	w.Write(text)
}

// fetchJSON posts a JSON value to a path at another node and decodes the answer.
func (t *tunnel) fetchJSON(ctx context.Context, node, path string, what, into any) error {
	answer, err := t.post(ctx, node, path, forwardedRequest{}, what)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(io.LimitReader(answer.Body, maxOverview)).Decode(into)
}

// post posts a JSON value to a path at another node; of says for which client. It returns an answer of
// status 200, whose body the caller closes.
func (t *tunnel) post(ctx context.Context, node, path string, of forwardedRequest, what any) (*http.Response, error) {
	body, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+node+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	who, _ := json.Marshal(of) // strings and numbers only
	r.Header.Set(forwardedHeader, string(who))
	answer, err := t.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, protocol.Errorf(protocol.Internal, "the node answers %s", strconv.Itoa(answer.StatusCode))
	}
	return answer, nil
}

// isOtherNode reports whether node is the ID of another node of the fleet that has its lease.
func (t *tunnel) isOtherNode(node string) bool {
	return node != t.node.ID() && slices.ContainsFunc(t.node.Members(), func(m fleet.Member) bool { return m.ID == node && !m.Lost })
}

// confirmAtOtherNode answers a question that waits at another node.
func confirmAtOtherNode(ctx context.Context, s *Server, v *live.View, id string, a policy.Answer) error {
	params, err := json.Marshal(actions.ConfirmParams{ID: id, Allow: a.Allow, Remember: a.Remember})
	if err != nil {
		return err
	}
	caller := &command.Caller{Agent: v.Agent, Role: RoleOperator, Token: v.Token, TokenID: v.TokenID, Stateless: true}
	t, failed := s.dispatch.prepare(caller, "", actions.Confirm.Name, params)
	if failed != nil {
		return failed
	}
	var answered *protocol.Error
	t.run(ctx, func(_ json.RawMessage, err *protocol.Error) { answered = err })
	if answered != nil {
		return answered
	}
	return nil
}
