package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// composeVersion is the Docker Compose that the test builds: the last one that speaks to Debian's engine.
const composeVersion = "github.com/docker/compose/v2/cmd@v2.40.3"

// composed is deploy/compose/compose.yaml on an engine.
type composed struct {
	*engine
	program, file string
	env           []string
}

const (
	composedAddr = "127.0.0.1:9333" // of the proxy, as the file says
	// Another machine: a network namespace, and the engine's address on the cable between them.
	outsideAddr, engineAddr = "198.51.100.2", "198.51.100.1"
)

// composeProgram builds Docker Compose.
func composeProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "docker-compose")
	begin := time.Now()
	for _, line := range [][]string{
		{"mod", "init", "compose"},
		{"get", composeVersion}, // which no go install takes: its go.mod excludes versions of others
		{"build", "-trimpath", "-ldflags", "-s -w", "-o", program, strings.Split(composeVersion, "@")[0]},
	} {
		cmd := exec.CommandContext(t.Context(), "go", line...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(line, " "), err, out)
		}
	}
	t.Logf("%s: built in %v", composeVersion, time.Since(begin).Round(time.Second))
	return program
}

func (c *composed) compose(args ...string) string {
	c.t.Helper()
	out, err := c.tryCompose(args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *composed) tryCompose(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, append([]string{"--progress", "plain", "-f", c.file}, args...)...)
	cmd.Env = c.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("docker compose %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), err
}

// service returns the container of a service.
func (c *composed) service(name string) *container {
	c.t.Helper()
	return &container{engine: c.engine, id: c.compose("ps", "-a", "-q", name), addr: composedAddr}
}

// inspect reads something of a container.
func (c *container) inspect(format string) string {
	c.t.Helper()
	return c.do("inspect", "-f", format, c.id)
}

// fleet is what browserd fleet says in a node.
func (c *composed) fleet(at string) (r fleet.Report) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.compose("exec", "-T", at, "browserd", "fleet", "--json")), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// owner is the service whose node has the session.
func (c *composed) owner(at, session string) string {
	c.t.Helper()
	r := c.fleet(at)
	for _, s := range r.Sessions {
		for _, n := range r.Nodes {
			if s.Session == session && s.Node == n.Node {
				return n.Name
			}
		}
	}
	c.t.Fatalf("nobody has %s: %+v", session, r)
	return ""
}

// post sends a command through the proxy, on a connection of its own, and fails the test where it fails.
func (c *composed) post(method string, p params) (r result) {
	c.t.Helper()
	if e := postOnce(c.t, composedAddr, imageToken, method, p, &r); e != nil {
		c.t.Fatalf("%s: %+v", method, e)
	}
	return r
}

// outside makes another machine, with a cable to the engine's, and returns its network namespace.
func outside(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("browserd-outside-%d", os.Getpid())
	ip := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	ip("netns", "add", name)
	t.Cleanup(func() { ip("netns", "del", name) })
	ip("link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", name)
	ip("addr", "add", engineAddr+"/24", "dev", "cable")
	ip("link", "set", "cable", "up")
	ip("-n", name, "addr", "add", outsideAddr+"/24", "dev", "cable")
	ip("-n", name, "link", "set", "cable", "up")
	ip("-n", name, "route", "add", "default", "via", engineAddr)
	return "/run/netns/" + name
}

// inNamespace calls f on a thread in another network namespace. A socket that f makes stays there.
func inNamespace(path string, f func() error) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		file, err := os.Open(path)
		if err == nil {
			defer file.Close()
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = f()
		}
		failed <- err
	}()
	return <-failed
}

// startComposed builds what the file names, and starts it as its first lines say.
func startComposed(t *testing.T) *composed {
	t.Helper()
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	e := findEngine(t)
	c := &composed{engine: e, program: composeProgram(t), file: filepath.Join(root, "deploy", "compose", "compose.yaml")}
	c.env = append(os.Environ(), "DOCKER_HOST="+e.host, "BROWSERD_TOKEN="+imageToken, "BROWSERD_STATE__KEY="+fleetKey, "POSTGRES_PASSWORD=password-of-the-database", "BROWSERD_POLICY__ALLOW_HOSTS="+outsideAddr)
	e.do("tag", e.build(), "browserd")
	t.Cleanup(func() { e.do("rmi", "browserd") })
	for image, from := range map[string]string{"postgres:17": "postgres", "haproxy:3.2": "haproxy"} {
		e.do("build", "--network", "host", "-t", image, filepath.Join(root, "e2e", "testdata", "compose", from))
		t.Cleanup(func() { e.do("rmi", image) })
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, err := c.tryCompose("ps", "-a")
			logs, err2 := c.tryCompose("logs", "--no-color", "--timestamps", "--tail", "60")
			t.Logf("%s\n%s\n%v", out, logs, errors.Join(err, err2))
		}
		c.compose("down", "-v")
	})
	c.up()
	return c
}

// up waits until all are up, and those with a healthcheck healthy.
func (c *composed) up() {
	c.t.Helper()
	begin := time.Now()
	c.compose("up", "-d", "--wait", "--wait-timeout", "240")
	c.t.Logf("docker compose up: all are healthy after %v", time.Since(begin).Round(time.Second))
}

var composedNodes = []string{"one", "two", "three"}

// The fleet of deploy/compose/compose.yaml, started by Docker Compose as its first lines say: three
// nodes serve as one behind the proxy, and go on where one is killed or stopped; nothing but
// the proxy's port is there for anybody else; all end in time.
//
// Not tried: the images postgres:17 and haproxy:3.2, which no engine of ours can pull. Debian's
// PostgreSQL 15 and HAProxy 2.6 stand in for them (testdata/compose), started and stopped as
// the official images do it.
func TestCompose(t *testing.T) {
	if os.Getenv("BROWSERD_TEST_DOCKER") == "" {
		untested.Skip(t, "deploy/compose is not started: it takes an engine's images postgres:17, haproxy:3.2 and browserd, and port 9333; scripts/with-docker.sh makes an engine for one run of it")
	}
	machine := outside(t)
	c := startComposed(t)
	var l net.Listener
	if err := inNamespace(machine, func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(outsideAddr, "0"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	w := &pageServer{mux: http.NewServeMux()}
	posts := account(w)
	web := &http.Server{Handler: w.mux}
	go web.Serve(l)
	t.Cleanup(func() { web.Close() })
	site := "http://" + l.Addr().String()

	c.checkNodes()
	c.checkClosed(machine, l.Addr().String())

	c.post("session_open", params{"name": "work"})
	c.post("open", params{"session": "work", "url": site + "/login?as=ann"})
	c.post("eval", params{"session": "work", "expression": `localStorage.setItem("kept", "storage")`})
	buy := params{"session": "work", "ref": `role=button[name="Buy"]`}
	for range composedNodes { // each time at another node
		c.post("click", buy)
	}
	if posts.Load() != 3 {
		t.Errorf("three clicks bought %d times", posts.Load())
	}
	goesOn := func() {
		t.Helper()
		bought := posts.Load()
		c.post("click", buy)
		if posts.Load() != bought+1 {
			t.Errorf("one click bought %d times", posts.Load()-bought)
		}
		if r := c.post("read", params{"session": "work"}); !strings.Contains(r.Content, "ann") || !strings.Contains(r.Content, "kept storage") {
			t.Errorf("the session shows %q", r.Content)
		}
	}
	goesOn()

	// The session's node is killed: browser_lost once, then it goes on at another.
	killed := c.owner("one", "work")
	t.Logf("the session is at %s, which is killed", killed)
	c.service(killed).checkSandboxed()
	c.do("kill", c.service(killed).id)
	began := time.Now()
	e := postOnce(t, composedAddr, imageToken, "snapshot", params{"session": "work"}, nil)
	if took := time.Since(began); e == nil || e.Code != protocol.BrowserLost || e.Details["cause"] != "node_lost" || took > 15*time.Second {
		t.Errorf("after %v: %+v", took, e)
	} else {
		t.Logf("browser_lost after %v", took.Round(10*time.Millisecond))
	}
	goesOn()
	left := slices.DeleteFunc(slices.Clone(composedNodes), func(name string) bool { return name == killed })
	stopped := c.owner(left[0], "work")
	if stopped == killed {
		t.Fatalf("%s has the session, and was killed", killed)
	}
	c.up()
	c.checkNodes()

	c.stopUnderLoad(stopped, buy, posts)
	goesOn()
	if now := c.owner(killed, "work"); now == stopped {
		t.Errorf("%s has the session, and is stopped", now)
	}
	c.up()
	c.checkNodes()

	c.down()
	c.up()
	goesOn() // from the database, whose volume was kept
}

// checkNodes wants three nodes up, of one version, all without a restart, and each
// new connection at another of them.
func (c *composed) checkNodes() {
	c.t.Helper()
	r := c.fleet("one")
	var names []string
	for _, n := range r.Nodes {
		if n.State == fleet.StateLost { // was killed, and has come back as another
			continue
		}
		names = append(names, n.Name)
		if n.State != "up" || n.Version != r.Nodes[0].Version {
			c.t.Errorf("%+v", n)
		}
	}
	slices.Sort(names)
	if want := []string{"one", "three", "two"}; !slices.Equal(names, want) {
		c.t.Errorf("browserd fleet shows %q, want %q", names, want)
	}
	c.t.Logf("browserd fleet:\n%s", c.compose("exec", "-T", "one", "browserd", "fleet"))
	for _, name := range append([]string{"database", "proxy"}, composedNodes...) {
		if n := c.service(name).inspect("{{.RestartCount}}"); n != "0" {
			c.t.Errorf("%s was restarted %s times:\n%s", name, n, c.service(name).log())
		}
	}
	c.eventually("three connections reach three nodes", 20*time.Second, func() bool {
		reached := map[string]bool{}
		for range composedNodes {
			reached[c.process()] = true
		}
		return len(reached) == 3
	})
}

var began = regexp.MustCompile(`(?m)^process_start_time_seconds (.*)$`)

// process tells the node apart that a new connection reaches.
func (c *composed) process() string {
	c.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+composedAddr+"/metrics", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+imageToken)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		c.t.Fatal(err)
	}
	found := began.FindStringSubmatch(text.String())
	if found == nil {
		c.t.Fatalf("/metrics: %s\n%s", resp.Status, text.String())
	}
	return found[1]
}

// checkSandboxed looks at a node in which a session is.
func (c *container) checkSandboxed() {
	c.t.Helper()
	c.checkDoctor()
	if n := c.count(headlessShell); n == 0 {
		c.t.Error("no Chromium runs at the session's node")
	}
	if n := c.count(func(line string) bool { return strings.Contains(line, "--no-sandbox") }); n > 0 {
		c.t.Errorf("%d processes run with --no-sandbox", n)
	}
}

// checkClosed wants that another machine, with a route to the engine's networks, reaches
// neither the nodes nor the database, nor the proxy's port, which is on loopback; and that
// it would reach what listens for it.
func (c *composed) checkClosed(machine, site string) {
	c.t.Helper()
	dial := func(from, addr string) error {
		return inNamespace(from, func() error {
			conn, err := net.DialTimeout("tcp", addr, time.Second)
			if err == nil {
				conn.Close()
			}
			return err
		})
	}
	open, err := net.Listen("tcp", net.JoinHostPort(engineAddr, "0"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer open.Close()
	if err := dial(machine, open.Addr().String()); err != nil {
		c.t.Fatalf("the other machine does not even reach what is open: %v", err)
	}
	if err := dial(machine, net.JoinHostPort(engineAddr, "9333")); err == nil {
		c.t.Error("the proxy is reached from another machine")
	}
	ports := map[string][]string{"one": {"9333", "9334"}, "two": {"9333", "9334"}, "three": {"9333", "9334"}, "database": {"5432"}}
	for name, ports := range ports {
		s := c.service(name)
		for addr := range strings.FieldsSeq(s.inspect("{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}")) {
			for _, port := range ports {
				at := net.JoinHostPort(addr, port)
				if err := dial(machine, at); err == nil {
					c.t.Errorf("%s at %s is reached from another machine", name, at)
				}
				// This machine may: the engine's bridges are its own.
				if conn, err := net.DialTimeout("tcp", at, 5*time.Second); err != nil {
					c.t.Errorf("%s does not listen at %s: %v", name, at, err)
				} else {
					conn.Close()
				}
			}
		}
		if published := s.inspect("{{range .NetworkSettings.Ports}}{{range .}}{{.HostIp}}:{{.HostPort}} {{end}}{{end}}"); published != "" {
			c.t.Errorf("%s is published at %s", name, published)
		}
	}
	for addr := range strings.FieldsSeq(c.service("proxy").inspect("{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}")) {
		c.t.Logf("with a route to the proxy's container, another machine has at %s:9333: %v", addr, dial(machine, net.JoinHostPort(addr, "9333")))
	}
	inside := func(name string) string { return "/proc/" + c.service(name).inspect("{{.State.Pid}}") + "/ns/net" }
	if err := dial(inside("one"), site); err != nil {
		c.t.Errorf("a node does not reach the Web: %v", err)
	}
	if err := dial(inside("database"), site); err == nil {
		c.t.Error("the database reaches the Web")
	}
}

// stopUnderLoad stops the node that has the session while an agent goes on in it, each time on another
// connection: no command fails, none is done twice, and the node ends by itself.
func (c *composed) stopUnderLoad(name string, buy params, posts *atomic.Int32) {
	c.t.Helper()
	bought := posts.Load()
	var all sync.WaitGroup
	stop, clicks := make(chan struct{}), int32(0)
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if e := postOnce(c.t, composedAddr, imageToken, "click", buy, nil); e != nil {
				c.t.Errorf("while %s was stopped: %+v", name, e)
				return
			}
			clicks++
		}
	})
	s := c.service(name)
	begin := time.Now()
	c.compose("stop", name)
	took := time.Since(begin)
	close(stop)
	all.Wait()
	if code := s.inspect("{{.State.ExitCode}}"); code != "0" || took > 45*time.Second {
		c.t.Errorf("docker compose stop %s: exit code %s after %v", name, code, took)
	}
	if posts.Load()-bought != clicks || clicks == 0 {
		c.t.Errorf("%d clicks bought %d times", clicks, posts.Load()-bought)
	}
	c.t.Logf("docker compose stop %s: drained and ended in %v, %d clicks beside it", name, took.Round(time.Millisecond), clicks)
}

// down ends all, with a client connected, and wants that nobody had to be killed.
func (c *composed) down() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	conn, err := client.Dial(ctx, "ws://"+composedAddr+"/v1/ws", imageToken)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	begin := time.Now()
	c.compose("down")
	took := time.Since(begin)
	out := c.do("events", "--since", begin.Format(time.RFC3339), "--until", time.Now().Add(time.Second).Format(time.RFC3339),
		"--filter", "type=container", "--filter", "event=die", "--format", `{{index .Actor.Attributes "com.docker.compose.service"}} {{.Actor.Attributes.exitCode}}`)
	ended := strings.Split(out, "\n")
	slices.Sort(ended)
	if want := []string{"database 0", "one 0", "proxy 0", "three 0", "two 0"}; !slices.Equal(ended, want) {
		c.t.Errorf("docker compose down: exit codes %q, want %q", ended, want)
	}
	if left := c.do("ps", "-a", "-q"); left != "" {
		c.t.Errorf("docker compose down left %s", left)
	}
	c.t.Logf("docker compose down: %v", took.Round(time.Millisecond))
}
