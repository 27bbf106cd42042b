package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// allowLocal is the flag that answers the question of askToAllow with yes.
const allowLocal = "allow-local"

func allowCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "allow [HOST[:PORT]...]",
		Short: "Let pages and tools reach a private host, such as localhost:8000",
		Long: `Lets pages and tools reach a private host: adds it to policy.allow_hosts in your
own configuration file, and tells the daemon that runs, which needs no restart. All
other private addresses stay closed. Without an argument it lists what is allowed.

With --once nothing is written: the host is allowed until the daemon ends.`,
		Example: "  browserd allow localhost:8000\n  browserd allow\n  browserd allow --forget localhost:8000",
	}
	once := cmd.Flags().Bool("once", false, "until the daemon ends")
	forget := cmd.Flags().Bool("forget", false, "no longer allow the host; a daemon that runs goes on allowing it")
	cmd.MarkFlagsMutuallyExclusive("once", "forget")
	runConfigured(cmd, args, func(cmd *cobra.Command, args []string, c *config.Loaded) (err error) {
		out := cmd.OutOrStdout()
		if len(args) == 0 {
			for _, v := range c.Values {
				if v.Key == policy.KeyAllowHosts {
					_, err = fmt.Fprintf(out, "%s %s (from %s)\n", v.Key, compact(v.Value), v.From)
				}
			}
			return err
		}
		hosts := make([]string, len(args))
		for i, word := range args {
			if hosts[i], err = openable(cmd.Context(), word); err != nil {
				return refusal{err}
			}
		}
		if *forget {
			path, err := config.ForgetHosts(c, hosts)
			if err == nil {
				fmt.Fprintf(out, "no longer allowed: %s (%s); a daemon that runs needs browserd restart\n", strings.Join(hosts, ", "), path)
			}
			return err
		}
		return allowHosts(cmd.Context(), c, hosts, !*once, out)
	})
	return cmd
}

// openable returns the host that a word names, as an entry of policy.allow_hosts, also where
// the word is a URL. It is an error where no entry would open it.
func openable(ctx context.Context, word string) (string, error) {
	if u, err := url.Parse(word); err == nil && u.Host != "" {
		word = u.Host
	}
	rules, err := policy.New(policy.Config{})
	if err != nil {
		return "", err
	}
	if _, err := rules.AddUntil(policy.Setting{Key: policy.KeyAllowHosts, Add: []string{word}}); err != nil {
		return "", err
	}
	if refused := (*protocol.Error)(nil); !strings.ContainsAny(word, "*/") {
		if _, err := rules.CheckURL(ctx, "http://"+word); errors.As(err, &refused) {
			return "", refused
		}
	}
	return word, nil
}

// allowHosts lets the daemon that runs open the hosts, and with keep every later one.
func allowHosts(ctx context.Context, c *config.Loaded, hosts []string, keep bool, out io.Writer) error {
	c.Policy.AllowHosts = slices.Concat(c.Policy.AllowHosts, hosts) // for what this process does itself
	named := strings.Join(hosts, ", ")
	runs := "no daemon runs"
	token, err := tokenOf(c.Config)
	if err != nil {
		return err
	}
	if at, err := find(ctx, c.Server, token); err == nil {
		runs = "the running daemon allows it now"
		if err := (controlled{at}).allow(ctx, slices.Clone(hosts)); err != nil {
			if !keep {
				return err
			}
			runs = fmt.Sprintf("the running daemon does not: %v: browserd restart", err)
		}
	} else if !keep {
		return refusal{errors.New("no daemon runs: without --once, later ones allow it")}
	}
	if !keep {
		_, err := fmt.Fprintf(out, "allowed until the daemon ends: %s\n", named)
		return err
	}
	path, err := config.AllowHosts(c, hosts)
	if err != nil {
		return fmt.Errorf("%s; not kept for later daemons: %w", runs, err)
	}
	fmt.Fprintf(out, "allowed: %s (in %s; %s)\n", named, path, runs)
	for _, v := range c.Values {
		if source, _, _ := strings.Cut(v.From, " "); v.Key == policy.KeyAllowHosts && (source == "flag" || source == "environment") {
			fmt.Fprintf(out, "%s is also set by the %s, which counts over the file: add it there too\n", v.Key, v.From)
		}
	}
	return nil
}

// closedHost returns the private host of which err says that an entry of policy.allow_hosts
// would open it; empty: err says something else.
func closedHost(err error) string {
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != protocol.PolicyDenied {
		return ""
	}
	would, _ := refused.Details["config"].(map[string]any)
	add := textsOf(would["add"])
	if would["key"] != policy.KeyAllowHosts || len(add) != 1 {
		return ""
	}
	return add[0]
}

// typed reports whether a person has named that host in the command's address. A page
// that leads there has not.
func typed(host string, address any) bool {
	raw, _ := address.(string)
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	return err == nil && (strings.EqualFold(u.Host, host) || strings.EqualFold(u.Hostname(), host))
}

// askToAllow asks the person at the terminal whether a closed host is to be allowed,
// and allows it. yes is the answer that was given before the question; it is false if
// nobody is there to answer.
func askToAllow(ctx context.Context, c *config.Loaded, host string, yes bool, in io.Reader, stderr io.Writer) (allowed bool, err error) {
	keep := false
	if !yes {
		if !isTerminal(stderr) || !isTerminal(in) {
			return false, nil
		}
		fmt.Fprintf(stderr, "Allow %s for this machine? [y/N/always] ", snapshot.Literally(host))
		answer, err := readLine(ctx, in)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
		case "a", "always":
			keep = true
		default:
			return false, nil
		}
	}
	return true, allowHosts(ctx, c, []string{host}, keep, stderr)
}

// readLine reads one line, unless a signal comes first.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1) // one send; if nobody waits any more the process ends
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// stdin is where a person answers.
var stdin io.Reader = os.Stdin
