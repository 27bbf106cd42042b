package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tool is a program of a release: on PATH, or in the directory RELEASE_TOOLS, into which make
// test-release builds it. Where there is none, the test is listed among those left out.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(filepath.Join(os.Getenv("RELEASE_TOOLS"), name))
	if err != nil || os.Getenv("RELEASE_TOOLS") == "" {
		path, err = exec.LookPath(name)
	}
	if err == nil {
		return path
	}
	if list := os.Getenv("NOT_TESTED"); list != "" {
		f, err := os.OpenFile(list, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := fmt.Fprintf(f, "%s: there is no %s: make test-release builds it\n", t.Name(), name); err != nil {
			t.Fatal(err)
		}
	}
	t.Skipf("there is no %s: make test-release builds it", name)
	return ""
}

// asked is a proxy on loopback for all that a program asks for: it refuses and remembers.
func asked(t *testing.T) (env []string, hosts func() []string) {
	var mu sync.Mutex
	var all []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		all = append(all, host)
		http.Error(w, "nothing leaves this machine", http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	return []string{"HTTPS_PROXY=" + proxy.URL, "HTTP_PROXY=" + proxy.URL, "NO_PROXY="}, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// What scripts/sign.sh signs by key is verified by that key, for that file alone, and neither
// asks anybody. Without a key it is keyless: it asks Sigstore, and writes nothing where that
// cannot be reached.
func TestASignatureByKey(t *testing.T) {
	cosign := tool(t, "cosign")
	dir := t.TempDir()
	env, hosts := asked(t)
	env = append(os.Environ(), append(env, "HOME="+dir, "COSIGN_PASSWORD=", "PATH="+filepath.Dir(cosign)+":"+os.Getenv("PATH"))...)
	call := func(more []string, name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(env, more...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	keys := map[string]string{}
	for _, name := range []string{"own", "other"} {
		if out, err := call(nil, cosign, "generate-key-pair", "--output-key-prefix", name); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		key, err := os.ReadFile(filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = string(key)
	}
	files := map[string]string{"SHA256SUMS": strings.Repeat("a", 64) + "  browserd_1.2.3_linux_amd64.tar.gz\n"}
	files["altered"] = strings.Replace(files["SHA256SUMS"], "a", "b", 1)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs("../../scripts/sign.sh")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := call([]string{"COSIGN_PRIVATE_KEY=" + keys["own"]}, script, "SHA256SUMS", "SHA256SUMS.sigstore.json"); err != nil {
		t.Fatalf("by key: %v\n%s", err, out)
	}
	for _, c := range []struct {
		key, file string
		verified  bool
	}{{"own", "SHA256SUMS", true}, {"own", "altered", false}, {"other", "SHA256SUMS", false}} {
		out, err := call(nil, cosign, "verify-blob", "--key", c.key+".pub", "--insecure-ignore-tlog", "--bundle", "SHA256SUMS.sigstore.json", c.file)
		if (err == nil) != c.verified || !c.verified && !strings.Contains(out, "invalid signature") {
			t.Errorf("%s with the key %s: %v, want verified: %v\n%s", c.file, c.key, err, c.verified, out)
		}
	}
	if got := hosts(); len(got) > 0 {
		t.Errorf("a signature by key asked %q", got)
	}

	out, err := call([]string{"COSIGN_PRIVATE_KEY="}, script, "SHA256SUMS", "keyless.json")
	if _, missing := os.Stat(filepath.Join(dir, "keyless.json")); err == nil || missing == nil {
		t.Errorf("keyless without Sigstore: %v, %v\n%s", err, missing, out)
	}
	if got := hosts(); len(got) == 0 || !strings.HasSuffix(got[0], ".sigstore.dev") {
		t.Errorf("keyless asked %q, want Sigstore\n%s", got, out)
	}
}
