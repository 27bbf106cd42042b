package command_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/ledger"
)

// A row that would leave something out of the audit trail, or misinform a client, stops
// the program when it starts.
func TestDefineRefusesContradictions(t *testing.T) {
	for wrong, row := range map[string]command.Row{
		"a name and a summary": {Name: "greet"},
		"Acts and Unaudited":   {Name: "greet", Summary: "Greets.", Flags: command.Acts | command.Inspects},
		"Acts and MCPReadOnly": {Name: "greet", Summary: "Greets.", Flags: command.Acts | command.MCPReadOnly},
		"Price and Unaudited":  {Name: "greet", Summary: "Greets.", Flags: command.Unaudited, Price: ledger.PerFetch},
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, wrong) {
					t.Errorf("got %q, want %q", said, wrong)
				}
			}()
			command.Define(row, func(context.Context, *command.Call, *struct{}) (struct{}, error) { return struct{}{}, nil })
		}()
	}
}

// What a row leaves unsaid is read in the most careful way.
func TestABareRowIsCareful(t *testing.T) {
	row := command.Row{Name: "greet", Summary: "Greets."}
	for name, flag := range map[string]command.Flag{
		"ReadOnly": command.ReadOnly, "Unconfirmed": command.Unconfirmed, "Unaudited": command.Unaudited,
		"MCPReadOnly": command.MCPReadOnly, "MCPNonDestructive": command.MCPNonDestructive, "MCPDefault": command.MCPDefault, "MCPCode": command.MCPCode, "Offline": command.Offline,
	} {
		if row.Is(flag) {
			t.Errorf("a row that says nothing is %s", name)
		}
	}
}

// A suggestion is a word with a few wrong letters, or the rest of one; nothing far-fetched.
func TestNearest(t *testing.T) {
	known := []string{"click", "count", "fill", "find", "focus", "ping", "screenshot", "snapshot", "type", "wait"}
	for word, want := range map[string]string{
		"clik": "[click]", "CLICK": "[click]", "fidn": "[fill find]", "screen": "[screenshot]", "snapshto": "[snapshot]",
		"goto": "[]", "xyzzy": "[]", "a": "[]", "close": "[]", "hello": "[]", "evaluate": "[]", "pint": "[ping]", "gait": "[wait]", "tall": "[]", "": "[]",
	} {
		if got := fmt.Sprint(command.Nearest(word, known)); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
