package chromium

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// startRemote runs a Chromium that somebody else started, on port of loopback
// ("0": a free one), and returns its http address and a func that kills it.
func startRemote(t *testing.T, path, port string) (string, func()) {
	t.Helper()
	owner, err := processOwner(Config{})
	if err != nil {
		t.Fatal(err)
	}
	prof, err := newProfile("", owner, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out lockedBuffer
	cmd := exec.Command(path, "--headless=new", "--no-first-run", "--remote-debugging-port="+port, "--user-data-dir="+prof.userData(), "about:blank")
	cmd.Env, cmd.Dir = environment(os.Environ(), prof, false), prof.dir
	confine(cmd, owner)
	cmd.SysProcAttr.Pdeathsig = 0 // this goroutine's thread may end
	cmd.Stderr = &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	var once sync.Once
	kill := func() {
		once.Do(func() {
			if err := killTree(cmd.Process, prof.userData(), exited); err != nil {
				t.Error(err)
			}
			if err := prof.remove(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(kill)
	listens := regexp.MustCompile(`DevTools listening on ws://([^/]+)/`)
	var address string
	eventually(t, 20*time.Second, "listening", func() bool {
		if m := listens.FindStringSubmatch(out.String()); m != nil {
			address = "http://" + m[1]
		}
		return address != ""
	})
	return address, kill
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestEndpoint(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		path := describeProgram(t, cfg)
		address, kill := startRemote(t, path, "0")
		cfg.Path, cfg.Endpoint, cfg.EndpointUnprotected = "", address, true
		c := started(t, cfg)
		lost := make(chan string, 1)
		c.OnLost(func(gen Generation, cause string) { lost <- cause })
		conn, gen, err := c.Conn(t.Context())
		if err != nil || gen != 1 {
			t.Fatal(gen, err)
		}
		openPage(t, conn)
		if i := c.Info(); !i.Running || i.PID != 0 || i.Path != address || !strings.Contains(i.Product, "Chrome/") {
			t.Errorf("%+v", i)
		}
		call := conn.Session("").Send("Target.getTargets", nil)
		if err := call.Wait(t.Context(), nil); err != nil {
			t.Error(err)
		}
		kill()
		select {
		case cause := <-lost:
			t.Log(cause)
		case <-time.After(2 * time.Second):
			t.Fatal("the loss was not told")
		}
		if err := c.Warm(t.Context()); protocol.CodeOf(err) != protocol.ChromiumUnavailable || !strings.Contains(err.Error(), "nothing answers at "+address) {
			t.Errorf("%v", err)
		}
		_, port, _ := strings.Cut(strings.TrimPrefix(address, "http://"), ":")
		startRemote(t, path, port)
		if _, gen, err := c.Conn(t.Context()); err != nil || gen != 2 {
			t.Errorf("generation %d, %v", gen, err)
		}
	})
}

func describeProgram(t *testing.T, cfg Config) string {
	found, err := Find(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return found.Path
}

// What an endpoint with a token answers, and does not answer, never shows the
// token.
func TestEndpointErrorsKeepTokens(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	for _, endpoint := range []string{
		s.URL + "/?token=hush",
		strings.Replace(s.URL, "http://", "http://ann:hush@", 1),
		strings.Replace(s.URL, "http://", "ws://", 1) + "/devtools/browser/1?token=hush",
		"http://127.0.0.1:1/?token=hush",
		"ws://127.0.0.1:1/devtools/browser/1?token=hush",
	} {
		c := Start(t.Context(), Config{Endpoint: endpoint, EndpointUnprotected: true}, discard())
		err := c.Warm(t.Context())
		if protocol.CodeOf(err) != protocol.ChromiumUnavailable || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", endpoint, err)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if err := Start(t.Context(), Config{Endpoint: s.URL}, discard()).Warm(t.Context()); err == nil || !strings.Contains(err.Error(), "without browserd's checks") {
		t.Errorf("%v", err)
	}
}
