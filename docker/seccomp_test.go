package docker

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/untested"
)

var update = flag.Bool("update", false, "write seccomp.json anew")

// defaultProfile is the module in which the engine's maintainers publish its
// default profile, as default.json.
const (
	defaultProfile = "github.com/moby/profiles/seccomp"
	defaultVersion = "v0.2.3"
)

// sandboxed are the calls with which Chromium makes its sandbox, and browserd
// the network namespace around it. The engine's default gives them only to
// containers with CAP_SYS_ADMIN or CAP_SYS_CHROOT, because each opens a part of
// the kernel to whoever may make user namespaces.
var sandboxed = []string{"chroot", "clone", "setns", "unshare"}

// enosys makes the C library take clone in the place of clone3, whose flags a
// filter cannot read.
const enosys = 38

type profile struct {
	DefaultAction   string           `json:"defaultAction"`
	DefaultErrnoRet int              `json:"defaultErrnoRet"`
	ArchMap         []map[string]any `json:"archMap"`
	Syscalls        []rule           `json:"syscalls"`
}

type rule struct {
	Names    []string         `json:"names"`
	Action   string           `json:"action"`
	ErrnoRet int              `json:"errnoRet,omitempty"`
	Args     []map[string]any `json:"args,omitempty"`
	Comment  string           `json:"comment,omitempty"`
	Includes map[string]any   `json:"includes,omitempty"`
	Excludes map[string]any   `json:"excludes,omitempty"`
}

// withSandbox is the engine's default in which the calls of the sandbox stand
// in two rules of their own and in no other.
func withSandbox(p profile) profile {
	taken := append([]string{"clone3"}, sandboxed...)
	var rules []rule
	for _, r := range p.Syscalls {
		r.Names = slices.DeleteFunc(slices.Clone(r.Names), func(name string) bool { return slices.Contains(taken, name) })
		if len(r.Names) > 0 {
			rules = append(rules, r)
		}
	}
	p.Syscalls = append(rules,
		rule{Names: sandboxed, Action: "SCMP_ACT_ALLOW", Comment: "Chromium's sandbox and browserd's jail"},
		rule{Names: []string{"clone3"}, Action: "SCMP_ACT_ERRNO", ErrnoRet: enosys, Comment: "clone is taken in its place"})
	return p
}

// seccomp.json is the engine's default and the calls of the sandbox, no more.
func TestSeccompProfileIsTheEnginesAndTheSandbox(t *testing.T) {
	dir := moduleDir(t)
	var p profile
	readJSON(t, filepath.Join(dir, "default.json"), &p)
	want, err := json.MarshalIndent(withSandbox(p), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("seccomp.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("seccomp.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), string(want)); d != "" {
		t.Errorf("seccomp.json is stale; go test ./docker -update writes it anew (-file +default)\n%s", d)
	}
}

// moduleDir is where the Go command keeps the engine's profile. It is fetched
// with -update alone.
func moduleDir(t *testing.T) string {
	t.Helper()
	if *update {
		out, err := exec.Command("go", "mod", "download", "-json", defaultProfile+"@"+defaultVersion).Output()
		if err != nil {
			t.Fatalf("fetching %s: %v", defaultProfile, err)
		}
		var m struct{ Dir string }
		if err := json.Unmarshal(out, &m); err != nil {
			t.Fatal(err)
		}
		return m.Dir
	}
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), defaultProfile+"@"+defaultVersion)
	if _, err := os.Stat(dir); err != nil {
		untested.Skip(t, "the engine's default profile is not on this machine: go test ./docker -update fetches it")
	}
	return dir
}

// Whatever the container's capabilities, the calls of the sandbox are allowed,
// and those by which a container is left are not.
func TestSeccompProfileWithoutCapabilities(t *testing.T) {
	var p profile
	readJSON(t, "seccomp.json", &p)
	if p.DefaultAction != "SCMP_ACT_ERRNO" {
		t.Errorf("what no rule names is %s", p.DefaultAction)
	}
	verdict := func(name string) string {
		for _, r := range p.Syscalls {
			// A rule with "includes" is for containers with that capability (or
			// for another architecture); one with arguments allows some of them.
			if slices.Contains(r.Names, name) && r.Includes["caps"] == nil && r.Args == nil {
				if r.ErrnoRet == enosys {
					return "no such call"
				}
				return r.Action
			}
		}
		return p.DefaultAction
	}
	for name, want := range map[string]string{
		"chroot": "SCMP_ACT_ALLOW", "clone": "SCMP_ACT_ALLOW", "setns": "SCMP_ACT_ALLOW", "unshare": "SCMP_ACT_ALLOW",
		"clone3": "no such call",
		"read":   "SCMP_ACT_ALLOW", "seccomp": "SCMP_ACT_ALLOW",
		"mount": "SCMP_ACT_ERRNO", "umount2": "SCMP_ACT_ERRNO", "pivot_root": "SCMP_ACT_ERRNO", "bpf": "SCMP_ACT_ERRNO",
		"init_module": "SCMP_ACT_ERRNO", "kexec_load": "SCMP_ACT_ERRNO", "open_by_handle_at": "SCMP_ACT_ERRNO",
		"perf_event_open": "SCMP_ACT_ERRNO", "keyctl": "SCMP_ACT_ERRNO", "userfaultfd": "SCMP_ACT_ERRNO", "io_uring_setup": "SCMP_ACT_ERRNO",
	} {
		if got := verdict(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields() // what we do not know we would lose
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// The Dockerfile builds with every engine: no frontend is fetched for it, and it
// has no here-documents. It ends as a user that is not root.
func TestDockerfileIsPlain(t *testing.T) {
	b, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	user := ""
	for line := range strings.Lines(string(b)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.HasPrefix(strings.TrimLeft(line, "# "), "syntax=") || strings.Contains(line, "<<"):
			t.Errorf("not every engine takes %q", line)
		case word == "USER":
			user = rest
		}
	}
	if user != "10001:10001" {
		t.Errorf("the image runs as %q", user)
	}
}
