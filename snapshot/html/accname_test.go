package html

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/snapshot"
)

const cases = "../../../shared/cases/"

// nameCase is one case of accname.json (README.md there).
type nameCase struct {
	ID, HTML, Role string
	Expect         struct{ Name *string }
	Agrees         bool `json:"chromium_agrees"`
	AnyRole        bool `json:"any_role"`
}

// namesKnown are the cases that do not pass, and why.
var namesKnown = map[string]string{
	"daa/name#43":            "an empty layout table shows a person nothing, and has no line",
	"axe/accessible-text#42": "two elements of one id, one of them in a shadow root: ids are looked for in the document alone",
}

// TestNameCases plays the role and name cases of accname.json that the live page
// is scored by, without Chromium.
func TestNameCases(t *testing.T) {
	raw, err := os.ReadFile(cases + "accname.json")
	if err != nil {
		untested.Skip(t, "the shared cases are not beside this checkout: %v", err)
	}
	var all []nameCase
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	o := snapshot.DefaultOptions()
	o.InteractiveOnly, o.MaxChars, o.MaxNodes, o.MaxDepth = false, 1<<20, 1<<20, 512
	scored, missed := 0, 0
	for _, c := range all {
		if !c.Agrees || c.Role == "none" || c.Role == "generic" {
			continue
		}
		scored++
		d, err := Parse(t.Context(), "<!doctype html><html><head><title>case</title></head><body>"+c.HTML+"</body></html>", nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Capture(t.Context(), o, snapshot.NewRefs(), nil)
		if err != nil {
			t.Fatal(err)
		}
		passes := c.in(got.Nodes)
		if reason := namesKnown[c.ID]; reason != "" && passes {
			t.Errorf("%s passes, although %s: strike it off the list", c.ID, reason)
		}
		if !passes {
			missed++
			if namesKnown[c.ID] != "" {
				continue
			}
			t.Errorf("%s: no %s %q in\n%s\nof %s", c.ID, c.Role, c.name(), dump(got), c.HTML)
		}
	}
	t.Logf("%d of %d cases", scored-missed, scored)
	if scored < 500 || missed*20 > scored { // 95 %
		t.Errorf("%d of %d cases missed", missed, scored)
	}
}

func (c nameCase) name() string {
	if c.Expect.Name == nil {
		return "(any)"
	}
	return *c.Expect.Name
}

func (c nameCase) in(nodes []snapshot.Node) bool {
	fold := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, n := range nodes {
		if n.Role == snapshot.RoleText || n.Role == "generic" || !c.AnyRole && n.Role != c.Role {
			continue
		}
		if c.Expect.Name == nil || fold(n.Name) == fold(*c.Expect.Name) {
			return true
		}
	}
	return false
}
