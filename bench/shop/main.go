// Shop plays the six tasks of the demo's shop (internal/demoapp), by scripts and by refs, with
// browserd and its peers by turns, and prints the calls of the tools and the tokens that a
// model reads: the list of the tools with the server's instructions, and the answers. A model
// reads all of it again with each turn; that is a column too.
//
//	go run ./shop -rounds 3
//
// The players are scripted and stand for a capable model. By refs, they look at each answer and
// act on what it shows. By script, they look at the first page, and do the rest in one script,
// written as for Playwright, the same for browserd's run and @playwright/mcp's
// browser_run_code_unsafe. The shop itself says whether a task is done.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/bench/driver"
	"github.com/browserd/browserd/internal/demoapp"
)

func main() {
	rounds := flag.Int("rounds", 1, "how often each task is played with each tool")
	only := flag.String("only", "", "only the players whose name holds this")
	trace := flag.Bool("trace", false, "print each answer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rounds, *only, *trace); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// player is a tool with a way to use it.
type player struct {
	name, tool   string
	scripts      bool
	introduction int // tokens of what a model is told first

	calls  []driver.Call // of the episode
	played []episode
}

// session plays tasks, one after the other.
type session interface {
	play(ctx context.Context, task, url string) (answer string, err error)
	Close() error
}

// episode is a task that was played.
type episode struct {
	task    string
	failed  error
	calls   int
	answers int // tokens
	read    int // tokens of all turns: each reads again what the ones before it read
	written int // tokens of the script
	waited  time.Duration
}

type scripted struct{ *driver.Scripts }

func (s scripted) play(ctx context.Context, task, url string) (string, error) {
	if _, err := s.Open(ctx, url); err != nil {
		return "", err
	}
	return s.Run(ctx, byScript[task])
}

type referring struct{ driver.Driver }

func (r referring) play(ctx context.Context, task, url string) (string, error) {
	v := &visit{ctx: ctx, d: r.Driver}
	v.err = r.Open(ctx, url)
	v.look()
	if v.err == nil {
		byRefs[task](v)
	}
	return v.answer, v.err
}

func run(ctx context.Context, rounds int, only string, trace bool) error {
	count, err := driver.TokenCounter()
	if err != nil {
		return err
	}
	peers, err := driver.PeersDir()
	if err != nil {
		return err
	}
	chromium, err := driver.FindChromium()
	if err != nil {
		return err
	}
	var tools []driver.Tool
	for _, name := range []string{"agent-browser", "playwright-mcp"} {
		t, err := driver.Named(name)
		if err != nil {
			return err
		}
		tools = append(tools, t)
	}
	if err := driver.Install(ctx, peers, tools); err != nil {
		fmt.Fprintln(os.Stderr, "shop: not everything is installed:", err) // what is missing does not start
	}
	all := slices.DeleteFunc(players(), func(p *player) bool { return !strings.Contains(p.name, only) })
	if err := play(ctx, all, rounds, driver.Options{Peers: peers, Chromium: chromium}, count, trace); err != nil {
		return err
	}
	report(all)
	return nil
}

// players are all of them.
func players() []*player {
	return []*player{
		{name: "browserd, run", tool: "browserd", scripts: true},
		{name: "playwright-mcp, browser_run_code_unsafe", tool: "playwright-mcp", scripts: true},
		{name: "browserd, refs", tool: "browserd (MCP)"},
		{name: "agent-browser, refs", tool: "agent-browser"},
		{name: "playwright-mcp, refs", tool: "playwright-mcp"},
	}
}

// play has the players play all tasks, by turns.
func play(ctx context.Context, all []*player, rounds int, o driver.Options, count func(string) int, trace bool) error {
	var open []session
	defer func() {
		for _, s := range open {
			s.Close()
		}
	}()
	for _, p := range all {
		o.Steps = true
		o.Told = func(c driver.Call) {
			p.calls = append(p.calls, c)
			if trace {
				fmt.Printf("%s: %s, %d tokens\n%s\n", p.name, c.Name, count(c.Answer), c.Answer)
			}
		}
		s, told, err := p.begin(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		p.introduction = count(told)
		open = append(open, s)
	}
	for round := range rounds {
		for _, task := range demoapp.Tasks() {
			for i := range all {
				i = (i + round) % len(all) // another one first each time
				if err := all[i].episode(ctx, open[i], task, count); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// begin starts the player's tool and returns it with what a model is told first.
func (p *player) begin(ctx context.Context, o driver.Options) (session, string, error) {
	if p.scripts {
		s, err := driver.StartScripts(ctx, o, p.tool)
		if err != nil {
			return nil, "", err
		}
		told, err := s.Introduction(ctx)
		return scripted{s}, told, err
	}
	t, err := driver.Named(p.tool)
	if err != nil {
		return nil, "", err
	}
	told, err := driver.Introduction(ctx, o, p.tool)
	if err != nil {
		return nil, "", err
	}
	d, err := t.Start(ctx, o)
	return referring{d}, told, err
}

func (p *player) episode(ctx context.Context, s session, task demoapp.Task, count func(string) int) error {
	shop := &demoapp.Shop{}
	site := httptest.NewServer(shop.Handler())
	defer site.Close()
	p.calls = nil
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	answer, err := s.play(within, task.Name, site.URL+task.Path)
	e := episode{task: task.Name, calls: len(p.calls), failed: cmp.Or(err, shop.Done(task, answer))}
	if p.scripts {
		e.written = count(byScript[task.Name])
	}
	e.read = p.introduction
	for _, c := range p.calls {
		e.answers += count(c.Answer)
		e.read += p.introduction + e.answers
		e.waited += c.Waited
	}
	if e.failed != nil {
		fmt.Printf("%s: %s: %v\n", p.name, task.Name, e.failed)
	}
	p.played = append(p.played, e)
	return ctx.Err()
}

// report prints a row for each player and one for each of its tasks.
func report(all []*player) {
	fmt.Println("| | done | calls | tokens: told first | answers | together | read over all turns | written in scripts | waited, ms |\n|---|---|---|---|---|---|---|---|---|")
	for _, p := range all {
		row := func(name string, list []episode) {
			mean := func(of func(episode) float64) float64 {
				sum := 0.0
				for _, e := range list {
					sum += of(e)
				}
				return sum / float64(len(list))
			}
			done := 0
			waited := make([]float64, 0, len(list))
			for _, e := range list {
				if e.failed == nil {
					done++
				}
				waited = append(waited, float64(e.waited.Microseconds())/1000)
			}
			slices.Sort(waited)
			answers := mean(func(e episode) float64 { return float64(e.answers) })
			fmt.Printf("| %s | %d of %d | %.1f | %d | %.0f | %.0f | %.0f | %.0f | %.0f |\n", name, done, len(list), mean(func(e episode) float64 { return float64(e.calls) }),
				p.introduction, answers, float64(p.introduction)+answers, mean(func(e episode) float64 { return float64(e.read) }), mean(func(e episode) float64 { return float64(e.written) }), waited[len(waited)/2])
		}
		row("**"+p.name+"**", p.played)
		for _, task := range demoapp.Tasks() {
			var of []episode
			for _, e := range p.played {
				if e.task == task.Name {
					of = append(of, e)
				}
			}
			row("… "+task.Name, of)
		}
	}
}
