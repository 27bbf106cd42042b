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
		"Acts and Unaudited":   {Name: "greet", Summary: "Greets.", Marks: command.Acts | command.Looking},
		"Acts and Harmless":    {Name: "greet", Summary: "Greets.", Marks: command.Acts | command.Harmless},
		"Price and Unaudited":  {Name: "greet", Summary: "Greets.", Marks: command.Unaudited, Price: ledger.PerFetch},
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
	for name, mark := range map[string]command.Mark{
		"ReadOnly": command.ReadOnly, "Unasked": command.Unasked, "Unaudited": command.Unaudited,
		"Harmless": command.Harmless, "Undoable": command.Undoable, "Everyday": command.Everyday, "Offline": command.Offline,
	} {
		if row.Is(mark) {
			t.Errorf("a row that says nothing is %s", name)
		}
	}
}
