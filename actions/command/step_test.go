package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// A script's step is in the script's own session, in whatever form its parameters come that the command takes: what the
// process of a script sends is bytes, and need not be what JSON.stringify writes.
func TestAStepIsInItsScriptsSession(t *testing.T) {
	page := &placed{}
	page.goTo("http://a/")
	log := slog.New(slog.DiscardHandler)
	m := session.NewManager(session.Config{IdleTimeout: time.Hour, Max: 9, MaxPerAgent: 9, Queue: 9}, page, log)
	for _, name := range []string{"own", "other"} {
		if _, err := m.Open("ann", session.Options{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	type lookParams struct {
		N    int    `json:"n" default:"1" doc:"a number"`
		Text string `json:"text" doc:"a text"`
	}
	var seen []string
	look := command.Define(command.Row{Name: "look", Summary: "Looks.", Flags: command.Inspects}, func(_ context.Context, c *command.Call, _ *lookParams) (struct{}, error) {
		seen = append(seen, c.Session.Name())
		return struct{}{}, nil
	})
	var step string
	play := command.Define(command.Row{Name: "play", Summary: "Plays a step."}, func(ctx context.Context, c *command.Call, _ *noParams) (struct{}, error) {
		_, err := command.Step(ctx, c, command.Scripted{Run: "r_1", Step: 1}, "look", json.RawMessage(step))
		return struct{}{}, err
	})
	r := &command.Runtime{Commands: command.Repertoire{look, play}, Sessions: m, Log: log,
		CheckURL: func(_ context.Context, _ policy.GateOptions, url string) (string, error) { return url, nil }}
	plays := func(params string) error {
		t.Helper()
		step = params
		job, err := r.Prepare(&command.Caller{Agent: "ann", Token: 1}, nil, "play", json.RawMessage(`{"session":"own","timeout_ms":5000}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = job.Run(t.Context())
		return err
	}
	for _, other := range []string{
		`{"session":"other"}`, ` {"session": "other", "timeout_ms": 5000}`, `{"session":"other","timeout_ms":5000.0}`, `{"timeout_ms":5e3,"session":"other"}`,
		`{"session":"other","timeout_ms":50.00e2,"n":2.0}`, `{"session":"\u006fther","timeout_ms":null,"n":1.0}`, `{"session":"other","text":"\ud800"}`,
		`{"session":"own","session":"other"}`, `{"session":"other","Session":"own"}`, `{"session":"other","timeout_ms":"5000"}`, `{"session":"missing","timeout_ms":5000.0}`,
	} {
		var e *protocol.Error
		if err := plays(other); !errors.As(err, &e) || e.Code != protocol.InvalidParams {
			t.Errorf("%s: %v", other, err)
		}
	}
	if len(seen) > 0 {
		t.Errorf("a step ran in %v", seen)
	}
	for _, own := range []string{`{}`, ``, `{"session":"own","timeout_ms":5000.0}`, `{"session":""}`, `{"session":null,"n":2.0}`} {
		if err := plays(own); err != nil {
			t.Errorf("%s: %v", own, err)
		}
	}
	if slices.Contains(seen, "other") || len(seen) != 5 {
		t.Errorf("the steps ran in %v", seen)
	}
}
