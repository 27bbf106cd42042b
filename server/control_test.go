package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
)

// What the daemon's own user may do is reached by the socket alone: over TCP there is
// nothing at its paths, whatever token is shown.
func TestControlIsForTheSocket(t *testing.T) {
	runtime := testRuntime(newSite(), io.Discard)
	cfg := testConfig()
	tokens := []Token{{Agent: "alice", Token: aliceToken}, {Agent: "operator", Token: bobToken, Role: RoleOperator}}
	s, err := New(cfg, tokens, runtime, func() []Source { return nil })
	if err != nil {
		t.Fatal(err)
	}
	s.Control(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "controlled") }))
	path := filepath.Join(t.TempDir(), "s")
	socket, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, tcp, socket) }()
	ask := func(network, address, token string) (int, string) {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}
		req, err := http.NewRequest(http.MethodPost, "http://localhost"+ControlPath+"stop", nil)
		if err != nil {
			t.Fatal(err)
		}
		if network == "tcp" {
			req.Host = tcp.Addr().String()
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if status, body := ask("unix", path, ""); status != http.StatusOK || body != "controlled" {
		t.Errorf("by the socket: %d %s", status, body)
	}
	for token, want := range map[string]int{"": http.StatusUnauthorized, aliceToken: http.StatusNotFound, bobToken: http.StatusNotFound} {
		if status, body := ask("tcp", tcp.Addr().String(), token); status != want || body == "controlled" {
			t.Errorf("over TCP with token %q: %d %s", token, status, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
