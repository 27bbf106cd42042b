package actions

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/browserd/browserd/actions/command"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/commands.md")

const commandsFile = "../docs/commands.md"

func TestCommandsDocIsFresh(t *testing.T) {
	if *update {
		if err := os.WriteFile(commandsFile, []byte(All.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(commandsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), All.Markdown()); diff != "" {
		t.Fatalf("docs/commands.md is stale, run go test ./actions -update:\n%s", diff)
	}
}

// A command that waits for those before it, whatever its parameters are, is not marked "at once"; one that does so
// with a parameter is.
func TestWhatQueuesIsNotAtOnce(t *testing.T) {
	for row, want := range map[*command.Command]bool{Trace: false, Video: false, Downloads: true, Console: true, Click: false} {
		if got := row.Help().Unqueued; got != want {
			t.Errorf("%s is at once: %t, want %t", row.Name, got, want)
		}
	}
}

// Every row is complete, its examples are what the command accepts, and All is in the
// order of the names, so that Lookup finds each.
func TestRowsAreComplete(t *testing.T) {
	if !slices.IsSortedFunc(All, func(a, b *command.Command) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("All is not in the order of the names")
	}
	for _, cmd := range All {
		if err := cmd.Check(); err != nil {
			t.Error(err)
		}
		if got, ok := All.Lookup(cmd.Name); !ok || got != cmd {
			t.Errorf("Lookup(%q) does not find it", cmd.Name)
		}
		if _, err := os.Stat(cmd.Name + ".go"); err != nil {
			t.Errorf("%s has no file of its own: %v", cmd.Name, err)
		}
	}
}
