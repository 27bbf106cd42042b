package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol"
)

// check is one thing that a user can get wrong, and how it stands.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warn or fail
	// Text says what was found; Remedy, where it is not ok, what to do.
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

const (
	statusOK   = string(chromium.LevelOK)
	statusWarn = string(chromium.LevelWarn)
	statusFail = string(chromium.LevelFail)
)

func doctorCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Check your setup and tell you how to fix it",
		Long:    `Checks your setup and tells you how to fix it. The exit code is 1 if a check fails.`,
		Example: "  browserd doctor\n  browserd doctor --json",
		Args:    cobra.NoArgs,
	}
	load := configured(cmd, args)
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object: {checks: [{name, status, text, remedy}]}")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		checks := examine(cmd.Context(), load)
		if err := report(cmd.OutOrStdout(), checks, *asJSON); err != nil {
			return err
		}
		for _, c := range checks {
			if c.Status == statusFail {
				return errReported
			}
		}
		return nil
	}
	return cmd
}

// examine runs the checks in the order in which their faults hide each other.
func examine(ctx context.Context, load func() (*config.Loaded, error)) []check {
	c, err := load()
	if err != nil {
		var faults []check
		for line := range strings.SplitSeq(err.Error(), "\n") {
			faults = append(faults, check{"configuration", statusFail, line, "fix that value; docs/configuration.md lists the keys"})
		}
		return faults
	}
	if dir, err := config.StateDir(); err == nil {
		c.Browser.StateDir = dir
	}
	c.Browser.Advertised = c.Policy.ProxyAdvertise != ""
	checks := []check{
		checkConfiguration(c),
		checkToken(c.Config),
		checkListen(ctx, c.Config),
		checkDaemon(ctx, c),
		checkMetadata(ctx, c.Config),
		checkDNS(ctx, c.Config),
	}
	for _, b := range chromium.Checks(ctx, c.Browser.Config) {
		checks = append(checks, check{b.Name, string(b.Level), b.Found, b.Remedy})
	}
	return checks
}

func report(w io.Writer, checks []check, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"checks": checks})
	}
	for _, c := range checks {
		if _, err := fmt.Fprintf(w, "%-4s  %s: %s\n", c.Status, c.Name, c.Text); err != nil {
			return err
		}
		if c.Remedy != "" {
			fmt.Fprintf(w, "      → %s\n", c.Remedy)
		}
	}
	return nil
}

func checkConfiguration(c *config.Loaded) check {
	text := "no file; defaults, environment and flags"
	if c.File != "" {
		text = c.File
	}
	if c.WorkdirFile != "" {
		text += "; over it " + c.WorkdirFile
	}
	if c.IgnoredFile != nil {
		return check{"configuration", statusWarn, text + "; " + c.IgnoredFile.String(), "leave it if you do not want it"}
	}
	if len(c.Ignored) > 0 {
		return check{"configuration", statusWarn, text + "; " + strings.Join(c.Ignored, ", ") + " in the environment is no key and is ignored",
			"keys are written BROWSERD_SECTION__KEY; leave it if it is not meant for browserd"}
	}
	return check{"configuration", statusOK, text, ""}
}

// checkToken says with what clients get in.
func checkToken(c config.Config) check {
	const name = "token"
	if len(c.Auth.Tokens) > 0 {
		return check{name, statusOK, "configured", ""}
	}
	dir, err := config.StateDir()
	if err != nil {
		return check{name, statusFail, "none is configured, and there is nowhere to keep one: " + err.Error(),
			"give this user a directory to write to (XDG_STATE_HOME), or set " + config.TokenEnv}
	}
	file := config.TokenFile(dir)
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return check{name, statusOK, "none yet; the first start makes it in " + file, ""}
	}
	if _, err := config.Token(dir); err != nil {
		return check{name, statusFail, err.Error(), "chmod 600 it, or remove it: the next start makes another"}
	}
	return check{name, statusOK, "in " + file, ""}
}

// checkDaemon looks at the daemon that runs, which may have other settings than the files.
func checkDaemon(ctx context.Context, c *config.Loaded) check {
	const name = "daemon"
	at, err := running(ctx, c)
	if err != nil {
		return check{name, statusOK, "none runs: the first command starts one", ""}
	}
	d, err := controlled{at}.about(ctx)
	if err != nil {
		return check{name, statusOK, "it runs; its process and settings are not known: " + err.Error(), ""}
	}
	text := fmt.Sprintf("pid %d, up %s, version %s", d.PID, d.uptime(), d.Version)
	if token, err := tokenOf(c.Config); err == nil {
		if _, err := (&client{endpoint: at, token: token}).call(ctx, actions.Ping.Name, nil); protocol.CodeOf(err) == protocol.Unauthorized {
			return check{name, statusFail, text + "; it does not know the token of this shell", tokenHelps}
		}
	}
	var faults []string
	if is := d.otherProgram(); is != "" {
		faults = append(faults, "it "+is)
	}
	for _, v := range d.shown(c.Values) {
		faults = append(faults, fmt.Sprintf("it does not have %s=%s (from %s)", v.here.Key, compact(v.here.Value), v.here.From))
	}
	if len(faults) > 0 {
		return check{name, statusWarn, text + "; " + strings.Join(faults, "; "), d.replaceIt()}
	}
	return check{name, statusOK, text, ""}
}

func checkListen(ctx context.Context, c config.Config) check {
	l, err := net.Listen("tcp", c.Server.Listen)
	if err == nil {
		l.Close()
		return check{"server.listen", statusOK, c.Server.Listen + " is free", ""}
	}
	token, unknown := tokenOf(c)
	if unknown == nil {
		_, unknown = find(ctx, c.Server, token)
	}
	if unknown == nil {
		return check{"server.listen", statusOK, "a browserd answers at " + c.Server.Listen, ""}
	}
	return check{"server.listen", statusFail, fmt.Sprintf("%s: %v", c.Server.Listen, cause(err)), "stop what listens there, or choose another address"}
}
