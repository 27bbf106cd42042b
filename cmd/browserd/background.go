package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/protocol/local"
	"github.com/browserd/browserd/server"
)

const (
	// backgroundIdle is how long a daemon that a command started stays without
	// sessions and clients.
	backgroundIdle = 15 * time.Minute
	// backgroundWithin is how long such a daemon may take until it answers.
	backgroundWithin = 30 * time.Second
)

// reach returns a client of the daemon at server.listen, which it starts in the
// background where none answers and the address is this machine's. That daemon ends by
// itself when it is idle.
//
// A flag that the running daemon was not given is refused; what else differs, its
// version among it, is said on stderr, each with the command that helps.
func reach(ctx context.Context, c *config.Loaded, stderr io.Writer) (*client, error) {
	token, err := tokenOf(c.Config)
	if err != nil {
		return nil, err
	}
	at, err := find(ctx, c.Server, token)
	switch {
	case errors.Is(err, local.ErrNotProved) && !byDefault(c):
		return nil, notProved(err)
	case err != nil:
		sayChromiumIsMissing(c, stderr)
		at, err = startDaemon(ctx, c, token, "--server.exit_when_idle", backgroundIdle.String())
	case at.socket != "":
		err = compare(ctx, c, at, stderr)
	}
	if err != nil {
		return nil, err
	}
	return &client{endpoint: at, token: token}, nil
}

// sayChromiumIsMissing says what a daemon that is started now will do without, and how
// to get it.
func sayChromiumIsMissing(c *config.Loaded, stderr io.Writer) {
	if c.Browser.Disabled || c.Browser.Endpoint != "" {
		return
	}
	var missing *protocol.Error
	_, err := chromium.Find(c.Browser.Config)
	if err == nil {
		err = chromium.CanSandbox(c.Browser.Config)
	}
	if errors.As(err, &missing) {
		fmt.Fprintf(stderr, "browserd: %s: pages are read without it\nbrowserd: → %s\n", missing.Message, missing.Data().Next)
	}
}

func notProved(err error) error {
	return fmt.Errorf("%w: the token was not sent; choose another server.listen, or set BROWSERD_TOKEN to that daemon's", err)
}

// byDefault reports whether nobody has chosen server.listen. Then whatever else has that
// port is none of the user's, and a daemon does with its socket.
func byDefault(c *config.Loaded) bool {
	return slices.Contains(c.Values, config.Value{Key: "server.listen", Value: c.Server.Listen, From: config.FromDefault})
}

// tokenOf returns what a client on this machine shows the daemon: BROWSERD_TOKEN, an
// agent's token of the configuration, or the one in the state directory. An
// operator's is used only where it is BROWSERD_TOKEN: whoever runs a command
// for an agent is not to confirm it as well by the way.
func tokenOf(cfg config.Config) (string, error) {
	if t := os.Getenv(config.TokenEnv); t != "" {
		return t, nil
	}
	for _, t := range cfg.Auth.Tokens {
		if t.Role != server.RoleOperator {
			return t.Token, nil
		}
	}
	dir, err := config.StateDir()
	if err != nil {
		return "", err
	}
	return config.Token(dir)
}

// startDaemon starts `browserd serve` so that it outlives this process, and
// waits until it answers. It gets this process's environment, the configuration's file
// and flags, and before those what more says. Its log is browserd.log in the state
// directory. Of two that start at once one gets the address; the other ends, and both
// callers are served.
func startDaemon(ctx context.Context, c *config.Loaded, token string, more ...string) (endpoint, error) {
	dir, err := config.StateDir()
	if err != nil {
		return endpoint{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return endpoint{}, fmt.Errorf("starting a daemon: %w", err)
	}
	path := filepath.Join(dir, "browserd.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return endpoint{}, fmt.Errorf("starting a daemon: %w", err)
	}
	defer log.Close()
	args := slices.Concat([]string{"serve", "--log-file", path, "--server.listen", c.Server.Listen}, more, c.Flags)
	if byDefault(c) {
		args = append(args, "--port-optional")
	}
	if c.Named {
		args = append(args, "--config", c.File)
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return endpoint{}, fmt.Errorf("starting a daemon: %w", err)
	}
	ended := make(chan error, 1) // one send, received at most once
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, backgroundWithin)
	defer cancel()
	for {
		at, err := find(ctx, c.Server, token)
		if err == nil {
			return at, nil
		}
		select {
		case <-ended:
			// Another may have been quicker to the address.
			if at, err := find(ctx, c.Server, token); err == nil {
				return at, nil
			}
			return endpoint{}, fmt.Errorf("the daemon that was started at %s ended at once; its log %s says: %s", c.Server.Listen, path, lastLine(path))
		case <-time.After(10 * time.Millisecond): // there is no event for a port that opens
		case <-ctx.Done():
			return endpoint{}, errors.Join(fmt.Errorf("the daemon that was started at %s does not answer: its log is %s", c.Server.Listen, path), ctx.Err())
		}
	}
}

// portOf returns the port of a listening address.
func portOf(listen string) string {
	_, port, _ := net.SplitHostPort(listen)
	return port
}

// dialable returns the listening address as a client on this machine dials it.
func dialable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}

// lastLine returns the last line of a file, for an error's sentence.
func lastLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	b = bytes.TrimRight(b, "\n")
	return string(b[bytes.LastIndexByte(b, '\n')+1:])
}
