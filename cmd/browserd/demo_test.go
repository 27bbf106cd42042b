package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/config"
)

// A demo shows its app while it plays, has a daemon that answers, and leaves
// neither behind, also when the play fails.
func TestDemoEndsWhatItStarts(t *testing.T) {
	c, err := config.Load(config.Sources{Env: []string{}, Dir: t.TempDir(), UserDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	app := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the app") })
	var log, out strings.Builder
	var app1 string
	failed := errors.New("the play failed")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = demo(ctx, c.Config, app, func(ctx context.Context, call caller, base string, w io.Writer) error {
		app1 = base
		resp, err := http.Get(base)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		fmt.Fprintf(w, "%s\n", body)
		return failed
	}, &out, slog.New(slog.NewTextHandler(&log, nil)))
	if !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if out.String() != "the app\n" {
		t.Errorf("got %q", out.String())
	}
	if !strings.Contains(log.String(), "listening on http://127.0.0.1:") || !strings.Contains(log.String(), "msg=stopped") {
		t.Errorf("the daemon did not start or did not end:\n%s", log.String())
	}
	if resp, err := http.Get(app1); err == nil {
		resp.Body.Close()
		t.Error("the app is still served")
	}
	if !reflect.DeepEqual(c.Policy.AllowHosts, []string{}) || len(c.Auth.Tokens) > 0 {
		t.Errorf("the demo changed its caller's configuration: %+v %+v", c.Policy, c.Auth.Tokens)
	}
}

// The examples of docs/recipes.md are tried against the app alone.
func TestDemoServesItsApp(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveApp(ctx, "127.0.0.1:0", w) }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(page), "Pantry") {
		t.Errorf("%s shows %q, %v", line, page, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
