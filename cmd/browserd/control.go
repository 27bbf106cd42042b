package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server"
	"github.com/browserd/browserd/session"
)

// about is what a running daemon tells its own user, by its socket.
type about struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Program is its file, and Built when that was written, as both were at the start.
	Program string    `json:"program"`
	Built   time.Time `json:"built"`
	Address string    `json:"address"`
	// LogFile is where its log goes, if a command started it in the background.
	LogFile     string         `json:"log_file,omitempty"`
	File        string         `json:"config_file"`
	WorkdirFile string         `json:"workdir_file,omitempty"`
	Settings    []config.Value `json:"settings"`
	// Allowed are hosts that the user has allowed while it runs.
	Allowed []string `json:"allowed,omitempty"`
}

// uptime is for how long the daemon has run, for a person.
func (a about) uptime() string {
	d := time.Since(a.Started)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// program returns the file that this process runs, and when that was written.
func program() (path string, built time.Time) {
	path, err := os.Executable()
	if err != nil {
		return "", time.Time{}
	}
	if info, err := os.Stat(path); err == nil {
		built = info.ModTime()
	}
	return path, built
}

// controls answers the daemon's own user at server.ControlPath. Any goroutine may use it.
type controls struct {
	rules *policy.Policy
	stop  context.CancelFunc
	log   *slog.Logger
	// For the live view.
	sessions *session.Manager
	view     func(command.Viewing) (url string, expires time.Time)
	drain    func(context.Context) (moved, stay int, err error)
	chromium *chromium.Supervisor

	mu    sync.Mutex
	about about
}

func newControls(c *config.Loaded, logFile string, stop context.CancelFunc, log *slog.Logger) *controls {
	path, built := program()
	return &controls{stop: stop, log: log, about: about{
		PID: os.Getpid(), Version: buildVersion(), Started: time.Now(), Program: path, Built: built, Address: c.Server.Listen,
		LogFile: logFile, File: c.File, WorkdirFile: c.WorkdirFile, Settings: c.Values,
	}}
}

// ServeHTTP is http.Handler's.
func (c *controls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + strings.TrimPrefix(r.URL.Path, server.ControlPath) {
	case "GET about":
		c.mu.Lock()
		defer c.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(c.about)
	case "POST stop":
		c.log.Info("the user stops the daemon")
		w.WriteHeader(http.StatusAccepted)
		c.stop()
	case "POST allow":
		var hosts []string
		err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&hosts)
		if err == nil {
			err = c.allow(hosts)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	case "POST drain":
		c.serveDrain(w, r)
	case "POST attach":
		err := c.chromium.Attach(r.Context())
		if err != nil && protocol.CodeOf(err) != protocol.WaitingForConsent {
			http.Error(w, attachFailed(err), http.StatusBadRequest)
			return
		}
		io.WriteString(w, c.chromium.Info().Attached)
	case "GET attach":
		io.WriteString(w, c.chromium.Info().Attached)
	case "POST view":
		c.serveView(w, r)
	default:
		http.NotFound(w, r)
	}
}

// attachFailed is the error with its next step.
func attachFailed(err error) string {
	e := (*protocol.Error)(nil)
	if !errors.As(err, &e) {
		return err.Error()
	}
	return e.Message + "\n→ " + e.Data().Next
}

// allow opens hosts until the daemon ends.
func (c *controls) allow(hosts []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	hosts = slices.DeleteFunc(hosts, func(h string) bool { return slices.Contains(c.about.Allowed, h) })
	if len(hosts) == 0 {
		return nil
	}
	if _, err := c.rules.AddUntil(policy.Setting{Key: policy.KeyAllowHosts, Add: hosts}); err != nil {
		return err
	}
	c.about.Allowed = slices.Concat(c.about.Allowed, hosts)
	c.log.Info("the user allows hosts", policy.KeyAllowHosts, hosts)
	return nil
}

// pidAt names the daemon that has the socket, as far as it answers.
func pidAt(socket string) string {
	d, err := controlled{bySocket(socket)}.about(context.Background())
	if err != nil {
		return ""
	}
	return " (" + d.who() + ")"
}

// controlled is how the daemon's own user reaches its controls.
type controlled struct{ endpoint }

// errNoControls is returned where the daemon is not reached by its socket.
var errNoControls = fmt.Errorf("the daemon was not reached by its socket in the state directory, by which alone its user controls it")

func (c controlled) about(ctx context.Context) (about, error) {
	body, err := c.ask(ctx, http.MethodGet, "about", nil)
	said := about{}
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	return said, err
}

// stop ends the daemon and returns when it has ended.
func (c controlled) stop(ctx context.Context) error {
	if _, err := c.ask(ctx, http.MethodPost, "stop", nil); err != nil {
		return err
	}
	return awaitReleased(ctx, c.socket)
}

// allow opens hosts until the daemon ends.
func (c controlled) allow(ctx context.Context, hosts []string) error {
	body, err := json.Marshal(hosts)
	if err == nil {
		_, err = c.ask(ctx, http.MethodPost, "allow", body)
	}
	return err
}

func (c controlled) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	return c.await(ctx, method, path, body)
}

// await is ask for what takes as long as ctx allows.
func (c controlled) await(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	if c.socket == "" {
		return nil, errNoControls
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+server.ControlPath+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http().Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusBadRequest:
		return nil, fmt.Errorf("%s", strings.TrimSpace(string(answer)))
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("the daemon does not know %s%s: HTTP %d: it is another version's", server.ControlPath, path, resp.StatusCode)
	}
	return answer, nil
}
