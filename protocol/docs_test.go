package protocol_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

var update = flag.Bool("update", false, "write docs/errors.md")

const errorsFile = "../docs/errors.md"

func TestErrorsDocIsFresh(t *testing.T) {
	if *update {
		if err := os.WriteFile(errorsFile, []byte(protocol.Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(errorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), protocol.Markdown()); diff != "" {
		t.Errorf("docs/errors.md is stale, run go test ./protocol -update:\n%s", diff)
	}
}

// A row is complete, and no code, number or meaning is there twice.
func TestCodesAreComplete(t *testing.T) {
	seen := map[any]protocol.Code{}
	for _, r := range protocol.Codes {
		if r.When == "" || r.Next == "" || r.HTTP < 400 || r.RPC >= 0 {
			t.Errorf("%s is not complete: %+v", r.Code, r)
		}
		for _, v := range []any{r.Code, r.RPC, r.When} {
			if first, twice := seen[v]; twice {
				t.Errorf("%v is there for %s and for %s", v, first, r.Code)
			}
			seen[v] = r.Code
		}
		if got := r.Code.Row(); got != r {
			t.Errorf("%s has the row %+v", r.Code, got)
		}
	}
}
