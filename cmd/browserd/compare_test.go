package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/policy"
)

// A daemon of another version is told apart, also where its program lies elsewhere.
func TestOtherProgram(t *testing.T) {
	path, built := program()
	own := about{Version: buildVersion(), Program: path, Built: built}
	if is := own.otherProgram(); is != "" {
		t.Errorf("this program's daemon %s", is)
	}
	older := own
	older.Version, older.Program = "v0.0.1", "/elsewhere/browserd"
	if is := older.otherProgram(); !strings.Contains(is, "is version v0.0.1, and this program is "+buildVersion()) {
		t.Errorf("another version's daemon %q", is)
	}
}

// What a daemon was started with is compared with what this shell has, apart from hosts
// that were allowed while it ran.
func TestDifferences(t *testing.T) {
	hosts := func(h ...string) config.Value { return config.Value{Key: policy.KeyAllowHosts, Value: h} }
	for name, c := range map[string]struct {
		there, here config.Value
		allowed     []string
		want        int
	}{
		"the same list":         {hosts("a", "b"), hosts("a", "b"), nil, 0},
		"allowed since":         {hosts("a"), hosts("a", "b"), []string{"b"}, 0},
		"allowed until it ends": {hosts("a"), hosts("a"), []string{"b"}, 0},
		"not allowed":           {hosts("a"), hosts("a", "b"), nil, 1},
		"forgotten":             {hosts("a", "b"), hosts("a"), nil, 1},
		"a number from JSON":    {config.Value{Key: "session.max", Value: 3.0}, config.Value{Key: "session.max", Value: 3}, nil, 0},
		"another number":        {config.Value{Key: "session.max", Value: 3.0}, config.Value{Key: "session.max", Value: 4}, nil, 1},
		"who may come in":       {config.Value{Key: "auth.tokens[0].agent", Value: "a"}, config.Value{Key: "auth.tokens[0].agent", Value: "b"}, nil, 0},
	} {
		d := about{Settings: []config.Value{c.there}, Allowed: c.allowed}
		if got := d.differences([]config.Value{c.here}); len(got) != c.want {
			t.Errorf("%s: %s", name, cmp.Diff(c.there, c.here))
		}
	}
}
