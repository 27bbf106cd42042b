// Side runs browserd and tools like it side by side, in one run, with one
// Chromium and the same pages, and prints what they need as Markdown tables.
//
//	go run ./side                    everything, in ten minutes and more
//	go run ./side -quick             everything, with less patience
//	go run ./side -only snapshot,click -tools browserd,agent-browser
//	go run ./side -only click -tools browserd -builds before=/path/to/browserd
//
// Peers are installed at pinned versions, with npm and go, into the user's cache
// directory; one that is not there is reported in one line. Every page is on
// loopback. Commands of all tools run by turns and warm; see docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/browserd/browserd/bench/driver"
	"github.com/browserd/browserd/internal/testpages"
)

// reference is the tool that the others are compared with.
const reference = "browserd"

func isPeer(name string) bool { return !strings.HasPrefix(name, reference) && name != baselineName }

// suite is one run.
type suite struct {
	ctx   context.Context
	out   io.Writer
	o     driver.Options
	full  string // a whole Chromium, what peers start by default; empty: there is none
	quick bool
	crowd int
	sizes []int         // of the generator's pages, in elements
	tools []driver.Tool // those that are here
	site  *site
	// recorded are addresses of further pages on which recordings are measured, with a button Count.
	recorded []string
}

// groups are the parts of a run, in its order.
var groups = []struct {
	name, title string
	run         func(*suite) error
}{
	{"tools", "What an MCP client is told", (*suite).toolLists},
	{"start", "Start-up", (*suite).starts},
	{"snapshot", "Snapshots", (*suite).snapshots},
	{"pages", "Snapshots of other pages", (*suite).otherPages},
	{"click", "Click, type and open", (*suite).actions},
	{"overhead", "Above bare CDP", (*suite).overhead},
	{"tokens", "Tokens", (*suite).tokens},
	{"sessions", "Sessions", (*suite).sessions},
	{"throughput", "Throughput", (*suite).throughput},
	{"recording", "Traces and videos", (*suite).recordings},
}

func main() {
	run := run
	if chromium := os.Getenv(baselineVariable); chromium != "" {
		run = func() error { return serveBaseline(context.Background(), chromium) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	var names, all []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	for _, t := range driver.Tools() {
		all = append(all, t.Name)
	}
	only := flag.String("only", "", "the groups to run, of "+strings.Join(names, ","))
	tools := flag.String("tools", "", "the tools to run, of "+strings.Join(all, ","))
	builds := flag.String("builds", "", "other builds of browserd, of the same protocol, to run beside it: NAME=PATH, with commas between")
	quick := flag.Bool("quick", false, "fewer commands, shorter: figures that vary more")
	chromium := flag.String("chromium", "", "the Chromium that all are pointed at (default: the headless shell)")
	full := flag.String("full", "", "a whole Chromium, which peers start by default (default: where Debian has it)")
	peers := flag.String("peers", "", "directory of the peers (default: below the user's cache directory)")
	most := flag.Int("most", testpages.Sizes[len(testpages.Sizes)-1], "leave out pages of more elements than this")
	crowd := flag.Int("sessions", 0, "the most sessions at a time (default 100; 8 with -quick and for each tool's default Chromium)")
	out := flag.String("out", "", "a file for the tables as well")
	recorded := flag.String("recorded", "", "addresses of further pages with a button Count, for the group recording")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &suite{ctx: ctx, out: os.Stdout, quick: *quick, crowd: *crowd, recorded: split(*recorded)}
	for _, n := range testpages.Sizes {
		if n <= *most {
			b.sizes = append(b.sizes, n)
		}
	}
	if *out != "" {
		f, err := os.Create(*out)
		if err != nil {
			return err
		}
		defer f.Close()
		b.out = io.MultiWriter(os.Stdout, f)
	}
	if err := b.options(*chromium, *full, *peers); err != nil {
		return err
	}
	if err := b.install(split(*tools)); err != nil {
		return err
	}
	for _, build := range split(*builds) {
		name, path, ok := strings.Cut(build, "=")
		if !ok || name == "" {
			return fmt.Errorf("-builds: %q is not NAME=PATH", build)
		}
		path, err := exec.LookPath(path)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return fmt.Errorf("-builds: %w", err)
		}
		b.tools = append(b.tools, driver.Build(name, path))
	}
	b.site = newSite(b.o.Peers)
	defer b.site.close()
	chosen := split(*only)
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-only: no group %q: there are %s", name, strings.Join(names, ", "))
		}
	}
	b.conditions()
	for _, g := range groups {
		if len(chosen) > 0 && !slices.Contains(chosen, g.name) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		began := time.Now()
		fmt.Fprintf(b.out, "### %s\n\n", g.title)
		if err := g.run(b); err != nil {
			fmt.Fprintf(b.out, "Failed: %s: %s\n\n", g.name, oneLine(err.Error()))
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %v\n", g.name, time.Since(began).Round(time.Second))
	}
	return nil
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func (b *suite) options(chromium, full, peers string) (err error) {
	if b.o.Chromium = chromium; chromium == "" {
		if b.o.Chromium, err = driver.FindChromium(); err != nil {
			return err
		}
	}
	if b.o.Peers = peers; peers == "" {
		if b.o.Peers, err = driver.PeersDir(); err != nil {
			return err
		}
	}
	if b.full = full; full == "" {
		if _, err := os.Stat("/usr/lib/chromium/chromium"); err == nil {
			b.full = "/usr/lib/chromium/chromium"
		}
	}
	b.o.Browserd, err = driver.Browserd(b.ctx, b.o.Peers)
	return err
}

// install brings the peers, and says in one line which are not there.
func (b *suite) install(wanted []string) error {
	for _, name := range wanted {
		if _, err := driver.Named(name); err != nil {
			return fmt.Errorf("-tools: %w", err)
		}
	}
	tools := slices.DeleteFunc(driver.Tools(), func(t driver.Tool) bool { return len(wanted) > 0 && !slices.Contains(wanted, t.Name) })
	if err := driver.Install(b.ctx, b.o.Peers, tools); err != nil {
		fmt.Fprintf(b.out, "Peers could not be installed: %s\n\n", oneLine(err.Error()))
	}
	for _, t := range tools {
		if err := t.Missing(b.o); err != nil {
			fmt.Fprintf(b.out, "Missing: %s: %s\n\n", t.Name, oneLine(err.Error()))
			continue
		}
		b.tools = append(b.tools, t)
	}
	return nil
}

// conditions say what was run where.
func (b *suite) conditions() {
	load, _ := os.ReadFile("/proc/loadavg")
	var versions []string
	for _, t := range b.tools {
		if t.Package != "" && !slices.Contains(versions, t.Package) {
			versions = append(versions, t.Package)
		}
	}
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	fmt.Fprintf(b.out, "# browserd and its peers in one run\n\nCommand: `%s`\n\nCommit: %s\n\n",
		strings.Join(append([]string{"go run ./side"}, os.Args[1:]...), " "), strings.TrimSpace(string(commit)))
	fmt.Fprintf(b.out, "Conditions: %s, %d processors (%s), load %s before the run, %s, Linux %s; browserd built with %s, sandbox and egress proxy on; %s, node %s, ",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), processor(), firstWord(string(load)), program(b.o.Chromium), release(),
		runtime.Version(), strings.Join(versions, ", "), output("node", "--version"))
	if os.Getuid() == 0 {
		fmt.Fprint(b.out, "the peers' Chromium with --no-sandbox, since the run is root's. ")
	}
	fmt.Fprint(b.out, "Each tool with its own defaults, headless, without a profile. Processor time is that of the tool and its Chromium together.\n\n")
}

func program(path string) string { return filepath.Base(path) + " " + output(path, "--version") }

func output(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	b, _ := exec.CommandContext(ctx, name, append(args, "--no-sandbox")[:len(args)]...).Output()
	return strings.TrimSpace(string(b))
}

func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}

func release() string {
	b, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(b))
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return s[:min(len(s), 300)]
}

// direct are the tools of a table of commands; with commandLines, also those
// that start a process for each command. A second transport of the same server
// is left to the tables of many sessions.
func (b *suite) direct(commandLines bool) []driver.Tool {
	return b.toolsWithout(func(name string) bool {
		return strings.Contains(name, "(HTTP)") || !commandLines && strings.Contains(name, "(command line)")
	})
}

// shared are the tools of a table of many sessions.
func (b *suite) shared() []driver.Tool {
	return b.toolsWithout(func(name string) bool { return strings.Contains(name, "(command line)") })
}

func (b *suite) toolsWithout(left func(name string) bool) []driver.Tool {
	return slices.DeleteFunc(slices.Clone(b.tools), func(t driver.Tool) bool { return left(t.Name) })
}

// fleet starts tools for a group. stop ends them; what does not end as it
// should is said.
func (b *suite) fleet(tools []driver.Tool) (members []*member, stop func()) {
	for _, t := range tools {
		ctx, cancel := context.WithTimeout(b.ctx, commandTimeout)
		d, err := t.Start(ctx, b.o)
		cancel()
		if err != nil {
			fmt.Fprintf(b.out, "Missing: %s\n\n", oneLine(err.Error()))
			continue
		}
		members = append(members, &member{name: t.Name, d: d, meter: driver.NewMeter(d)})
	}
	return members, func() {
		for _, m := range members {
			if err := m.d.Close(); err != nil {
				fmt.Fprintf(os.Stderr, "bench: closing %s: %v\n", m.name, err)
			}
		}
	}
}

func namesOf(members []*member) []string {
	var names []string
	for _, m := range members {
		names = append(names, m.name)
	}
	return names
}

// sorted are a map's keys, in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

var errNothing = errors.New("it shows none")
