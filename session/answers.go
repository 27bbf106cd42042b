package session

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Answers are what operators have answered for the life of a session. They go with it to another daemon.
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

// answers are a session's.
type answers struct {
	keeping sync.Mutex // held while one is kept: each time all of them are
	number  int64      // how often they were kept; only with keeping held
	all     Answers    // guarded by Session.mu; replaced, never changed
}

// Answered returns what an operator has answered for a command at a place, for the life of the session. known is false
// if nobody has. Any goroutine may call it.
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

// KeepAnswer keeps an operator's answer for a command at a place, instead of an earlier one, for the life of the session,
// whichever daemon has it. It may wait for the fleet's database. Any goroutine may call it. Errors: fleet_unavailable, and
// it may have been kept for the next daemon; session_not_found.
func KeepAnswer(ctx context.Context, s *Session, command, place string, allow bool) error {
	return keepAnswers(ctx, s, func(all *Answers) {
		all.Commands = append(slices.DeleteFunc(all.Commands, isAnswer(command, place)), CommandAnswer{command, []byte(place), allow})
	})
}

// KeepAddition is KeepAnswer for an addition to the policy. When it is kept, add makes it, and shut ends it, with the session.
func KeepAddition(ctx context.Context, s *Session, added policy.Setting, add func(policy.Setting) (shut func(), err error)) error {
	err := keepAnswers(ctx, s, func(all *Answers) {
		is := func(a policy.Setting) bool { return a.Key == added.Key && slices.Equal(a.Add, added.Add) }
		if !slices.ContainsFunc(all.Added, is) {
			all.Added = append(all.Added, added)
		}
	})
	if err != nil {
		return err
	}
	shut, err := add(added)
	if err != nil {
		return err
	}
	endsWithSession(s, shut)
	return nil
}

// CheckHere returns nil unless another daemon has the session, or may have it: what is opened here is of no use to it then.
// Any goroutine may call it. Errors: session_not_found, fleet_unavailable.
func CheckHere(s *Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return checkHere(s)
}

// checkHere is CheckHere. The caller holds s.mu.
func checkHere(s *Session) error {
	switch {
	case s.moved && s.closed:
		return protocol.Errorf(protocol.SessionNotFound, "the session has gone to another node since: only an answer for good counts there").Then("answer for good, or no; you are asked again where the session is, when it tries again")
	case s.moved:
		return protocol.Errorf(protocol.FleetUnavailable, "the session is on its way to another node")
	}
	return nil
}

// keepAnswers keeps what change makes of a session's answers.
func keepAnswers(ctx context.Context, s *Session, change func(*Answers)) error {
	k := &s.answers
	k.keeping.Lock()
	defer k.keeping.Unlock()
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
		k.number++
		if err := f.KeepAnswers(ctx, s.agent, s.name, epoch, k.number, content); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.all = next
	return nil
}

// continueAnswers has a session that this daemon continues, and nobody uses yet, go on with what operators have answered
// for it: content is what Fleet.KeepAnswers was given last.
func continueAnswers(m *Manager, s *Session, content []byte) {
	if len(content) == 0 {
		return
	}
	var all Answers
	if err := json.Unmarshal(content, &all); err != nil {
		m.log.Warn("what operators have answered for a session cannot be read: they are asked again", "session", s.name, "agent", s.agent, "error", err)
		return
	}
	s.answers.all = all
	for _, added := range all.Added {
		if m.AddToPolicy == nil {
			break
		}
		shut, err := m.AddToPolicy(added)
		if err != nil {
			m.log.Warn("what operators have added to the policy for a session does not hold here", "session", s.name, "agent", s.agent, "error", err)
			continue
		}
		endsWithSession(s, shut)
	}
}

// endsWithSession calls f in its own goroutine when the session ends, or at once if it has ended.
func endsWithSession(s *Session, f func()) { context.AfterFunc(s.life, f) }
