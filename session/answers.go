package session

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Answers are operators' answers to confirmations that hold for the life of a session. They move with it to
// another daemon.
type Answers struct {
	Commands []CommandAnswer  `json:"commands,omitempty"`
	Added    []policy.Setting `json:"added,omitempty"` // to the policy
}

// CommandAnswer is the answer for a command at a place (policy.Question.Place).
type CommandAnswer struct {
	Command string `json:"command"`
	Place   []byte `json:"place"` // need not be UTF-8
	Allow   bool   `json:"allow"`
}

// answers are the Answers of a session, with what saving them needs.
type answers struct {
	saving  sync.Mutex // held while answers are saved: each time all of them are
	version int64      // how often they were saved; guarded by saving
	all     Answers    // guarded by Session.mu; replaced, never changed
}

// Answered returns the answer that an operator gave for a command at a place, for the life of the session.
// known is false if there is none. Any goroutine may call it.
func (s *Session) Answered(command, place string) (allow, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.answers.all.Commands, isAnswer(command, place))
	if i < 0 {
		return false, false
	}
	return s.answers.all.Commands[i].Allow, true
}

func isAnswer(command, place string) func(CommandAnswer) bool {
	return func(a CommandAnswer) bool { return a.Command == command && string(a.Place) == place }
}

// SaveAnswer saves an operator's answer for a command at a place, for the life of the session, whichever daemon
// owns it. It replaces an earlier answer. It may wait for the fleet's database. Any goroutine may call it.
// Errors: fleet_unavailable, after which the database may have the answer nevertheless; session_not_found.
func SaveAnswer(ctx context.Context, s *Session, command, place string, allow bool) error {
	return saveAnswers(ctx, s, func(all *Answers) {
		all.Commands = append(slices.DeleteFunc(all.Commands, isAnswer(command, place)), CommandAnswer{command, []byte(place), allow})
	})
}

// SavePolicyAddition is SaveAnswer for what an operator adds to the policy. Once it is saved, it holds for the
// session's pages and for the web tools that are called in it.
func SavePolicyAddition(ctx context.Context, s *Session, added policy.Setting) error {
	err := saveAnswers(ctx, s, func(all *Answers) {
		is := func(a policy.Setting) bool { return a.Key == added.Key && slices.Equal(a.Add, added.Add) }
		if !slices.ContainsFunc(all.Added, is) {
			all.Added = append(all.Added, added)
		}
	})
	if err != nil {
		return err
	}
	_, err = s.options.Additions.AddUntil(added)
	return err
}

// AdditionsOf returns what operators have added to the policy for an agent, in all of its sessions and where it
// uses none. It stays in this daemon.
func AdditionsOf(m *Manager, agent string) *policy.Additions {
	m.mu.Lock()
	defer m.mu.Unlock()
	return additionsOf(m, agent)
}

// additionsOf is AdditionsOf for a caller that holds m.mu.
func additionsOf(m *Manager, agent string) *policy.Additions {
	a := m.added[agent]
	if a == nil {
		a = policy.NewAdditions(nil)
		m.added[agent] = a // agents are those of the configuration, so their number is limited
	}
	return a
}

// GateOptions returns in what the session's egress differs from the policy, without its proxy: what decides
// which addresses it may reach.
func GateOptions(s *Session) policy.GateOptions {
	return policy.GateOptions{AllowedDomains: s.options.AllowedDomains, Additions: s.options.Additions}
}

// CheckHere returns an error if another daemon owns the session, or may own it: what is added to the policy for
// the session here would not help it then. Any goroutine may call it. Errors: session_not_found,
// fleet_unavailable.
func CheckHere(s *Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return checkHere(s)
}

// checkHere is CheckHere for a caller that holds s.mu.
func checkHere(s *Session) error {
	switch {
	case s.moved && s.closed:
		return protocol.Errorf(protocol.SessionNotFound, "the session has gone to another node since: only an answer for good counts there").Then("answer for good, or no; you are asked again where the session is, when it tries again")
	case s.moved:
		return protocol.Errorf(protocol.FleetUnavailable, "the session is on its way to another node")
	}
	return nil
}

// saveAnswers applies change to a copy of the session's answers and saves it: in a fleet, in the database
// first.
func saveAnswers(ctx context.Context, s *Session, change func(*Answers)) error {
	k := &s.answers
	k.saving.Lock()
	defer k.saving.Unlock()
	s.mu.Lock()
	elsewhere, closed, epoch := checkHere(s), s.closed, s.epoch
	next := Answers{slices.Clone(k.all.Commands), slices.Clone(k.all.Added)}
	s.mu.Unlock()
	switch {
	case elsewhere != nil:
		return elsewhere
	case closed:
		return protocol.Errorf(protocol.SessionNotFound, "the session has ended: nothing can be answered for its life").Then("answer for this once, or for good")
	}
	change(&next)
	if f := s.manager.Fleet; f != nil {
		content, err := json.Marshal(next)
		if err != nil {
			return err
		}
		k.version++
		if err := f.KeepAnswers(ctx, s.agent, s.name, epoch, k.version, content); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.all = next
	return nil
}

// restoreAnswers restores the operators' answers of a session that was taken over and that nobody uses yet.
// content is what Fleet.KeepAnswers was given last.
func restoreAnswers(s *Session, content []byte) {
	if len(content) == 0 {
		return
	}
	var all Answers
	if err := json.Unmarshal(content, &all); err != nil {
		s.manager.log.Warn("what operators have answered for a session cannot be read: they are asked again", "session", s.name, "agent", s.agent, "error", err)
		return
	}
	s.answers.all = all
	for _, added := range all.Added {
		if _, err := s.options.Additions.AddUntil(added); err != nil {
			s.manager.log.Warn("what operators have added to the policy for a session does not hold here", "session", s.name, "agent", s.agent, "error", err)
		}
	}
}
