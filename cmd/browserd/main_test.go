package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"browserd": main})
}

// The sessions at the terminal in testdata/script. Each has a home of its own
// and no BROWSERD_ variable but those that it sets; PORT is free, TAKEN is not; SITE is a web site.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Defer(func() { taken.Close() })
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer free.Close()
			site := httptest.NewServer(http.HandlerFunc(siteOfScripts))
			env.Defer(site.Close)
			env.Setenv("SITE", site.URL)
			fake, err := impostor(env, "")
			if err != nil {
				return err
			}
			relay, err := impostor(env, free.Addr().String())
			if err != nil {
				return err
			}
			env.Setenv("IMPOSTOR", fake)
			env.Setenv("RELAY", relay)
			env.Setenv("TAKEN", taken.Addr().String())
			env.Setenv("PORT", free.Addr().String())
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"await": await},
	})
}

// siteOfScripts is a page at /, a SearXNG at /search, what was sent at /echo, and at
// /hang nothing: the file that its query names says that it was asked.
func siteOfScripts(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/search":
		json.NewEncoder(w).Encode(map[string]any{"results": []any{map[string]string{"title": "Found", "url": "https://found.example/", "content": r.URL.Query().Get("q")}}})
	case "/hang":
		os.WriteFile(r.FormValue("asked"), []byte("asked\n"), 0o600)
		<-r.Context().Done()
	case "/echo":
		io.Copy(w, r.Body)
	default:
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>Gold</title><h1>Gold</h1><p>An ounce costs 2400 dollars.")
	}
}

// impostor listens where a daemon might and writes down, in the file stolen, all that
// it is sent. It answers as a healthy daemon, or passes everything on to the daemon at
// real.
func impostor(env *testscript.Env, real string) (address string, err error) {
	stolen, err := os.OpenFile(env.WorkDir+"/stolen", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	env.Defer(func() { l.Close(); stolen.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := io.TeeReader(c, stolen)
				if real != "" {
					to, err := net.Dial("tcp", real)
					if err != nil {
						return
					}
					defer to.Close()
					go io.Copy(to, in)
					io.Copy(c, to)
					return
				}
				for requests := bufio.NewReader(in); ; {
					r, err := http.ReadRequest(requests)
					if err != nil {
						return
					}
					io.Copy(io.Discard, r.Body)
					body := "ok\n"
					if r.URL.Path == "/proof" {
						body = `{"nonce":"` + strings.Repeat("0", 64) + `","proofs":["` + r.FormValue("nonce") + `"]}`
					}
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				}
			}()
		}
	}()
	return l.Addr().String(), nil
}

// await FILE TEXT waits until FILE, which a background command writes, holds
// TEXT. There is no event for that, so it looks again and again.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE TEXT")
	}
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		f, err := os.Open(ts.MkAbs(args[0]))
		if err == nil {
			for lines := bufio.NewScanner(f); lines.Scan(); {
				if strings.Contains(lines.Text(), args[1]) {
					f.Close()
					return
				}
			}
			f.Close()
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("%s never held %q", args[0], args[1])
}
