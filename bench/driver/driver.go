// Package driver gives benchmarks and scripted players one small interface to
// browserd and to tools like it: a page opened, what the tool shows a model of
// it, and the actions by the refs of what was shown.
//
// It owns the processes that it starts, and nothing that it installs is kept in
// the repository. It adds nothing of its own to what a tool does: no waiting, no
// second try, no look behind the tool's back; [Driver.Eval] is there for whoever
// sets a page up or keeps the score.
//
// A Driver is one session and is used by one goroutine at a time; the sessions
// that [Driver.NewSession] adds may be used at the same time.
package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is how much of a page is asked for.
type Kind int

const (
	// Default is what an agent is told to use: browserd's default budgets,
	// agent-browser's `snapshot -i`, pinchtab's `snap`, the only snapshot that the
	// others have.
	Default Kind = iota
	// Interactive is every interactive element of the page, without budgets.
	Interactive
	// Plain is Interactive without attributes, where the tool can leave them out.
	Plain
	// Whole is the whole page, without budgets.
	Whole
)

// Snapshot is what a tool shows of a page.
type Snapshot struct {
	// Text is the whole answer, as a model reads it.
	Text string
	// Nodes are what the text says, in its order.
	Nodes []Node
}

// Node is one element, or one piece of text (Role "text", no Ref), of a snapshot.
type Node struct {
	Ref    string // as the tool takes it back; empty where it cannot be acted on
	Depth  int    // from 0
	Role   string // the tool's word; "text" for text
	Name   string // for text, the text
	Value  string
	States []string          // checked, disabled, selected …, as the tool says them
	Attrs  map[string]string // what is written as key=value, or as a line of its own below the node
}

// Driver is one session of a tool. Refs are those of the last snapshot. An
// error is what the tool answered, with its own words, or how it was lost.
type Driver interface {
	// Name is the tool's, as in Tools.
	Name() string
	// Open goes to the address and returns when the tool says it is there.
	Open(ctx context.Context, url string) error
	// Text is what the tool shows of the page, unread: what is timed.
	Text(ctx context.Context, kind Kind) (string, error)
	// Snapshot is the same, read.
	Snapshot(ctx context.Context, kind Kind) (Snapshot, error)
	Click(ctx context.Context, ref string) error
	// ClickAndSee clicks and returns what the tool shows of the page then: the
	// delta where it has one, a default snapshot where not.
	ClickAndSee(ctx context.Context, ref string) (string, error)
	DoubleClick(ctx context.Context, ref string) error
	// Type makes text the field's value, in place of what it was.
	Type(ctx context.Context, ref, text string) error
	// Press presses a key ("Enter", "Control+a") where the focus is.
	Press(ctx context.Context, key string) error
	// Select chooses the option with this label.
	Select(ctx context.Context, ref, label string) error
	Check(ctx context.Context, ref string, checked bool) error
	Hover(ctx context.Context, ref string) error
	Drag(ctx context.Context, from, to string) error
	// Eval is the value of a JavaScript expression in the page, as JSON.
	Eval(ctx context.Context, expression string) (json.RawMessage, error)
	// NewSession is a session beside this one, kept from it: in the same process
	// where the tool can do that, else in a new one. It starts on no page.
	NewSession(ctx context.Context) (Driver, error)
	// Close ends the session, and the tool with its Chromium where it is the one
	// that Start returned.
	Close() error
	// PIDs are the processes in which the session and those it shares them with
	// live, with all their descendants: tool and Chromium.
	PIDs() []int
}

// Options say what is started with what.
type Options struct {
	// Chromium is the program that every tool is pointed at. Empty: FindChromium.
	Chromium string
	// Peers is the directory that Install filled. Empty: PeersDir.
	Peers string
	// Browserd is the daemon's program. Empty: built from this module.
	Browserd string
	// Steps has the tool show the page as its documentation tells agents to read it: where
	// an action can answer with the page, it does ([Shower]).
	Steps bool
	// Told is called with each call of the tool. Nil: nobody is told. Only browserd,
	// agent-browser and the tools over stdio tell.
	Told func(Call)
	// Log takes what the tools write to standard error. Nil: nobody.
	Log io.Writer

	record string // what browserd records its sessions as; empty: it does not
}

// ErrMissing is wrapped by the error of a tool that is not installed.
var ErrMissing = errors.New("not installed")

// Tool is one that can be started.
type Tool struct {
	// Name is the tool with its transport.
	Name string
	// Package is where it comes from, name@version; empty for browserd.
	Package string

	start func(ctx context.Context, o Options) (Driver, error)
}

// Tools are all of them, browserd first.
func Tools() []Tool {
	return []Tool{
		{Name: "browserd", start: startBrowserd},
		{Name: "browserd (MCP)", start: startBrowserdMCP},
		{Name: "browserd (command line)", start: startBrowserdCommand},
		{Name: "agent-browser", Package: agentBrowserPackage, start: startAgentBrowser},
		{Name: "agent-browser (command line)", Package: agentBrowserPackage, start: startAgentBrowserCommand},
		{Name: "playwright-mcp", Package: playwrightPackage, start: startPlaywright},
		{Name: "playwright-mcp (HTTP)", Package: playwrightPackage, start: startPlaywrightHTTP},
		{Name: "chrome-devtools-mcp", Package: devtoolsPackage, start: startDevtools},
		{Name: "pinchtab", Package: pinchtabPackage, start: startPinchtab},
	}
}

// Missing is nil where the tool is installed, and says with ErrMissing what is
// not.
func (t Tool) Missing(o Options) error {
	switch t.Package {
	case "":
		return nil
	case pinchtabPackage:
		_, err := pinchtabProgram(o)
		return err
	}
	return installed(o.Peers, t.Package)
}

// Build is another build of browserd, whose program is at path, as the tool "browserd (name)".
func Build(name, path string) Tool {
	t := Tools()[0]
	start := t.start
	t.Name += " (" + name + ")"
	t.start = func(ctx context.Context, o Options) (Driver, error) {
		o.Browserd = path
		return start(ctx, o)
	}
	return t
}

// Recorded is the tool with its sessions recorded as a trace or a video, which browserd alone does.
func (t Tool) Recorded(kind string) Tool {
	start := t.start
	t.Name += recorded + kind
	t.start = func(ctx context.Context, o Options) (Driver, error) {
		o.record = kind
		return start(ctx, o)
	}
	return t
}

const recorded = " with a "

// Named is the tool of that name; "browserd (MCP) with a trace" is recorded.
func Named(name string) (Tool, error) {
	if of, kind, ok := strings.Cut(name, recorded); ok {
		t, err := Named(of)
		return t.Recorded(kind), err
	}
	var names []string
	for _, t := range Tools() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Tool{}, fmt.Errorf("no tool %q: there are %q", name, names)
}

// Start starts the tool and returns its first session. With some tools Chromium
// starts now, with others at the first command. ctx bounds the starting alone.
func (t Tool) Start(ctx context.Context, o Options) (Driver, error) {
	if o.Chromium == "" {
		found, err := FindChromium()
		if err != nil {
			return nil, err
		}
		o.Chromium = found
	}
	if o.Peers == "" {
		dir, err := PeersDir()
		if err != nil {
			return nil, err
		}
		o.Peers = dir
	}
	d, err := t.start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", t.Name, err)
	}
	return d, nil
}

// chromiums are where the headless shell, and behind it a whole browser, is
// installed as a program; a wrapper in front of it would be a process more.
var chromiums = []string{
	"/usr/lib/chromium/chromium-headless-shell",
	"/usr/lib64/chromium-browser/headless_shell",
	"/usr/lib/chromium-browser/headless_shell",
	"/usr/lib/chromium/chromium",
	"/opt/google/chrome/chrome",
}

// FindChromium is the Chromium of BROWSERD_BROWSER__PATH, or the first that is
// installed, the headless shell before a whole browser.
func FindChromium() (string, error) {
	if path := os.Getenv("BROWSERD_BROWSER__PATH"); path != "" {
		return path, nil
	}
	i := slices.IndexFunc(chromiums, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
	if i < 0 {
		return "", fmt.Errorf("no Chromium in %q: install one, or set BROWSERD_BROWSER__PATH", chromiums)
	}
	return chromiums[i], nil
}

// PeersDir is where the peers are installed: below the user's cache directory.
func PeersDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "browserd-bench", "peers"), nil
}
