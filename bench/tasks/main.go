// Tasks plays MiniWoB++ (github.com/Farama-Foundation/miniwob-plusplus) with
// browserd and with tools like it, and says how often the pages' own judges
// were content:
//
//	go run ./tasks -tools browserd,agent-browser,playwright-mcp,chrome-devtools-mcp -seeds 20 -json tasks.json
//
// The pages are served from loopback, out of a copy of the repository that is
// cloned into the user's cache directory where -miniwob names none. Each task is
// played by a scripted player that stands for a capable model: it knows what
// kind of task it is, and sees and touches the page only through what the tool
// shows and by the refs of that. The harness alone seeds the pages, starts the
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
	tools := flag.String("tools", "browserd", "the tools that play, as bench/driver names them, with commas between")
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
		fmt.Fprintln(os.Stderr, "tasks:", err)
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
	s, err := newSite(root)
	if err != nil {
		return err
	}
	defer s.close()
	peers, err := driver.PeersDir()
	if err != nil {
		return err
	}
	if len(o.tools) > 1 || o.tools[0] != "browserd" {
		if err := driver.Install(ctx, peers); err != nil {
			return err
		}
	}
	var results []result
	for _, name := range o.tools {
		r, err := season(ctx, s, name, names, o)
		if err != nil {
			return err
		}
		results = append(results, r)
		r.print()
	}
	if o.json == "" {
		return nil
	}
	b, err := json.MarshalIndent(results, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, b, 0o644)
}

// result is how a tool did.
type result struct {
	Tool     string
	Episodes int
	Won      int
	Steps    float64 // commands in an episode that was won, the mean
	Seconds  float64
	Tasks    []taskResult
}

// taskResult is how a tool did at a task.
type taskResult struct {
	Task     string
	Episodes int
	Won      int
	Steps    float64
	Losses   []string `json:",omitempty"`
}

// episodeWithin bounds an episode.
const episodeWithin = 60 * time.Second

// season plays all tasks with one tool.
func season(ctx context.Context, s *site, name string, tasks []string, o options) (result, error) {
	tool, err := driver.Named(name)
	if err != nil {
		return result{}, err
	}
	d, err := tool.Start(ctx, driver.Options{})
	if err != nil {
		return result{}, err
	}
	defer func() { d.Close() }()
	r := result{Tool: name}
	begin := time.Now()
	steps := 0
	for _, task := range tasks {
		t := taskResult{Task: task}
		mine := 0
		for seed := 1; seed <= o.seeds && ctx.Err() == nil; seed++ {
			if o.seed > 0 {
				if seed > 1 {
					break
				}
				seed = o.seed
			}
			p, e, lost := s.play(ctx, d, task, seed, o.trace)
			t.Episodes++
			if e.won() {
				t.Won++
				mine += p.steps
				continue
			}
			why := fmt.Sprintf("seed %d: %q", seed, p.ask)
			if s.over(e, 0) {
				why += fmt.Sprintf(": reward %g", e.Reward)
			}
			if p.err != nil {
				why += ": " + p.err.Error()
			}
			t.Losses = append(t.Losses, why)
			if lost { // the tool no longer answers: start it anew
				d.Close()
				if d, err = tool.Start(ctx, driver.Options{}); err != nil {
					return r, err
				}
			}
		}
		r.Episodes += t.Episodes
		r.Won += t.Won
		steps += mine
		if t.Won > 0 {
			t.Steps = float64(mine) / float64(t.Won)
		}
		r.Tasks = append(r.Tasks, t)
		fmt.Printf("%-22s %-30s %3d of %d\n", name, task, t.Won, t.Episodes)
		for _, l := range t.Losses {
			fmt.Println("    ", l)
		}
	}
	r.Seconds = time.Since(begin).Seconds()
	r.Steps = float64(steps) / float64(max(r.Won, 1))
	return r, ctx.Err()
}

// play plays one episode; lost says that the tool did not answer in time.
func (s *site) play(ctx context.Context, d driver.Driver, task string, seed int, trace bool) (*play, *episode, bool) {
	ctx, cancel := context.WithTimeout(ctx, episodeWithin)
	defer cancel()
	e, url := s.begin(task, seed)
	p := &play{ctx: ctx, tool: d, over: func() bool { return s.over(e, 0) }, trace: trace}
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

func (r result) print() {
	fmt.Printf("%s: %d of %d episodes of %d tasks, %.1f %%; %.1f steps in an episode that was won; %.0f s\n",
		r.Tool, r.Won, r.Episodes, len(r.Tasks), 100*float64(r.Won)/float64(max(r.Episodes, 1)), r.Steps, r.Seconds)
}
