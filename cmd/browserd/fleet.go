package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/browser/files"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/shelf"
)

// fleetNode is this daemon's place in the fleet. nil: it serves alone.
type fleetNode struct {
	*fleet.Node
	sessions atomic.Pointer[session.Manager]
	browser  atomic.Pointer[browser.Browser]
}

// joinFleet makes the daemon a node if fleet.dsn is set. rules get what operators add to the policy at any node.
func joinFleet(ctx context.Context, cfg config.Config, rules *policy.Policy, log *slog.Logger) (*fleetNode, error) {
	if cfg.Fleet.DSN == "" {
		return nil, nil
	}
	n := &fleetNode{}
	var err error
	n.Node, err = fleet.Join(ctx, cfg.Fleet, fleet.Options{
		Version: buildVersion(), Capacity: cfg.Session.Max, Idle: cfg.Session.IdleTimeout, StateKey: cfg.State.Key, Sessions: n.count, OnTakenOver: n.takenOver, ExpectTakeOvers: n.expectTakeOvers,
		SetPolicyAdditions: func(settings []policy.Setting) {
			if err := setAdditions(rules, settings, log); err != nil {
				log.Warn("what operators have added to the policy for good does not hold here", "error", err)
			}
		},
	}, log)
	if err != nil {
		return nil, err
	}
	for _, at := range fleet.OwnAddresses(n.Node) {
		rules.AddSelf(at)
	}
	return n, nil
}

// count returns how many sessions the daemon holds or opens. The first heartbeat asks before there is a manager.
func (n *fleetNode) count() int {
	if m := n.sessions.Load(); m != nil {
		return session.SlotsInUse(m)
	}
	return 0
}

// takenOver closes a session that another node owns by now.
func (n *fleetNode) takenOver(agent, name string) {
	if m := n.sessions.Load(); m != nil {
		m.CloseTakenOver(agent, name)
	}
}

// expectTakeOvers has the browser prepare for the sessions of a node that is probably lost. It does not wait.
func (n *fleetNode) expectTakeOvers(sessions int) {
	if b := n.browser.Load(); b != nil {
		b.Expect(sessions)
	}
}

// serve makes the node the owner of the runtime's sessions, and b the browser that prepares for take-overs.
func (n *fleetNode) serve(r *command.Runtime, b *browser.Browser) {
	if n == nil {
		return
	}
	n.browser.Store(b)
	r.Fleet, r.Sessions.Fleet = n.Node, n.Node
	r.Secrets.HideAtPeers = func(ctx context.Context, agent string, given []secret.Given) error {
		return fleet.HideOnAllNodes(ctx, n.Node, agent, given)
	}
	n.sessions.Store(r.Sessions)
}

// shelves returns where agents save things: in the fleet's database, or below the state directory.
func (n *fleetNode) shelves(stateDir string) func(kind string) shelf.Shelf {
	if n != nil {
		return func(kind string) shelf.Shelf { return fleet.Shelf(n.Node, kind) }
	}
	return func(kind string) shelf.Shelf { return shelf.NewFiles(savedFiles(stateDir, kind)) }
}

// answers returns where operators' answers for good are stored: in the fleet's database, or in the state directory.
func (n *fleetNode) answers(stateDir string, rules *policy.Policy, log *slog.Logger) (policy.Answers, error) {
	file := confirmedFile(stateDir)
	if n == nil {
		return policy.ReadAnswers(file, func(settings []policy.Setting) error { return setAdditions(rules, settings, log.With("file", file)) })
	}
	if _, err := os.Stat(file); err == nil {
		log.Warn("what operators answered for good before fleet.dsn was set is not the fleet's, and does not hold: it is asked again", "file", file,
			"next", "remove the file, unless the daemon is to serve alone again")
	}
	return fleet.AnswersOf(n.Node), nil
}

// uploads counts an agent's uploads at all nodes of the fleet; nil if the daemon serves alone.
func (n *fleetNode) uploads(agent string) files.Elsewhere {
	if n == nil {
		return nil
	}
	return fleet.UploadsOf(n.Node, agent)
}

// Close leaves the fleet. Call it after the sessions have ended.
func (n *fleetNode) Close(ctx context.Context) error {
	if n == nil {
		return nil
	}
	return n.Node.Close(ctx)
}

func fleetCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Show the nodes of the fleet, and which of them has each session",
		Long: `Shows the daemons that serve as one: their numbers, versions, leases and sessions, from
the database of fleet.dsn; no daemon need run here.`,
		Example: "  browserd fleet\n  browserd fleet --json",
		Args:    cobra.NoArgs,
	}
	load := configured(cmd, args)
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object: {nodes, sessions}")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		if c.Fleet.DSN == "" {
			return refusal{errors.New("fleet.dsn is not set: this daemon serves alone")}
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), 10*time.Second)
		defer cancel()
		report, err := fleet.ReadReport(ctx, c.Fleet)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
		}
		return writeFleet(cmd.OutOrStdout(), report)
	}
	return cmd
}

func writeFleet(out io.Writer, r *fleet.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tNAME\tVERSION\tSTATE\tLEASE\tSESSIONS\tUP")
	for _, n := range r.Nodes {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%.0fs\t%d of %d\t%v\n", n.Node, printable(n.Name), printable(n.Version), n.State, n.Lease, n.Sessions, n.Capacity, time.Since(n.Began).Round(time.Second))
	}
	if versions := versionsOf(r); len(versions) > 1 {
		fmt.Fprintf(w, "\nThe nodes are of %d versions (%s): an update is under way, or a node was left out.\n", len(versions), strings.Join(versions, ", "))
	}
	if len(r.Sessions) > 0 {
		fmt.Fprintln(w, "\nSESSION\tAGENT\tNODE\tEPOCH\tOPENED")
	}
	for _, s := range r.Sessions {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", printable(s.Session), printable(s.Agent), s.Node, s.Epoch, s.Created.Local().Format(time.DateTime))
	}
	return w.Flush()
}

// versionsOf returns the versions of the nodes that have their lease.
func versionsOf(r *fleet.Report) (versions []string) {
	for _, n := range r.Nodes {
		if v := printable(n.Version); n.State != fleet.StateLost && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	return versions
}

// nodeName is the daemon's name in traces.
func nodeName(cfg fleet.Config) string {
	name, _ := os.Hostname()
	return cmp.Or(cfg.Name, name)
}
