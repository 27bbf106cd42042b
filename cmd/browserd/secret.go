package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/shelf"
)

// secretFile is the sealed file of the secrets. Any goroutine may call its methods.
type secretFile struct {
	store *session.Store[secret.File]

	mu   sync.Mutex
	seen session.Saved // what was read last
	file secret.File
}

// ofAll is the name of the one file, which is no agent's.
const ofAll = "secrets"

func newSecretFile(on shelf.Shelf, c config.Config) *secretFile {
	return &secretFile{store: session.NewStore(on, session.Kind{
		Noun: "file of secrets", Key: c.State.Key, Count: 1, Bytes: 8 << 20, MaxBytes: 4 << 20, AdditionalData: "\x00secrets",
		SaveAgain: "ask the operator: browserd secret list says more", Free: "remove some with browserd secret rm",
	}, func(f secret.File) bool { return f.Version == secret.Version })}
}

// load returns the file as it is now; an empty one where there is none. It is read and
// unsealed only where it has changed.
func (f *secretFile) load() (secret.File, error) {
	none := secret.File{Version: secret.Version}
	f.mu.Lock()
	defer f.mu.Unlock()
	list, err := f.store.List("")
	i := slices.IndexFunc(list, func(s session.Saved) bool { return s.Name == ofAll })
	if err != nil || i < 0 {
		if protocol.CodeOf(err) == protocol.Unsupported { // no state directory
			err = nil
		}
		return none, err
	}
	if list[i] != f.seen {
		file, err := f.store.Load("", ofAll)
		if err != nil {
			return none, err
		}
		f.seen, f.file = list[i], file
	}
	return f.file, nil
}

// update writes what change makes of the secrets that are there.
func (f *secretFile) update(change func([]secret.Secret) ([]secret.Secret, error)) error {
	return f.store.Update("", ofAll, func(file secret.File) (_ secret.File, err error) {
		file.Version = secret.Version
		file.Secrets, err = change(file.Secrets)
		return file, err
	})
}

func secretCommand(args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Give agents passwords and one-time codes that they do not see",
		Long: `Keeps secrets in a file that is sealed with state.key, or in the fleet's database. An agent writes {{secret:NAME}}
with type, fill, http_request or run, and browserd writes the value, only into documents
of the origins that you name. The agent is never shown it: docs/security.md has the limits.

A daemon that runs needs no restart.`,
		Example: "  browserd secret set shop --origin https://shop.example\n  browserd secret list",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(secretSet(args), secretList(args), secretRemove(args))
	return cmd
}

func secretSet(args []string) *cobra.Command {
	var s secret.Secret
	cmd := &cobra.Command{
		Use:   "set NAME --origin ORIGIN [-- PROGRAM [ARGUMENT...]]",
		Short: "Add a secret, or replace one",
		Long: `Adds a secret. Its value is asked for at the terminal, or read from standard input, or
it is where --env or a program behind -- says: the program is run, without a shell,
whenever an agent uses the secret, and what it prints is the value.

The command login fills in a secret as the password, or with --username as the name.
With --totp the value is the URI that a site shows as a QR code (otpauth://totp/…), and
agents are given the code of the moment.`,
		Example: "  browserd secret set shop --origin https://shop.example\n  browserd secret set shop-code --totp --origin https://shop.example\n  browserd secret set bank --origin https://bank.example -- pass show bank",
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.Flags().StringSliceVar(&s.Origins, "origin", nil, "where it may be used, such as https://shop.example; again for more")
	cmd.Flags().StringSliceVar(&s.Agents, "agent", nil, "the agent that may use it; again for more (default: every agent)")
	cmd.Flags().StringVar(&s.Env, "env", "", "the variable of the daemon's environment that holds the value")
	totp := cmd.Flags().Bool("totp", false, "a one-time code")
	user := cmd.Flags().Bool("username", false, "a name or an address to log in with")
	cmd.MarkFlagsMutuallyExclusive("totp", "username")
	runConfigured(cmd, args, func(cmd *cobra.Command, args []string, c *config.Loaded) (err error) {
		if len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
			return refusal{errors.New("one name, please: the value is asked for or read from standard input and is never an argument, and a program stands behind --")}
		}
		s.Name, s.Kind, s.Program = args[0], secret.Text, args[1:]
		switch {
		case *totp:
			s.Kind = secret.TOTP
		case *user:
			s.Kind = secret.User
		}
		file, err := openSecrets(c)
		if err != nil {
			return err
		}
		if s.Env == "" && len(s.Program) == 0 {
			unread := s
			unread.Env = "X" // all but the value, before it is asked for
			if err := unread.Check(); err != nil {
				return refusal{err}
			}
			if s.Value, err = readValue(s.Name, cmd.InOrStdin(), cmd.ErrOrStderr()); err != nil {
				return err
			}
		}
		if err := s.Check(); err != nil {
			return refusal{err}
		}
		err = file.update(func(list []secret.Secret) ([]secret.Secret, error) { return append(without(list, s.Name), s), nil })
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "kept: %s, for %s; agents write {{secret:%s}}\n", s.Name, strings.Join(s.Origins, ", "), s.Name)
		return err
	})
	return cmd
}

func secretList(args []string) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the secrets, without their values", Example: "  browserd secret list", Args: cobra.NoArgs}
	runConfigured(cmd, args, func(cmd *cobra.Command, _ []string, c *config.Loaded) error {
		file, err := openSecrets(c)
		if err != nil {
			return err
		}
		f, err := file.load()
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, s := range f.Secrets {
			from := "sealed"
			switch {
			case s.Env != "":
				from = "environment " + s.Env
			case len(s.Program) > 0:
				from = "program " + s.Program[0]
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, strings.Join(s.Origins, " "), strings.Join(s.Agents, " "), from)
		}
		return w.Flush()
	})
	return cmd
}

func secretRemove(args []string) *cobra.Command {
	cmd := &cobra.Command{Use: "rm NAME...", Short: "Remove secrets", Example: "  browserd secret rm shop", Args: cobra.MinimumNArgs(1)}
	runConfigured(cmd, args, func(cmd *cobra.Command, args []string, c *config.Loaded) error {
		file, err := openSecrets(c)
		if err != nil {
			return err
		}
		err = file.update(func(list []secret.Secret) ([]secret.Secret, error) {
			for _, name := range args {
				left := without(list, name)
				if len(left) == len(list) {
					return nil, refusal{fmt.Errorf("there is no secret %q: browserd secret list lists them; nothing was removed", name)}
				}
				list = left
			}
			return list, nil
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "removed: %s\n", strings.Join(args, ", "))
		return err
	})
	return cmd
}

// openSecrets returns the file. Errors: no state.key is set.
func openSecrets(c *config.Loaded) (*secretFile, error) {
	if c.State.Key == "" {
		return nil, refusal{errors.New("state.key is not set, with which the file of secrets is sealed: set it in the configuration (browserd config names the file) or BROWSERD_STATE__KEY, 16 characters and more, for the daemon too")}
	}
	if c.Fleet.DSN != "" { // closed with the program
		on, _, err := fleet.OpenShelf(context.Background(), c.Fleet, "secrets", slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, refusal{err}
		}
		return newSecretFile(on, c.Config), nil
	}
	dir, err := config.StateDir()
	if err != nil {
		return nil, refusal{err}
	}
	return newSecretFile(shelf.NewFiles(savedFiles(dir, "secrets")), c.Config), nil
}

func without(list []secret.Secret, name string) []secret.Secret {
	return slices.DeleteFunc(slices.Clone(list), func(s secret.Secret) bool { return s.Name == name })
}

// readValue asks at the terminal, without echo, or reads standard input to its end.
func readValue(name string, in io.Reader, stderr io.Writer) (string, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(stderr, "Value of %s (it is not shown): ", name)
		value, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(stderr)
		return string(value), err
	}
	text, err := io.ReadAll(io.LimitReader(in, 1<<20))
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), err
}
