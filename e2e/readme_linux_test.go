package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/internal/netns"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
)

// updateReadme is an environment variable, since the test runs in a second process.
const updateReadme = "BROWSERD_TEST_UPDATE_README"

// The README's commands, as they stand there: in a copy of the checkout, with an empty home, in a
// network namespace where example.com is served. testdata/readme.txt has their whole output. Not
// run are make test, of which this is a part, and the lines for Docker: TestReadmeDocker.
func TestReadmeBlocks(t *testing.T) {
	t.Parallel()
	if !netns.Inside(t, untested.InCI()) {
		return
	}
	for _, tool := range []string{"curl", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			untested.Missing(t, "the README's commands need %s", tool)
		}
	}
	internet := newHosts(t)
	internet.dns.Set("example.com", fakedns.Answer{A: []string{"93.184.216.34"}})
	internet.page = `<!doctype html><title>Example Domain</title><h1>Example Domain</h1><p>For use in documents. <a href="/more">Learn more</a>`

	dir := dirForAll(t, 0o755)
	checkout, home, bin := filepath.Join(dir, "checkout"), filepath.Join(dir, "home"), filepath.Join(dir, "bin")
	copyModule(t, checkout)
	for path, text := range map[string]string{
		bin + "/claude":   "#!/bin/sh\nprintf '%s\\n' \"$@\" >~/claude.args\n", // keeps what it is given
		home + "/.curlrc": "silent\n",                                          // without the transfer's times
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "MAKEFLAGS=s", "VERSION=",
		// With -trimpath, what other tests have built is not built again for this directory.
		"GOFLAGS=-buildvcs=false -trimpath", "CGO_ENABLED=0", "GOPROXY=off",
		"BROWSERD_POLICY__RESOLVER=" + internet.dns.Addr.String(), "SSL_CERT_FILE=" + internet.roots,
		"BROWSERD_BROWSER__ARGS=--ignore-certificate-errors-spki-list=" + internet.key,
	}
	if own := os.Getenv("BROWSERD_BROWSER__PATH"); own != "" {
		env = append(env, "BROWSERD_BROWSER__PATH="+own)
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	run := func(line string) string {
		cmd := exec.Command("sh", "-c", line) // not with the test's context, which ends before its clean-up
		cmd.Dir, cmd.Env = checkout, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			out = append(out, "("+err.Error()+")\n"...)
		}
		return string(out)
	}
	t.Cleanup(func() {
		if out := run("bin/browserd stop"); strings.Contains(out, "(exit status ") {
			t.Error(out)
		}
	})

	played, sessions := "", regexp.MustCompile(`\bs_[a-z0-9]+`)
	for _, line := range readmeLines(t) {
		played += "$ " + line + "\n"
		switch {
		case line == "make demo":
			shown, err := os.ReadFile(filepath.Join(checkout, "docs", "transcript.md"))
			if err != nil {
				t.Fatal(err)
			}
			if out := run(line); !strings.Contains(string(shown), "```\n"+out+"```") {
				t.Errorf("make demo does not print docs/transcript.md:\n%s", out)
			}
		case line == "make test", strings.HasPrefix(line, "docker "):
		default:
			played += sessions.ReplaceAllString(run(line), "s_NAME")
		}
	}

	const golden = "testdata/readme.txt"
	if os.Getenv(updateReadme) != "" {
		if err := os.WriteFile(golden, []byte(played), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), played); d != "" {
		t.Errorf("%s=1 go test ./e2e -run ReadmeBlocks writes %s again: -want +got\n%s", updateReadme, golden, d)
	}

	// What the MCP client was given is a server.
	given, err := os.ReadFile(filepath.Join(home, "claude.args"))
	if err != nil {
		t.Fatal(err)
	}
	_, server, _ := strings.Cut(strings.TrimSpace(string(given)), "\n--\n")
	args := strings.Split(server, "\n")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	if list, err := connect(t, &mcp.CommandTransport{Command: cmd}, nil).ListTools(t.Context(), nil); err != nil || len(list.Tools) < 20 {
		t.Errorf("claude was given %q: %v, %v", args, list, err)
	}
}

// Docker's client takes the README's flags, and asks for an engine. What an engine makes of
// them is in TestImage.
func TestReadmeDocker(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("docker"); err != nil {
		untested.Skip(t, "there is no docker, which reads the README's lines for containers")
	}
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, line := range readmeLines(t) {
		for part := range strings.SplitSeq(line, " && ") {
			if !strings.HasPrefix(part, "docker ") {
				continue
			}
			if m := regexp.MustCompile(` -f (\S+)`).FindStringSubmatch(part); m != nil {
				if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
					t.Errorf("%s: %v", part, err)
				}
			}
			if strings.HasPrefix(part, "docker build ") { // its client asks for an engine before it reads its flags
				continue
			}
			read++
			part, _, _ := strings.Cut(part, " > ")
			cmd := exec.CommandContext(t.Context(), "sh", "-c", part)
			cmd.Dir = filepath.Join(root, "docker") // where seccomp.json is
			cmd.Env = append(os.Environ(), "DOCKER_HOST=unix:///nonexistent/docker.sock", "DOCKER_CONTEXT=", "HOME="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err == nil || !regexp.MustCompile(`(?i)(cannot|failed to) connect to the docker`).Match(out) {
				t.Errorf("%s: %v\n%s", part, err, out)
			}
		}
	}
	if read == 0 {
		t.Error("the README has no line for Docker: does the pattern still match?")
	}
}

// readmeLines are the commands in the README's blocks, without their comments.
func readmeLines(t *testing.T) (lines []string) {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```\n(.*?)^```$").FindAllStringSubmatch(string(readme), -1) {
		if strings.HasPrefix(block[1], "→ ") {
			continue // the transcript: TestReadmeTranscript of cmd/browserd
		}
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, " # ")
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
