package compose

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// load reads a file as Docker Compose does: by its schema, with the variables set.
func load(t *testing.T, file, text string) (*types.Project, error) {
	t.Helper()
	at, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	if text == "" {
		b, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(at),
		ConfigFiles: []types.ConfigFile{{Filename: at, Content: []byte(text)}},
		Environment: types.Mapping{"BROWSERD_TOKEN": "0123456789abcdef", "BROWSERD_STATE__KEY": "a key of sixteen and more", "POSTGRES_PASSWORD": "password"},
	}, func(o *loader.Options) { o.SetProjectName("browserd", true) })
}

const fleetFile = "../../deploy/compose/compose.yaml"

// The files are Compose's, their daemons are as closed as they can be, and the fleet's differ in
// their names alone.
func TestComposeFiles(t *testing.T) {
	for _, file := range []string{"../../docker/compose.yaml", fleetFile} {
		p, err := load(t, file, "")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		nodes := 0
		for name, s := range p.Services {
			if s.Privileged || s.NetworkMode == "host" || s.Pid == "host" || len(s.CapAdd) > 0 || s.MemLimit == 0 {
				t.Errorf("%s: %s is privileged, or has no limit", file, name)
			}
			for _, port := range s.Ports {
				if port.HostIP != "127.0.0.1" {
					t.Errorf("%s: %s is reached from other machines, at port %s", file, name, port.Published)
				}
			}
			if s.Image != "browserd" {
				continue
			}
			nodes++
			if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.PidsLimit == 0 || s.ShmSize == 0 {
				t.Errorf("%s: %s is not closed", file, name)
			}
			profile := false
			for _, o := range s.SecurityOpt {
				if path, ok := strings.CutPrefix(o, "seccomp="); ok {
					_, err := os.Stat(filepath.Join(filepath.Dir(file), path))
					profile = err == nil
				}
			}
			if !profile {
				t.Errorf("%s: %s has no seccomp profile: %v", file, name, s.SecurityOpt)
			}
			if file == fleetFile && (s.Environment["BROWSERD_FLEET__NAME"] == nil || *s.Environment["BROWSERD_FLEET__NAME"] != name || s.Environment["BROWSERD_FLEET__DSN"] == nil) {
				t.Errorf("%s: %s is called %v in its fleet", file, name, s.Environment["BROWSERD_FLEET__NAME"])
			}
		}
		// postgres:17 makes its database with a server that only its socket reaches.
		if db, ok := p.Services["database"]; ok && !slices.Contains(db.HealthCheck.Test, "-h") {
			t.Errorf("%s: the database is healthy before the nodes reach it: %q", file, db.HealthCheck.Test)
		}
		if want := map[bool]int{true: 3, false: 1}[file == fleetFile]; nodes != want {
			t.Errorf("%s: %d daemons, want %d", file, nodes, want)
		}
	}
}

// A key that Compose does not know, and a variable that is not set, are found.
func TestComposeFilesWithFaults(t *testing.T) {
	b, err := os.ReadFile(fleetFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, fault string }{
		{"restart: unless-stopped", "restarts: unless-stopped", "restarts"},
		{"retries: 30", "retries: [30]", "retries"},
		{"depends_on: [one, two, three]", "depends_on: [one, two, four]", "four"},
		{"${POSTGRES_PASSWORD:?", "${POSTGRES_SECRET:?", "POSTGRES_SECRET"},
	} {
		_, err := load(t, fleetFile, strings.Replace(string(b), c.from, c.to, 1))
		if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v", c.to, err)
		}
	}
}

const proxyFile = "../../deploy/compose/haproxy.cfg"

// haproxy is where HAProxy is, which is not on everybody's PATH.
func haproxy(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"haproxy", "/usr/sbin/haproxy"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("haproxy is not installed")
	}
	t.Skip("haproxy is not installed")
	return ""
}

// The proxy takes its configuration.
func TestProxy(t *testing.T) {
	if out, err := exec.Command(haproxy(t), "-c", "-f", proxyFile).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// All requests of one connection reach one node, as the pieces of a profile have to, and the next
// connection reaches the next node that is ready.
func TestProxyKeepsAConnectionAtOneNode(t *testing.T) {
	program := haproxy(t)
	b, err := os.ReadFile(proxyFile)
	if err != nil {
		t.Fatal(err)
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken, err := front.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := front.Addr().String()
	front.Close() // HAProxy has it
	// As in the file, but for the names: the nodes are here, and the third one drains.
	text := strings.Replace(string(b), "bind :9333", "bind fd@3", 1)
	for _, name := range []string{"one", "two", "three"} {
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" && name == "three" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			fmt.Fprint(w, name)
		}))
		t.Cleanup(node.Close)
		text = strings.Replace(text, name+":9333", node.Listener.Addr().String(), 1)
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-q", "-db", "-f", file)
	cmd.Stderr, cmd.ExtraFiles = t.Output(), []*os.File{taken}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	answered := map[string]bool{}
	for deadline := time.Now().Add(20 * time.Second); len(answered) < 2 || answered["three"]; {
		if time.Now().After(deadline) {
			t.Fatalf("connections reach %v, want one and two, which are ready", answered)
		}
		answered = map[string]bool{}
		for range 3 {
			transport := &http.Transport{}
			first := ""
			for range 4 {
				name := ask(t, &http.Client{Transport: transport}, "http://"+address)
				if first == "" {
					first = name
				}
				if name != first {
					t.Fatalf("a connection that reached %s reaches %s with a later request", first, name)
				}
			}
			transport.CloseIdleConnections()
			answered[first] = true
		}
	}
}

// ask returns the body of the answer, which leaves the connection open for the next request.
func ask(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	return string(b)
}
