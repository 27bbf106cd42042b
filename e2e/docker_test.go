package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/demoapp"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// baseImage is what docker/Dockerfile stands on, without its digest: the engine of
// scripts/with-docker.sh has one that it made. The test never pulls it.
const baseImage = "debian:bookworm-slim"

// imageToken is the token of the daemons in containers.
const imageToken = "image-token-0123456789abcdef"

// engine is a Docker engine of this machine, by its command line.
type engine struct {
	t         *testing.T
	cli, host string
}

// findEngine returns the engine at BROWSERD_TEST_DOCKER (unix://…), at
// DOCKER_HOST, or where Docker is usually, and skips the test where none can
// build the image without pulling anything.
func findEngine(t *testing.T) *engine {
	t.Helper()
	const remedy = "scripts/with-docker.sh makes an engine for one run of it"
	host := "unix:///var/run/docker.sock"
	for _, name := range []string{"DOCKER_HOST", "BROWSERD_TEST_DOCKER"} {
		if h := os.Getenv(name); h != "" {
			host = h
		}
	}
	if !strings.HasPrefix(host, "unix://") {
		untested.Skip(t, "the image is not tried: the engine at %s is no engine of this machine; %s", host, remedy)
	}
	for _, cli := range []string{"/usr/bin/docker", "docker"} {
		e := &engine{t, cli, host}
		if _, err := e.try("version", "--format", "{{.Server.Version}}"); err != nil {
			continue
		}
		if _, err := e.try("image", "inspect", baseImage); err != nil {
			untested.Skip(t, "the image is not tried: the engine at %s has no %s, and a test pulls nothing; %s", host, baseImage, remedy)
		}
		return e
	}
	untested.Skip(t, "the image is not tried: no Docker engine answers at %s; %s", host, remedy)
	return nil
}

func (e *engine) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.cli, append([]string{"-H", e.host}, args...)...)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("docker %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), err
}

func (e *engine) do(args ...string) string {
	e.t.Helper()
	out, err := e.try(args...)
	if err != nil {
		e.t.Fatal(err)
	}
	return out
}

// build builds the image from a binary of this module and returns its name. It
// is removed when the test ends.
func (e *engine) build() string {
	e.t.Helper()
	root, err := testdaemon.Root()
	if err != nil {
		e.t.Fatal(err)
	}
	dir := e.t.TempDir()
	goBuild(e.t, filepath.Join(dir, "browserd"), "./cmd/browserd")
	for _, file := range []string{"LICENSE", "THIRD_PARTY_NOTICES", "docker/Dockerfile", "docker/seccomp.json"} {
		b, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			e.t.Fatal(err)
		}
		to := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			e.t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o644); err != nil {
			e.t.Fatal(err)
		}
	}
	name := fmt.Sprintf("browserd-test:%d", os.Getpid())
	begin := time.Now()
	e.do("build", "--network", "host", "-f", filepath.Join(dir, "docker", "Dockerfile"), "--target", "prebuilt", "--build-arg", "DEBIAN_IMAGE="+baseImage, "--build-arg", "BINARY=browserd", "-t", name, dir)
	e.t.Cleanup(func() { e.do("rmi", "-f", name) })
	e.t.Logf("built in %v", time.Since(begin).Round(time.Second))
	return name
}

// network makes a network of the test's own, from which no packet is
// translated to the outside, and returns its name and the host's address on it.
func (e *engine) network() (name, host string) {
	e.t.Helper()
	name = fmt.Sprintf("browserd-test-%d", os.Getpid())
	e.do("network", "create", "-o", "com.docker.network.bridge.enable_ip_masquerade=false", name)
	e.t.Cleanup(func() { e.do("network", "rm", name) })
	return name, e.do("network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", name)
}

// container is a running container of the image.
type container struct {
	*engine
	id   string
	addr string // of its daemon, on this machine's loopback
}

// run starts a container of the image, as the README does but for the port,
// and waits until its daemon answers. It is removed when the test ends.
func (e *engine) run(image, network, allow string, options ...string) *container {
	e.t.Helper()
	addr := freePort(e.t)
	_, port, _ := net.SplitHostPort(addr)
	args := []string{
		"run", "-d", "--network", network, "-p", addr + ":" + port,
		"-e", "BROWSERD_TOKEN=" + imageToken, "-e", "BROWSERD_SERVER__LISTEN=0.0.0.0:" + port, "-e", "BROWSERD_POLICY__ALLOW_HOSTS=" + allow,
		"--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
	}
	c := &container{engine: e, addr: addr}
	begin := time.Now()
	c.id = e.do(append(append(args, options...), image)...)
	e.t.Cleanup(func() {
		if e.t.Failed() {
			e.t.Logf("the container's log:\n%s", c.log())
		}
		e.do("rm", "-f", "-v", c.id)
	})
	c.eventually("the daemon answers", 30*time.Second, func() bool {
		resp, err := http.Get("http://" + addr + "/healthz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	e.t.Logf("from docker run to the daemon's first answer: %v", time.Since(begin).Round(time.Millisecond))
	return c
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (e *engine) eventually(what string, within time.Duration, holds func() bool) {
	e.t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(50 * time.Millisecond) { // the engine has no event for these
		if time.Now().After(end) {
			e.t.Fatalf("%s: not within %v", what, within)
		}
	}
}

func (c *container) log() string {
	out, err := exec.Command(c.cli, "-H", c.host, "logs", c.id).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// processes are what runs in the container, a line each: "STATE COMMAND…".
func (c *container) processes() []string {
	c.t.Helper()
	lines := strings.Split(c.do("top", c.id, "-eo", "pid,stat,args"), "\n")
	var list []string
	for _, l := range lines[1:] {
		list = append(list, strings.Join(strings.Fields(l)[1:], " "))
	}
	return list
}

// count counts the processes that pick picks.
func (c *container) count(pick func(line string) bool) int {
	n := 0
	for _, p := range c.processes() {
		if pick(p) {
			n++
		}
	}
	return n
}

func zombie(line string) bool        { return strings.HasPrefix(line, "Z") }
func headlessShell(line string) bool { return strings.Contains(line, "chromium-headless-shell") }

// call sends one command through the HTTP door.
func (c *container) call(method, body string, answer any) int {
	c.t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+c.addr+"/v1/"+method, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+imageToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		c.t.Fatalf("%s: HTTP %d: %v", method, resp.StatusCode, err)
	}
	return resp.StatusCode
}

// The image is built and run as the README says: an agent's loop passes from
// outside, the sandbox is on, nothing is root, and no zombie is left, also
// where Chromium was killed. Without the seccomp profile the container says
// what to add, and Chromium is not started at all.
func TestImage(t *testing.T) {
	e := findEngine(t)
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	image := e.build()
	t.Logf("size: %s bytes", e.do("image", "inspect", "-f", "{{.Size}}", image))
	profile := filepath.Join(root, "docker", "seccomp.json")
	want, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.do("run", "--rm", "--network", "none", "--entrypoint", "cat", image, "/usr/share/browserd/seccomp.json"); got != strings.TrimSpace(string(want)) {
		t.Error("the profile in the image is not docker/seccomp.json")
	}
	loop := filepath.Join(t.TempDir(), "loop")
	goBuild(t, loop, "./examples/go")
	network, host := e.network()
	app := serveOn(t, host)

	t.Run("with its profile", func(t *testing.T) {
		e := &engine{t, e.cli, e.host}
		begin := time.Now()
		c := e.run(image, network, host, "--security-opt", "seccomp="+profile, "--shm-size", "1g", "--health-interval", "1s")
		line := []string{loop, "ws://" + c.addr + "/v1/ws", app}
		checkLoop(t, t.TempDir(), imageToken, loopPrints, line)
		t.Logf("from docker run to the end of the agent's loop: %v", time.Since(begin).Round(time.Millisecond))

		c.checkSandbox(app)
		c.checkDoctor()
		if uid := e.do("exec", c.id, "id", "-u"); uid != "10001" {
			t.Errorf("the daemon is user %s", uid)
		}
		c.eventually("the healthcheck says healthy", 20*time.Second, func() bool {
			return e.do("inspect", "-f", "{{.State.Health.Status}}", c.id) == "healthy"
		})

		c.killBrowser()
		c.eventually("nothing of Chromium is left after it was killed, no zombie either", 10*time.Second, func() bool { return c.count(headlessShell) == 0 && c.count(zombie) == 0 })
		checkLoop(t, t.TempDir(), imageToken, loopPrints, line)
		c.eventually("no zombie after the loops", 10*time.Second, func() bool { return c.count(zombie) == 0 })

		e.do("stop", "-t", "10", c.id)
		if code := e.do("inspect", "-f", "{{.State.ExitCode}}", c.id); code != "0" {
			t.Errorf("docker stop: exit code %s", code)
		}
	})

	t.Run("without", func(t *testing.T) {
		e := &engine{t, e.cli, e.host}
		c := e.run(image, network, host)
		const add = "add --security-opt seccomp=seccomp.json"
		if log := c.log(); !strings.Contains(log, "a seccomp filter forbids them here") || strings.Count(log, add) != 1 {
			t.Errorf("the container's log does not say what to add:\n%s", log)
		}
		var refused struct{ Error protocol.ErrorData }
		status := c.call("open", fmt.Sprintf(`{"url":%q,"source":"chromium"}`, app), &refused)
		if status != http.StatusServiceUnavailable || refused.Error.Code != protocol.ChromiumUnavailable || !strings.Contains(refused.Error.Next, add) {
			t.Errorf("open: HTTP %d, %+v", status, refused.Error)
		}
		if n := c.count(headlessShell); n > 0 {
			t.Errorf("%d processes of Chromium run without a sandbox: %q", n, c.processes())
		}
	})
}

// killBrowser kills Chromium's browser process, which leaves its children to
// whoever is their parent then.
func (c *container) killBrowser() {
	c.t.Helper()
	var status struct{ Chromium struct{ Running bool } }
	if c.call("status", "{}", &status); !status.Chromium.Running {
		c.t.Fatal("Chromium does not run")
	}
	// The brackets keep the shell from finding itself.
	c.do("exec", c.id, "sh", "-c", `for p in /proc/[0-9]*; do
		if tr '\0' ' ' <$p/cmdline | grep '[h]eadless-shell' | grep -qv -- --type=; then kill -9 ${p#/proc/}; fi
	done`)
	c.eventually("the daemon knows that Chromium was killed", 10*time.Second, func() bool {
		c.call("status", "{}", &status)
		return !status.Chromium.Running
	})
}

// serveOn serves the demo app on the host's address in the containers' network.
func serveOn(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: demoapp.Handler()}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String() + "/"
}

// checkSandbox opens a page and asks the daemon how its renderer is confined.
func (c *container) checkSandbox(app string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	conn, err := client.Dial(ctx, "ws://"+c.addr+"/v1/ws", imageToken)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Call(ctx, "open", params{"url": app}, nil); err != nil {
		c.t.Fatal(err)
	}
	var status struct {
		Chromium struct{ Sandbox string }
		Egress   struct{ Mode, Why string }
	}
	c.eventually("the sandbox is on", 10*time.Second, func() bool {
		if err := conn.Call(ctx, "status", nil, &status); err != nil {
			c.t.Fatal(err)
		}
		return status.Chromium.Sandbox == "on"
	})
	if status.Egress.Mode != "jail" {
		c.t.Errorf("Chromium has no network of its own: %+v", status.Egress)
	}
	if n := c.count(func(line string) bool { return strings.Contains(line, "--no-sandbox") }); n > 0 {
		c.t.Errorf("%d processes run with --no-sandbox", n)
	}
	if err := conn.Call(ctx, "session_close", nil, nil); err != nil {
		c.t.Error(err)
	}
}

// checkDoctor has browserd doctor look at the container from inside.
func (c *container) checkDoctor() {
	c.t.Helper()
	var report struct {
		Checks []struct{ Name, Status, Text string }
	}
	out := c.do("exec", c.id, "browserd", "doctor", "--json")
	if err := json.NewDecoder(io.LimitReader(strings.NewReader(out), 1<<20)).Decode(&report); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
	fine := map[string]bool{}
	for _, check := range report.Checks {
		fine[check.Name] = check.Status == "ok"
		if check.Status == "fail" {
			c.t.Errorf("doctor: %s: %s", check.Name, check.Text)
		}
	}
	for _, name := range []string{"sandbox", "user namespaces", "jail", "shared memory", "temporary directory", "fonts"} {
		if !fine[name] {
			c.t.Errorf("doctor: %s is not ok:\n%s", name, out)
		}
	}
}
