// Command browserd runs the daemon and the tools around it. It wires the packages
// together: it loads the configuration, gives each package its part, and waits
// for the signal to stop. It decides nothing that a package below it can decide.
//
// Exit codes: 0, success (also of a daemon that stopped on a signal); 1, the work
// failed or doctor found a fault; 2, nothing was done: the command line, the
// configuration or the address to listen on is wrong. A session's command exits
// by the kind of its error: 2 parameters, 3 the ref or its element, 4 timeout,
// 5 refused by the policy, 6 the page could not be loaded, 7 the browser, 8 the
// session or the daemon.
//
// Goroutines: run owns the server, Chromium and the ledger; when it returns, all
// that it started has ended.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
)

const (
	exitFailed  = 1
	exitRefused = 2
)

// quietFlag is a flag of every command.
const quietFlag = "quiet"

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs one command line and returns the exit code. Errors are written
// to stderr, each line with the program's name.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := untilSignal()
	defer stop()

	begun := false
	root := newRoot([]string{"completion"})
	of := root // the command that failed
	args, err := typedWords(root, args)
	if err == nil {
		root = newRoot(args)
		root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
			begun = true
			if quiet, _ := cmd.Flags().GetBool(quietFlag); quiet {
				root.SetErr(io.Discard)
			}
		}
		root.SetArgs(joinSwitches(root, args))
		root.SetOut(stdout)
		root.SetErr(stderr)
		of, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return 0
	}
	if !errors.Is(err, errReported) {
		text := err.Error()
		if next := otherwiseNext(of, err, begun); !strings.Contains(text, nextMark) && next != "" && ctx.Err() == nil {
			text += "\n" + nextMark + next
		}
		for line := range strings.SplitSeq(text, "\n") {
			fmt.Fprintln(stderr, "browserd:", line)
		}
	}
	return exitOf(err, begun)
}

// exitOf returns the exit code for an error; begun says that the command line was right.
func exitOf(err error, begun bool) int {
	if c := (coded{}); errors.As(err, &c) {
		return c.code
	}
	if r := (refusal{}); !begun || errors.As(err, &r) {
		return exitRefused
	}
	return exitFailed
}

// untilSignal returns a context that ends with the first signal to stop: SIGINT,
// SIGTERM, or SIGHUP unless it is ignored, as under nohup. A second SIGINT or SIGTERM
// ends the process at once; a second SIGHUP does not, because shell and kernel both
// send one when a terminal is closed.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stopping, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(stopping, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(stopping, syscall.SIGHUP)
	}
	go func() {
		for {
			select {
			case s := <-stopping:
				if number, ok := s.(syscall.Signal); ok && ctx.Err() != nil && s != syscall.SIGHUP {
					os.Exit(128 + int(number)) // as a shell tells of a process that a signal ended
				}
				cancel()
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(stopping)
		close(over)
		cancel()
	}
}

// newRoot returns the command line's tree, of which the commands that args name are
// complete.
func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "browserd",
		Short:         "Headless Chromium for agents: pages as small snapshots of refs",
		Example:       rootExamples,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().Bool(quietFlag, false, "write nothing to standard error but errors: no progress, no notes, no questions")
	root.SetFlagErrorFunc(explainFlag)
	root.SetGlobalNormalizationFunc(underscores)
	root.AddGroup(&cobra.Group{ID: groupCommands, Title: "Commands of a browsing session:"}, &cobra.Group{ID: groupTools, Title: "The daemon and its tools:"})
	root.SetHelpCommandGroupID(groupTools)
	root.SetCompletionCommandGroupID(groupTools)
	root.AddCommand(repertoire(args)...)
	root.AddCommand(watchCommand(args))
	for _, cmd := range []*cobra.Command{allowCommand(args), attachCommand(args), startCommand(args), stopCommand(args), restartCommand(args), serveCommand(args), demoCommand(args), configCommand(args), doctorCommand(args), healthcheckCommand(args), creditsCommand(args), auditCommand(args), fleetCommand(args), drainCommand(args), mcpCommand(args), installCommand(args), trustCommand(), secretCommand(args), skillCommand(), schemaCommand(), versionCommand()} {
		cmd.GroupID = groupTools
		root.AddCommand(cmd)
	}
	root.AddCommand(configurationTopic(args), commandsTopic())
	root.SetHelpFunc(helpOfRoot(root.HelpFunc()))
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{actions.Help.Name})
	help.Args = helpTopic
	help.Example = "  browserd help\n  browserd help commands\n  browserd help click"
	speaksHelp(help)
	if slices.Contains(args, "completion") {
		root.InitDefaultCompletionCmd()
		if completion, _, err := root.Find([]string{"completion"}); err == nil && completion != root {
			completion.Args = noShell
			completion.Example = "  source <(browserd completion bash)"
			completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

// The groups in which help lists the subcommands.
const (
	groupCommands = "commands"
	groupTools    = "tools"
)

// joinSwitches makes one word of a flag that takes true or false and the "true" or
// "false" behind it. Others take their value as a word of its own; pflag alone would
// switch the flag on and take its value for an argument: "type @e3 gold --submit
// false" would write "gold false" and send the form.
func joinSwitches(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil {
		return args
	}
	var joined []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			return append(joined, args[i:]...)
		}
		joined = append(joined, word)
		name, long := strings.CutPrefix(word, "--")
		flag := cmd.Flags().Lookup(name)
		if !long || flag == nil || i+1 == len(args) {
			continue
		}
		switch next := args[i+1]; {
		case flag.NoOptDefVal == "":
			joined = append(joined, next) // its value, whatever that looks like
			i++
		case next == "true" || next == "false":
			joined[len(joined)-1] = word + "=" + next
			i++
		}
	}
	return joined
}

// explainFlag names the flag that a misspelt one was most likely meant for, or what a flag accepts.
func explainFlag(cmd *cobra.Command, err error) error {
	if bad := (*pflag.InvalidValueError)(nil); errors.As(err, &bad) && flagTakes[bad.GetFlag().Value.Type()] != "" {
		return fmt.Errorf("--%s: accepts %s, not %q", bad.GetFlag().Name, flagTakes[bad.GetFlag().Value.Type()], bad.GetValue())
	}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return err
	}
	var own []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			own = append(own, f.Name)
		}
	})
	if near := command.Nearest(strings.ReplaceAll(missing.GetSpecifiedName(), "-", "_"), own); len(near) > 0 {
		return fmt.Errorf("%w: the nearest is --%s\n→ %s --help", err, near[0], cmd.CommandPath())
	}
	if key := config.NearestKey(missing.GetSpecifiedName()); key != "" && cmd.Flags().Lookup("config") != nil && cmd.Flags().Lookup(key) != nil {
		return badSetting{fmt.Errorf("%w: the nearest is --%s", err, key)}
	}
	return fmt.Errorf("%w\n→ %s --help", err, cmd.CommandPath())
}

// flagTakes says what a flag of each type accepts.
var flagTakes = map[string]string{"bool": "true or false", "int": "a whole number of up to 18 digits", "duration": "a time, such as 30s or 24h"}

// refusal is an error that kept the work from beginning.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// errReported is a failure of which stdout has said everything.
var errReported = errors.New("reported")

// runConfigured gives cmd the flags of the configuration and has it run f with what is configured.
func runConfigured(cmd *cobra.Command, args []string, f func(cmd *cobra.Command, args []string, c *config.Loaded) (err error)) {
	load := configured(cmd, args)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		return f(cmd, args, c)
	}
}

// configured gives cmd the flags of the configuration, where args name it: they
// are many. The returned function loads it; its errors are refusals.
func configured(cmd *cobra.Command, args []string) func() (*config.Loaded, error) {
	var path string
	if slices.Contains(args, cmd.Name()) {
		settings := pflag.NewFlagSet("", pflag.ContinueOnError)
		config.AddFlags(settings, &path)
		// They are many: help configuration lists them.
		settings.VisitAll(func(f *pflag.Flag) { f.Hidden = f.Name != "config" })
		cmd.Flags().AddFlagSet(settings)
	}
	return func() (*config.Loaded, error) {
		c, err := config.Load(config.Sources{Path: path, Flags: cmd.Flags()})
		if err != nil {
			return nil, refusal{badSetting{err}}
		}
		if c.IgnoredFile != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "browserd:", c.IgnoredFile)
		}
		return c, nil
	}
}
