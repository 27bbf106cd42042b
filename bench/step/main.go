// Step plays what agents do, beside the tools that they do it with: the tasks of MiniWoB++
// (github.com/Farama-Foundation/miniwob-plusplus) and TodoMVC, whose pages judge by
// themselves whether a task is done. It says how many were, and what that took of calls,
// of tokens to read, of waiting and of processor time:
//
//	go run ./step -tools 'browserd (MCP),agent-browser,playwright-mcp,chrome-devtools-mcp' -seeds 3 -json step.json
//
// Each task is played by a scripted player that stands for a capable model: it knows what
// kind of task it is, and sees and touches the page only through what the tool shows and by
// the refs of that, as the tool's documentation tells agents. browserd: the snapshot that
// open answers with, then the deltas of the actions; a snapshot only where nothing was done
// in between. chrome-devtools-mcp: the snapshots that actions answer with (includeSnapshot).
// agent-browser and @playwright/mcp: a snapshot after each action whose effect is looked at;
// agent-browser's player reads both of its snapshots, since each leaves out what tasks need.
//
// The tools play each episode by turns, so that all have the machine as it is just then. The
// pages are served from loopback, out of a copy of MiniWoB++ that is cloned into the user's
// cache directory where -miniwob names none. The harness alone seeds the pages, starts the
// episodes and reads their rewards, by a script in the pages that it serves.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

func main() {
	var o options
	tools := flag.String("tools", "browserd (MCP)", "the tools that play, as bench/driver names them, with commas between")
	tasks := flag.String("tasks", "", "only these tasks, with commas between")
	flag.StringVar(&o.miniwob, "miniwob", "", "a copy of the MiniWoB++ repository; empty: cloned into the cache directory")
	flag.IntVar(&o.seeds, "seeds", 20, "how many seeds each task is played with, from 1 on")
	flag.IntVar(&o.seed, "seed", 0, "only this seed")
	flag.StringVar(&o.json, "json", "", "where to write the figures as JSON")
	flag.BoolVar(&o.trace, "trace", false, "write each step, and the page after a loss")
	flag.Parse()
	o.tools = strings.Split(*tools, ",")
	if *tasks != "" {
		o.tasks = strings.Split(*tasks, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "step:", err)
		os.Exit(1)
	}
}

type options struct {
	tools, tasks []string
	miniwob      string
	seeds, seed  int
	json         string
	trace        bool
}

func run(ctx context.Context, o options) error {
	dir := o.miniwob
	if dir == "" {
		var err error
		if dir, err = clone(ctx); err != nil {
			return err
		}
	}
	root, names, err := tasksIn(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if players[name] == nil && leftOut[name] == "" {
			fmt.Println("nobody plays", name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return players[name] == nil || o.tasks != nil && !slices.Contains(o.tasks, name)
	})
	peers, err := driver.PeersDir()
	if err != nil {
		return err
	}
	var tools []driver.Tool
	for _, name := range o.tools {
		t, err := driver.Named(name)
		if err != nil {
			return err
		}
		tools = append(tools, t)
	}
	if err := driver.Install(ctx, peers, tools); err != nil {
		fmt.Fprintln(os.Stderr, "step: not everything is installed:", err) // what is missing does not start
	}
	s, err := newSite(root, driver.TodoMVC(peers))
	if err != nil {
		return err
	}
	defer s.close()
	if s.todo != "" {
		for _, app := range todoApps {
			if name := todoPrefix + app; o.tasks == nil || slices.Contains(o.tasks, name) {
				names = append(names, name)
			}
		}
	}
	count, err := driver.TokenCounter()
	if err != nil {
		return err
	}
	var all []*contender
	defer func() {
		for _, c := range all {
			c.driver.Close()
		}
	}()
	for _, t := range tools {
		c, err := newContender(ctx, t, driver.Options{}, count)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	for _, task := range names {
		for seed := 1; seed <= o.seeds && ctx.Err() == nil; seed++ {
			if o.seed > 0 && seed != o.seed {
				continue
			}
			for i := range all { // another one first each time
				if err := all[(i+seed)%len(all)].play(ctx, s, task, seed, o.trace); err != nil {
					return err
				}
			}
		}
		for _, c := range all {
			c.printTask(task)
		}
	}
	report(os.Stdout, all)
	if o.json == "" {
		return ctx.Err()
	}
	played := map[string][]played{}
	for _, c := range all {
		played[c.tool.Name] = c.played
	}
	b, err := json.MarshalIndent(played, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, b, 0o644)
}

// episodeWithin bounds an episode.
const episodeWithin = 60 * time.Second

// play plays one episode; lost says that the tool did not answer in time.
func (s *site) play(ctx context.Context, d driver.Driver, task string, seed int, trace bool) (*play, *episode, bool) {
	ctx, cancel := context.WithTimeout(ctx, episodeWithin)
	defer cancel()
	e, url := s.begin(task, seed)
	p := &play{ctx: ctx, tool: d, unsaid: strings.HasPrefix(task, todoPrefix), over: func() bool { return s.over(e, 0) }, trace: trace}
	if err := d.Open(ctx, url); err != nil {
		p.err = err
		return p, e, ctx.Err() != nil
	}
	if p.ask, p.err = s.words(ctx, e); p.err != nil {
		return p, e, ctx.Err() != nil
	}
	p.fields = e.Fields
	p.playTask(players[task])
	s.over(e, 3*time.Second) // an answer that is under way
	if trace && !e.won() {
		text, _ := d.Text(ctx, driver.Default)
		fmt.Println(text)
	}
	return p, e, ctx.Err() != nil
}

// playTask plays; a player that breaks at what a tool shows has lost.
func (p *play) playTask(player func(*play)) {
	defer func() {
		if r := recover(); r != nil {
			p.fail("the player broke: %v", r)
		}
	}()
	player(p)
}
