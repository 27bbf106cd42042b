package command_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// pictured is a page that shows hunter2.
type pictured struct {
	placed
	session.Renderer
	read bool
}

func (*pictured) DrawnText(context.Context, string) (string, error) {
	return "the page says hunter2", nil
}

func (p *pictured) Capture(context.Context, snapshot.Options, *snapshot.Refs) (snapshot.Capture, error) {
	p.read = true
	return snapshot.Capture{}, nil
}

func (p *pictured) NewPage(context.Context, session.Options, func(string, map[string]any)) (session.Page, error) {
	return p, nil
}

// Another daemon gave the agent what the page shows while this one had no lease. It has it again, and knows that, in the
// moment in which it asks for its lease: the picture shows a secret, whether or not it gave the agent another one.
func TestAPictureTakenWithoutALease(t *testing.T) {
	for what, before := range map[string][]secret.Given{
		"nothing was given here": nil, "another secret was": {{Kind: secret.Text, Value: "correct horse"}},
	} {
		log, page, fleet := slog.New(slog.DiscardHandler), &pictured{}, &lease{}
		m := session.NewManager(session.Config{IdleTimeout: time.Hour, Max: 9, MaxPerAgent: 9, Queue: 9}, page, log)
		r := &command.Runtime{Sessions: m, Log: log, Secrets: secret.NewVault(func() (f secret.File, err error) { return f, nil }, func(string) bool { return false })}
		s, err := m.Open("ann", session.Options{Name: "s"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ensure(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		r.Secrets.Hide("ann", before)
		fleet.checked = func() {
			if page.read || before == nil {
				r.Secrets.Hide("ann", []secret.Given{{Kind: secret.Text, Value: "hunter2"}})
			}
		}
		m.Fleet = fleet
		if shows, err := r.PictureShows(t.Context(), "ann", s, ""); !shows || err != nil {
			t.Errorf("%s: shows a secret: %t, %v", what, shows, err)
		}
	}
}
