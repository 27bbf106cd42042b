package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/browserd/browserd/internal/testdaemon"
)

var updateFirstHour = flag.Bool("update-first-hour", false, "write what the sessions in testdata/firsthour show now")

// The first hour of somebody who has just built browserd, at a terminal: each script in
// testdata/firsthour has a home of its own and nothing set. What it plays is a session in a
// shell at a pseudo-terminal, with the whole of what the screen shows.
func TestFirstHour(t *testing.T) {
	aboutOneProcess(t, "the command line starts it")
	t.Parallel()
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	if err := os.Symlink(bin, filepath.Join(path, "browserd")); err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command(bin, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	app := strings.TrimSuffix(demoServer(t), "/")
	_, port, _ := strings.Cut(strings.TrimPrefix(app, "http://"), ":")
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "firsthour"),
		UpdateScripts: *updateFirstHour,
		Setup: func(e *testscript.Env) error {
			// A free address, and an environment without a setting: the daemon that has it is stopped.
			d := testdaemon.Start(t, testdaemon.Options{})
			d.Stop()
			e.Setenv("PATH", path+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("HOME", d.Home)
			e.Setenv("TERM", "xterm")
			for _, v := range d.Environ() {
				name, value, _ := strings.Cut(v, "=")
				if name == "BROWSERD_SERVER__LISTEN" || strings.HasPrefix(name, "BROWSERD_BROWSER__") {
					e.Setenv(name, value)
				}
			}
			for _, v := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
				e.Setenv(v, "")
			}
			h := firstHour{app: "localhost:" + port, dir: e.WorkDir, env: e.Vars, names: [][2]string{
				{`127\.0\.0\.1:` + port + `\b|localhost:` + port + `\b`, "localhost:8000"},
				{regexp.QuoteMeta(d.Addr), "127.0.0.1:9333"},
				{regexp.QuoteMeta(e.WorkDir) + `/?`, ""},
				{regexp.QuoteMeta(bin), "/usr/local/bin/browserd"},
				{regexp.QuoteMeta(d.Home), "~"},
				{regexp.QuoteMeta(strings.TrimSpace(strings.TrimPrefix(string(version), "browserd "))), "VERSION"},
				{`(already: |^Chromium +).*`, "${1}CHROMIUM"}, // its place and version
				{`^[0-9]+  `, "N  "}, // of requests and of the console
				{`^time=\S+`, "time=TIME"},
				{`at [0-9:]{8} UTC`, "at TIME"},
				{`ended_at: ".*"`, `ended_at: "TIME"`},
				{`\b20\d\d-\S+Z\b`, "TIME"},
				{`^(bytes: |  shop  bytes=)[0-9]+`, "${1}N"}, // a time is among them
				{`pid [0-9]+`, "pid PID"},
				{`up [0-9][^,)\n]*`, "up TIME"},
				{`^ +browser\.\S+ = .*\n`, ""}, // what a test of another Chromium sets
				{`\bs_[a-z0-9]{12}\b`, "s_NAME"},
			}}
			e.Values["firsthour"] = h
			stop := exec.Command(bin, "stop")
			stop.Env = e.Vars
			e.Defer(func() { stop.Run() })
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"terminal": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: terminal FILE")
				}
				shown := ts.Value("firsthour").(firstHour).play(t, ts.ReadFile(args[0]))
				ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(shown), 0o644))
			},
		},
	})
}

// firstHour is where the sessions are played.
type firstHour struct {
	app   string // host:port of what they call localhost:8000
	dir   string
	env   []string
	names [][2]string // what differs from one run to the next, as an expression, and what stands for it
}

// play runs the lines of a session that begin with "$ ", and types those that begin with "< "
// when the command before them asks. It returns the session with what the screen shows.
func (h firstHour) play(t *testing.T, session string) string {
	var played strings.Builder
	lines := strings.Split(session, "\n")
	for i, line := range lines {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		if played.Len() > 0 {
			played.WriteString("\n")
		}
		fmt.Fprintln(&played, line)
		var typed []string
		for _, next := range lines[i+1:] {
			answer, ok := strings.CutPrefix(next, "< ")
			if !ok {
				break
			}
			typed = append(typed, answer)
			fmt.Fprintln(&played, next)
		}
		played.WriteString(h.run(t, strings.ReplaceAll(command, "localhost:8000", h.app), typed))
	}
	return played.String()
}

// run runs a command in a shell at a terminal, and returns what that shows.
func (h firstHour) run(t *testing.T, command string, typed []string) string {
	tty, screen := terminal(t)
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.dir, h.env, tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	defer time.AfterFunc(2*time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }).Stop() // it asks for what nobody types
	var seen string
	for buffer := make([]byte, 4096); ; {
		n, err := screen.Read(buffer)
		if seen += string(buffer[:n]); err != nil {
			break // EIO: the last writer has closed it
		}
		if len(typed) > 0 && strings.HasSuffix(seen, "] ") {
			fmt.Fprintln(screen, typed[0])
			typed = typed[1:]
		}
	}
	if err := cmd.Wait(); err != nil {
		seen += fmt.Sprintf("(%v)\r\n", err)
	}
	const erased = "\r\x1b[K" // what stands before it in the line is progress, and gone
	seen = regexp.MustCompile(`[^\n]*`+regexp.QuoteMeta(erased)).ReplaceAllString(seen, "")
	seen = strings.ReplaceAll(seen, "\r\n", "\n")
	for _, name := range h.names {
		seen = regexp.MustCompile("(?m)"+name[0]).ReplaceAllString(seen, name[1])
	}
	return seen
}
