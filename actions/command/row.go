package command

import (
	"context"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
)

// Row says everything about one command. No other list names it.
//
// Defaults are the strictest. A command without any flag is in the
// audit trail, a read_only caller may not send it, a supervised caller needs an
// operator's confirmation, and an MCP client is told that it may destroy something
// and does not see it by default.
type Row struct {
	Name    string
	Summary string // one sentence
	// Next is what an agent does next, or should know first, in a sentence or two that an
	// MCP tool's description adds to the summary; empty: nothing.
	Next string
	// Main is the parameter that the first argument of the command line is for; empty: none.
	Main  string
	Flags Flag
	// At returns the part of the page that a call without a ref is for. params is a pointer to the command's
	// parameter struct, here and in the funcs below. nil: the tab's document.
	At func(params any) protocol.Spot
	// StoredTarget returns the name of the stored thing that decides where a call goes, such as a login recipe,
	// if the call neither names an address nor uses the open page. An operator's answer is remembered for this
	// name. nil or empty: nothing stored decides.
	StoredTarget func(params any) string
	// Implied are parameters with which this command also does what another command does.
	Implied []Implied
	// Typed is the parameter whose text is written into a field. If the field holds a secret, the action log
	// masks the text.
	Typed string
	// LocalFiles is the parameter that holds files. The command line sends the contents of local files, since
	// the daemon reads only its own files.
	LocalFiles string
	// Brief are the members that the command line shows of each object in the result's list. A dot joins the
	// names of nested members. Empty: all members.
	Brief []string
	// Instead is what does the same at a terminal, of a command that is WebSocketOnly.
	Instead string
	// Price is what the command costs an agent.
	Price ledger.Price
	// Prepare, if set, replaces Call.FindSession: it finds or opens the session. It runs after the parameters
	// have been checked and must not block.
	Prepare func(c *Call) error
	// Queues reports whether a call of an Unqueued command waits for its turn nevertheless; nil: it never does.
	Queues func(params any) bool
	// Continues reports whether a call only continues an earlier one that was confirmed, so that no operator is
	// asked again; nil: none does.
	Continues func(params any) bool
	// Examples are shown in docs/commands.md, and a test runs them. Each begins with a new session that has
	// opened the example's page.
	Examples []Example
}

// Example is one use of a command.
type Example struct {
	For    string // what it is for: "Logs in", "Reads the whole article"
	Params string // a JSON object
}

// Implied says that a command with that parameter also does what another command does. Whatever restricts the
// other command restricts this one too.
type Implied struct {
	Parameter string
	// When reports whether a call with these parameters (a pointer to their struct) does; nil: whenever the
	// parameter is given.
	When func(params any) bool
	As   *Command
}

// Flag is a set of facts about a command.
type Flag uint32

// The facts that a row states: how the command runs, what limits it, and how clients see it.
const (
	// Unqueued commands run at once, not behind the session's other commands.
	Unqueued Flag = 1 << iota
	// Reads: the command reads the page or waits for it, and may run while one before it in
	// the session's queue waits, unless its parameters imply another command.
	Reads
	// Acts: the command changes the page, and its result has an effect.
	Acts
	// Static commands work without Chromium too.
	Static
	// NoSession commands need no session and open none.
	NoSession
	// OpensSession: the command opens the session that its parameters describe.
	OpensSession
	// BeginsSession: an agent's work begins with the command, so that a single request
	// (Caller.Stateless) opens a session with it.
	BeginsSession
	// NeedsSession: without a session the command is refused; other commands open one.
	NeedsSession
	// Offline: the command line runs the command itself where no daemon runs.
	Offline
	// Group commands run other commands. The action log records those, not the group.
	Group
	// NotInBatch commands cannot be part of a batch, nor a step of a script.
	NotInBatch
	// NotInScripts commands cannot be a step of a script.
	NotInScripts
	// WebSocketOnly commands concern one open connection: HTTP and the command line do not
	// have them.
	WebSocketOnly

	// ReadOnly commands are allowed under autonomy read_only: they navigate by address or
	// through the history, read the page, or concern the caller alone.
	ReadOnly
	// Unconfirmed commands run under autonomy supervised without an operator's
	// confirmation, unless the operator adds them to policy.confirm.
	Unconfirmed
	// Unaudited commands reach nothing outside browserd and change neither a page nor
	// what the session's pages see: the audit trail records them only when they are
	// refused, or when a parameter implies a command that it records.
	Unaudited
	// SessionWide commands concern every host of the session, whatever page is open. A
	// confirmation that an operator remembered for one host does not cover them.
	SessionWide
	// RunsScript: the command runs JavaScript of the agent's in a document.
	RunsScript
	// ChecksScript: right before each time that JavaScript of the agent's runs, the command calls CheckScript for
	// the document in which it does. JavaScript of other commands counts as run in every document.
	ChecksScript
	// HandedOff: the command works while a person drives its session, or is waited for. It
	// must not wait for the session's turn.
	HandedOff
	// URLPattern: the parameter url is a pattern, not where the command goes.
	URLPattern

	// MCPDefault commands are tools that an MCP client sees without asking for more. Each
	// costs tokens in every conversation: give it to what an ordinary task needs.
	MCPDefault
	// MCPCode commands are the tools of a client that writes scripts.
	MCPCode
	// MCPReadOnly sets the MCP hint readOnlyHint: the command changes nothing outside
	// browserd.
	MCPReadOnly
	// MCPNonDestructive clears the MCP hint destructiveHint: the command destroys nothing.
	MCPNonDestructive
	// MCPTimeout: the MCP tool has the parameter timeout_ms.
	MCPTimeout
	// WritesFile: the result holds a file, which the command line writes (-o).
	WritesFile
)

// Inspects are the flags of every command that only reads something.
const Inspects = ReadOnly | Unconfirmed | Unaudited | MCPReadOnly

// Is reports whether all of these facts hold.
func (r *Row) Is(f Flag) bool { return r.Flags&f == f }

// Command is a row with its code. Define makes one.
type Command struct {
	Row
	params reflect.Type
	result reflect.Type
	run    func(ctx context.Context, c *Call) (any, error)
}

// Define makes a command from its row and its func. It panics, when the program starts and in every test, if
// the row contradicts itself.
func Define[P, R any](row Row, run func(context.Context, *Call, *P) (R, error)) *Command {
	cmd := &Command{Row: row, params: reflect.TypeFor[P](), result: reflect.TypeFor[R](), run: func(ctx context.Context, c *Call) (any, error) {
		return run(ctx, c, c.Params.(*P))
	}}
	wrong := ""
	switch {
	case cmd.Name == "" || cmd.Summary == "":
		wrong = "it needs a name and a summary"
	case cmd.Flags&Acts != 0 && cmd.Flags&Unaudited != 0:
		wrong = "Acts and Unaudited: what changes a page is in the audit trail"
	case cmd.Flags&Acts != 0 && cmd.Flags&MCPReadOnly != 0:
		wrong = "Acts and MCPReadOnly: a command that acts changes something"
	case cmd.Price != ledger.Free && cmd.Flags&Unaudited != 0:
		wrong = "Price and Unaudited: what is paid for is in the audit trail"
	}
	if wrong != "" {
		panic(fmt.Sprintf("the row of %q: %s", row.Name, wrong))
	}
	return cmd
}

// Check finds mistakes that take too long to find in Define, for a test: parameters that the row names and that
// do not exist, and examples that the command refuses.
func (cmd *Command) Check() error {
	has := map[string]bool{"": true}
	for _, f := range fieldsOf(reflect.New(cmd.params).Elem()) {
		has[f.name] = true
		if f.tag.Get("doc") == "" {
			return fmt.Errorf("%s: parameter %s has no doc", cmd.Name, f.name)
		}
	}
	for _, f := range fieldsOf(reflect.ValueOf(Common{})) {
		has[f.name] = true
	}
	if !has[cmd.Main] || !has[cmd.Typed] || !has[cmd.LocalFiles] {
		return fmt.Errorf("%s: Main, Typed or LocalFiles is not one of its parameters", cmd.Name)
	}
	for _, i := range cmd.Implied {
		if !has[i.Parameter] || i.Parameter == "" {
			return fmt.Errorf("%s: Implied: %q is not one of its parameters", cmd.Name, i.Parameter)
		}
		if i.As.Is(ReadOnly) {
			return fmt.Errorf("%s: Implied: %s only reads", cmd.Name, i.As.Name)
		}
	}
	if len(cmd.Examples) == 0 {
		return fmt.Errorf("%s: needs an example", cmd.Name)
	}
	for _, e := range cmd.Examples {
		if _, err := cmd.Decode([]byte(e.Params), new(Common)); err != nil || e.For == "" {
			return fmt.Errorf("%s: example %q %s: %v", cmd.Name, e.For, e.Params, err)
		}
	}
	return nil
}

// Repertoire is a list of commands, in the order of their names.
type Repertoire []*Command

// Lookup finds a command by its name.
func (r Repertoire) Lookup(name string) (*Command, bool) {
	i := sort.Search(len(r), func(i int) bool { return r[i].Name >= name })
	if i < len(r) && r[i].Name == name {
		return r[i], true
	}
	return nil, false
}

// With returns the names of the commands for which all of these facts hold.
func (r Repertoire) With(f Flag) []string {
	return r.names(func(cmd *Command) bool { return cmd.Is(f) })
}

// Without returns the names of the commands for which not all of these facts hold.
func (r Repertoire) Without(f Flag) []string {
	return r.names(func(cmd *Command) bool { return !cmd.Is(f) })
}

func (r Repertoire) names(fits func(*Command) bool) []string {
	var names []string
	for _, cmd := range r {
		if fits(cmd) {
			names = append(names, cmd.Name)
		}
	}
	return names
}

// nearest names the up to three commands most like name.
func (r Repertoire) nearest(name string) []string {
	return Nearest(name, r.names(func(*Command) bool { return true }))
}

// Nearest returns up to three known words that word was most likely meant to be, the nearest first: those that
// differ in a few letters, and those that begin with it.
func Nearest(word string, known []string) []string {
	type scored struct {
		name string
		d    int
	}
	word = strings.ToLower(protocol.Cut(word, 40))
	best := []scored{}
	for _, k := range known {
		switch d := distance(word, k); {
		case len(word) > 2 && strings.HasPrefix(k, word):
			best = append(best, scored{k, 1})
		case d <= (len(word)+2)/3 && (d < 2 || word[0] == k[0]): // ref is not near tree
			best = append(best, scored{k, d})
		}
	}
	sort.SliceStable(best, func(i, j int) bool { return best[i].d < best[j].d })
	names := []string{}
	for i := 0; i < len(best) && i < 3; i++ {
		names = append(names, best[i].name)
	}
	return names
}

// distance returns the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		prev := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := prev
			if a[i-1] != b[j-1] {
				cost++
			}
			prev = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
