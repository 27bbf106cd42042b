package browser

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// startRemote runs the Chromium at path as somebody else would, and returns its http
// address.
func startRemote(t *testing.T, path string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "browserd-remote-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--no-first-run", "--remote-debugging-port=0", "--user-data-dir="+filepath.Join(dir, "profile"), "about:blank")
	cmd.Env, cmd.Dir = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir), dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 { // Chromium does not sandbox root
		const nobody = 65534
		os.Chown(dir, nobody, nobody)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{}}
	}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		eventually(t, 5*time.Second, "its profile can be removed", func() bool { return os.RemoveAll(dir) == nil })
	})
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if _, at, ok := strings.Cut(lines.Text(), "DevTools listening on ws://"); ok {
			host, _, _ := strings.Cut(at, "/")
			return "http://" + host
		}
	}
	t.Fatal("it does not listen")
	return ""
}

// A Chromium that runs elsewhere reaches the proxies of its sessions at the
// one address that is advertised, each with its own list.
func TestRemoteThroughTheAdvertisedProxy(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	advertised := free.Addr().String()
	free.Close()
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer site.Close()
	builds(t, func(t *testing.T, cfg chromium.Config) {
		found, err := chromium.Find(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.New(policy.Config{AllowHosts: []string{"127.0.0.1"}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := policy.NewEgress(policy.EgressOptions{Advertise: advertised}, p.AddSelf)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		address := startRemote(t, found.Path)
		c := started(t, chromium.Config{Endpoint: address, Remote: chromium.Remote{Advertised: true}})
		b := New(c, discard())
		b.StartPool(Pool{Egress: func() (Egress, error) { return e.Unbound() }})
		g := &guarded{b, c, e, p}
		open := g.open(t, policy.GateOptions{}, quiet)
		shut := g.open(t, policy.GateOptions{AllowedDomains: []string{"example.com"}}, quiet)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := open.Open(ctx, site.URL+"/", protocol.WaitLoad); err != nil {
			t.Errorf("the open session: %v", err)
		}
		if _, err := shut.Open(ctx, site.URL+"/", protocol.WaitLoad); protocol.CodeOf(err) != protocol.PolicyDenied {
			t.Errorf("the narrowed session: %v", err)
		}
	})
}
