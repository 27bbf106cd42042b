//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

const (
	annToken = "ann-token-0123456789"
	bobToken = "bob-token-0123456789"
)

// steady works in a session of its own until stop is called, which fails the
// test where one of its commands failed or was held up by what others did.
func steady(t *testing.T, d *testdaemon.Daemon, token, url string) (stop func()) {
	t.Helper()
	a := &agent{t: t, c: dialAs(t, d, token)}
	a.do("session_open", params{"source": "http"})
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var worst time.Duration
		for n := 0; ; n++ {
			select {
			case <-end:
				t.Logf("%d commands within the limits, the slowest took %v", n, worst.Round(time.Millisecond))
				return
			default:
			}
			began := time.Now()
			if _, err := a.try("open", params{"url": url}); err != nil {
				t.Errorf("a command within the limits: %v", err)
				return
			}
			if worst = max(worst, time.Since(began)); worst > 10*time.Second {
				t.Errorf("a command within the limits took %v", worst)
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

func dialAs(t *testing.T, d *testdaemon.Daemon, token string) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, d.WS(), token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// together sends n commands at once, spread over the connections, and counts
// the codes of their answers. Every refusal is looked at.
func together(t *testing.T, n int, clients []*client.Client, method string, p func(i int) params, refused func(e *protocol.Error)) map[protocol.Code]int {
	t.Helper()
	got := map[protocol.Code]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i := range n {
		all.Go(func() {
			err := clients[i%len(clients)].Call(ctx, method, p(i), nil)
			mu.Lock()
			defer mu.Unlock()
			var e *protocol.Error
			switch {
			case err == nil:
				got["ok"]++
			case errors.As(err, &e):
				got[e.Code]++
				refused(e)
			default:
				t.Errorf("%s: %v", method, err)
			}
		})
	}
	all.Wait()
	return got
}

// limited holds an error to its code's details.
func limited(t *testing.T, code protocol.Code, limit float64, keys ...string) func(e *protocol.Error) {
	return func(e *protocol.Error) {
		if e.Code != code || e.Details["limit"] != limit || e.Next == "" {
			t.Errorf("refused with %s, %v, next %q: want %s with limit %v", e.Code, e.Details, e.Next, code, limit)
		}
		for _, k := range keys {
			if _, ok := e.Details[k]; !ok {
				t.Errorf("%s without details.%s: %v", e.Code, k, e.Details)
			}
		}
	}
}

func wantCodes(t *testing.T, got map[protocol.Code]int, ok int, code protocol.Code, refused int) {
	t.Helper()
	if len(got) != 2 || got["ok"] != ok || got[code] != refused {
		t.Errorf("answered %v, want ok %d and %s %d", got, ok, code, refused)
	}
}

// At twice each limit, from many clients at once, as many as may be are served
// and the rest are told so; who stays within the limits notices nothing, and
// what was given up can be had again.
func TestTwiceEachLimit(t *testing.T) {
	const perAgent, sessions, queue, pending, connections, tabs, calls, body = 8, 12, 4, 16, 30, 3, 5, 256 << 10
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_AUTH__TOKENS":            fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"bob","token":%q}]`, annToken, bobToken),
		"BROWSERD_TOKEN":                   "",
		"BROWSERD_SESSION__MAX":            fmt.Sprint(sessions),
		"BROWSERD_SESSION__MAX_PER_AGENT":  fmt.Sprint(perAgent),
		"BROWSERD_SESSION__QUEUE":          fmt.Sprint(queue),
		"BROWSERD_SESSION__MAX_TABS":       fmt.Sprint(tabs),
		"BROWSERD_SERVER__MAX_PENDING":     fmt.Sprint(pending),
		"BROWSERD_SERVER__MAX_CONNECTIONS": fmt.Sprint(connections),
		"BROWSERD_SERVER__READ_LIMIT":      fmt.Sprint(body),
		"BROWSERD_LEDGER__WEB_PER_HOUR":    fmt.Sprint(calls),
	}})
	w := newPageServer(t)
	w.serve("/calm", page("calm", "<h1>Calm</h1>"), "")
	static := func(i int) params { return params{"name": fmt.Sprintf("n%d", i), "source": "http"} }
	var ann []*client.Client
	for range 4 {
		ann = append(ann, dialAs(t, d, annToken))
	}
	a := &agent{t: t, c: ann[0]}

	t.Run("sessions", func(t *testing.T) {
		defer steady(t, d, bobToken, w.URL+"/calm")()
		wantCodes(t, together(t, 2*perAgent, ann, "session_open", static, limited(t, protocol.SessionLimit, perAgent, "open")), perAgent, protocol.SessionLimit, perAgent)
		if !testdaemon.Fleet() { // about one process: session.max is each node's own
			// bob has one; with ann's eight there are three more for the whole daemon.
			bob := []*client.Client{dialAs(t, d, bobToken), dialAs(t, d, bobToken)}
			wantCodes(t, together(t, 6, bob, "session_open", static, limited(t, protocol.SessionLimit, sessions, "open")), 3, protocol.SessionLimit, 3)
			var list struct{ Sessions []struct{ Session string } }
			if err := bob[0].Call(t.Context(), "session_list", nil, &list); err != nil || len(list.Sessions) != 4 {
				t.Errorf("bob has %v, %v", list, err)
			}
			for _, s := range list.Sessions {
				if strings.HasPrefix(s.Session, "n") {
					(&agent{t: t, c: bob[0]}).do("session_close", params{"session": s.Session})
				}
			}
		}
		var own struct{ Sessions []struct{ Session string } }
		if err := ann[0].Call(t.Context(), "session_list", nil, &own); err != nil || len(own.Sessions) != perAgent {
			t.Fatalf("ann has %v, %v", own, err)
		}
		a.do("session_close", params{"session": own.Sessions[0].Session})
		a.do("session_open", params{"name": "again", "source": "http"}) // a place that was given up
		for _, s := range own.Sessions[1:] {
			a.do("session_close", params{"session": s.Session})
		}
	})
	t.Run("queue of a session", func(t *testing.T) {
		defer steady(t, d, bobToken, w.URL+"/calm")()
		waits := func(int) params { return params{"session": "again", "ms": 200} }
		// One runs and queue wait; they are sent faster than any can end.
		got := together(t, 2*(queue+1), ann, "wait", waits, limited(t, protocol.RateLimited, queue, "retry_after_s"))
		wantCodes(t, got, queue+1, protocol.RateLimited, queue+1)
		a.do("wait", params{"session": "again", "ms": 1})
	})
	t.Run("requests of a connection", func(t *testing.T) {
		defer steady(t, d, bobToken, w.URL+"/calm")()
		for i := range 7 {
			a.do("session_open", static(i))
		}
		waits := func(i int) params { return params{"session": fmt.Sprintf("n%d", i%7), "ms": 400} }
		got := together(t, 2*pending, ann[:1], "wait", waits, limited(t, protocol.RateLimited, pending, "retry_after_s"))
		wantCodes(t, got, pending, protocol.RateLimited, pending)
		a.do("ping", nil)
		for i := range 7 {
			a.do("session_close", params{"session": fmt.Sprintf("n%d", i)})
		}
	})
	t.Run("calls of the web tools", func(t *testing.T) {
		fetch := func(int) params { return params{"url": w.URL + "/calm"} }
		got := together(t, 2*calls, ann, "web_fetch", fetch, limited(t, protocol.RateLimited, calls, "retry_after_s"))
		wantCodes(t, got, calls, protocol.RateLimited, calls)
		(&agent{t: t, c: dialAs(t, d, bobToken)}).do("web_fetch", fetch(0)) // another agent's hour is its own
	})
	t.Run("tabs", func(t *testing.T) {
		defer steady(t, d, bobToken, w.URL+"/calm")()
		live := &agent{t: t, c: dialAs(t, d, annToken)}
		live.open(w.URL + "/calm")
		for range tabs - 1 {
			live.do("tab_new", nil)
		}
		for range tabs {
			limited(t, protocol.SessionLimit, tabs, "open")(live.refused("tab_new", nil, protocol.SessionLimit))
		}
		live.do("session_close", nil)
	})
	t.Run("bytes of a request", func(t *testing.T) {
		defer steady(t, d, bobToken, w.URL+"/calm")()
		large := strings.Repeat("a", 2*body)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/ping", strings.NewReader(`{"x":"`+large+`"}`))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+annToken)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("twice the largest body: HTTP %d", resp.StatusCode)
				}
			})
		}
		all.Wait()
		http.DefaultClient.CloseIdleConnections()
	})
	t.Run("connections", func(t *testing.T) {
		aboutOneProcess(t, "server.max_connections is each node's own")
		defer steady(t, d, bobToken, w.URL+"/calm")()
		var mu sync.Mutex
		var open []*websocket.Conn
		told := 0
		var all sync.WaitGroup
		for range 2 * connections {
			all.Go(func() {
				ws, resp, err := websocket.DefaultDialer.Dial(d.WS(), http.Header{"Authorization": {"Bearer " + annToken}})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					open = append(open, ws)
				case resp != nil && resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
					told++
				default: // beyond those that are told, a connection is closed without a word
				}
			})
		}
		all.Wait()
		if len(open) == 0 || len(open) >= connections || told == 0 {
			t.Errorf("%d more connections and %d refusals, with %d allowed in all", len(open), told, connections)
		}
		a.do("ping", nil) // those that were there stay
		for _, ws := range open {
			ws.Close()
		}
		until(t, 10*time.Second, "a place that was given up", func() bool {
			ws, _, err := websocket.DefaultDialer.Dial(d.WS(), http.Header{"Authorization": {"Bearer " + annToken}})
			if err == nil {
				ws.Close()
			}
			return err == nil
		})
	})
}
