package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// AllowHosts changes one list in the user's own file, whatever form that has, and no
// other file.
func TestAllowHosts(t *testing.T) {
	for name, c := range map[string]struct{ before, after, fault string }{
		"no file":         {"", "policy:\n  allow_hosts:\n    - localhost:8000\n", ""},
		"comments alone":  {"# mine\n", "# mine\n\npolicy:\n  allow_hosts:\n    - localhost:8000\n", ""},
		"an empty key":    {"policy:\n", "policy:\n  allow_hosts:\n    - localhost:8000\n", ""},
		"a list":          {"policy:\n  allow_hosts: [a.test] # one\n  ports: [80]\n", "policy:\n  allow_hosts: [a.test, 'localhost:8000'] # one\n  ports: [80]\n", ""},
		"words":           {"policy: {allow_hosts: \"a.test,b.test\"}\n", "policy: {allow_hosts: [a.test, b.test, 'localhost:8000']}\n", ""},
		"there already":   {"policy: {allow_hosts:   [localhost:8000]}\n", "policy: {allow_hosts:   [localhost:8000]}\n", ""},
		"an unknown key":  {"polcy: {}\nx: 1\n", "polcy: {}\nx: 1\n", "unknown key x"},
		"a dotted key":    {"policy.allow_hosts: [a.test]\n", "policy.allow_hosts: [a.test, 'localhost:8000']\n", ""},
		"no YAML":         {"policy: [\n", "policy: [\n", "did not find"},
		"other keys stay": {"log: {level: warn}\n", "log: {level: warn}\npolicy:\n  allow_hosts:\n    - localhost:8000\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("XDG_CONFIG_HOME", dir)
			t.Setenv("HOME", dir)
			path, err := Sources{}.userFile()
			if err != nil {
				t.Fatal(err)
			}
			if c.before != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(c.before), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err = AllowHosts(&Loaded{}, []string{"localhost:8000"})
			if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got %v, want %q", err, c.fault)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != c.after {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.after)
			}
			if info, err := os.Stat(path); c.before != "" && (err != nil || info.Mode().Perm() != 0o644) {
				t.Errorf("the mode is now %v", info.Mode())
			}
			if c.before == "" && c.fault == "" {
				if _, err := ForgetHosts(&Loaded{}, []string{"localhost:8000"}); err != nil {
					t.Error(err)
				}
				if got, _ := os.ReadFile(path); string(got) != "policy:\n  allow_hosts: []\n" {
					t.Errorf("forgotten: %s", got)
				}
			}
		})
	}
	for _, other := range []Loaded{{File: "x.yaml", Named: true}, {File: "/etc/browserd/browserd.yaml"}} {
		if _, err := AllowHosts(&other, []string{"localhost"}); err == nil || !strings.Contains(err.Error(), other.File) {
			t.Errorf("%s: %v", other.File, err)
		}
	}
}
