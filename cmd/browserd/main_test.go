package main

import (
	"bufio"
	"encoding/json"
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
