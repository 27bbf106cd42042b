// Package config loads the daemon's configuration, checks it, and says where
// each value comes from. It owns no setting but the log's: a setting lives in the
// Config struct of the package that obeys it, with its default and its
// documentation in struct tags, and config composes those structs. An unknown key
// or an invalid value stops startup with an error.
//
// A leaf field is a string, bool, int, float64, time.Duration, []string, []int,
// or a slice of structs of such fields. Its tags: `koanf` is its key, `default`
// its default as one would write it, `doc` its line in the manual, `oneof` the
// words that it accepts, `secret:"true"` keeps its value out of what is printed,
// `workdir:"true"` lets a browserd.yaml of the working directory set it. Only what
// names no program, file or address and weakens no protection or limit has that tag.
//
// Nothing here is safe for concurrent use, and nothing needs to be: the
// configuration is loaded once, at start, and then handed out by value.
package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/actions/script"
	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/recording"
	"github.com/browserd/browserd/server"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/telemetry"
	"github.com/browserd/browserd/web/extract"
	"github.com/browserd/browserd/web/search"
)

// Config is everything an operator can set.
type Config struct {
	Server    server.Config           `koanf:"server"`
	Auth      server.AuthConfig       `koanf:"auth"`
	Browser   browser.Config          `koanf:"browser"`
	Session   session.Config          `koanf:"session"`
	ActionLog session.ActionLogConfig `koanf:"action_log"`
	Recording recording.Config        `koanf:"recording"`
	State     session.StateConfig     `koanf:"state"`
	Profile   session.ProfileConfig   `koanf:"profile"`
	Policy    policy.Config           `koanf:"policy"`
	Fallback  fallback.Config         `koanf:"fallback"`
	Ledger    ledger.Config           `koanf:"ledger"`
	Fleet     fleet.Config            `koanf:"fleet"`
	Search    search.Config           `koanf:"search"`
	Extract   extract.Config          `koanf:"extract"`
	HTTP      command.Config          `koanf:"http"`
	Scripts   script.Config           `koanf:"scripts"`
	Telemetry telemetry.Config        `koanf:"telemetry"`
	Log       Log                     `koanf:"log"`
}

// Log says what is logged, and how. The log goes to standard error.
type Log struct {
	Level  string `koanf:"level" workdir:"true" default:"info" oneof:"debug info warn error" doc:"the lowest level that is logged"`
	Format string `koanf:"format" workdir:"true" default:"text" oneof:"text json" doc:"how a line of the log is written"`
}

// Check says which of the values that belong together do not.
func (c Config) Check() error {
	for _, name := range c.Policy.Confirm {
		if _, known := actions.All.Lookup(name); !known {
			return fmt.Errorf("policy.confirm: %q: there is no such command", name)
		}
	}
	if c.Browser.Endpoint != "" && !c.Browser.EndpointUnprotected && c.Policy.ProxyAdvertise == "" {
		return fmt.Errorf("browser.endpoint: a Chromium that runs elsewhere reaches its network without browserd's checks: set policy.proxy_advertise to the HOST:PORT at which it reaches browserd, or browser.endpoint_unprotected to true to accept that")
	}
	if err := c.checkFleet(); err != nil {
		return err
	}
	return c.Server.CheckExposure(len(c.Auth.Tokens) > 0)
}

// checkFleet says what the nodes of a fleet have to agree on and that is missing.
func (c Config) checkFleet() error {
	switch {
	case c.Fleet.DSN == "":
		return nil
	case c.State.Key == "":
		return fmt.Errorf("fleet.dsn: is set without state.key: set it, the same for all nodes, since they seal with it what they keep for each other")
	case len(c.Auth.Tokens) == 0:
		return fmt.Errorf("fleet.dsn: is set without auth.tokens or %s: set the same for all nodes, since each request may reach any of them", TokenEnv)
	case c.Browser.Attach:
		return fmt.Errorf("browser.attach: is set, and fleet.dsn too: a person's own browser is for one daemon; leave one of the two out")
	case c.Ledger.DSN != "" && !postgres.Is(c.Ledger.DSN):
		return fmt.Errorf("ledger.dsn: a file, and fleet.dsn is set: leave it out, and the ledger is in the fleet's database, or name a postgres:// address")
	}
	return nil
}

// Sources is where Load looks. The zero value is what a daemon without flags
// uses.
type Sources struct {
	// Path is the file that was asked for by name (--config); empty:
	// BROWSERD_CONFIG, then browserd/browserd.yaml in the user's configuration
	// directory, then in the system's, the first that exists, or none. Over one that
	// was not asked for by name, ./browserd.yaml is read where the user trusts it.
	Path string
	// Env is the environment as os.Environ gives it; nil: the process's own.
	Env []string
	// Flags are parsed flags that AddFlags declared; nil: none.
	Flags *pflag.FlagSet
	// Dir is where ./browserd.yaml is looked for; empty: the working directory.
	Dir string
	// UserDir is the user's configuration directory; empty: os.UserConfigDir.
	UserDir string
	// SystemDir is the system's configuration directory; empty: /etc, on Windows none.
	SystemDir string
	// TrustDir is where Trust keeps what the user trusts; empty: StateDir.
	TrustDir string
}

// Loaded is a configuration and where it came from.
type Loaded struct {
	Config
	// File is the file that was read, empty if there was none. Named says that it
	// was asked for by name.
	File  string
	Named bool
	// WorkdirFile is the working directory's file, where it was read over File.
	WorkdirFile string
	// IgnoredFile is the working directory's file, where it was not read: nil for none.
	IgnoredFile *IgnoredFile
	// Flags are the flags that were given for keys, as a command line has them.
	Flags []string
	// Values lists every key with its value in force, in the order of Config.
	Values []Value
	// Ignored are environment variables that begin with BROWSERD_ and are
	// no key, nor like one.
	Ignored []string
}

// Load composes defaults, the file, the environment and the flags, each over
// the one before it, and checks the result: unknown keys, values of the wrong
// kind, and what each package's Check finds. The error names key, value and
// source, one line per fault.
func Load(src Sources) (*Loaded, error) {
	if src.Env == nil {
		src.Env = os.Environ()
	}
	out := &Loaded{}
	l, err := load(&out.Config, keys(), src)
	if err != nil {
		return nil, err
	}
	// Beside auth.tokens it may be one of them, said for the command line.
	token := lookupEnv(src.Env, TokenEnv)
	known := slices.ContainsFunc(out.Auth.Tokens, func(t server.Token) bool { return t.Token == token })
	if token != "" && !known {
		out.Auth.Tokens = append(out.Auth.Tokens, server.Token{Agent: DefaultAgent, Token: token, Role: server.RoleAgent})
		l.origins[fmt.Sprintf("auth.tokens[%d]", len(out.Auth.Tokens)-1)] = "environment " + TokenEnv
	}
	if err := l.check(&out.Config); err != nil {
		return nil, err
	}
	if out.Browser.Attach {
		l.supervise(&out.Policy)
	}
	if out.Ledger.DSN == "" { // credits and rates are the fleet's
		out.Ledger.DSN = out.Fleet.DSN
	}
	out.File, out.Named, out.WorkdirFile, out.IgnoredFile, out.Ignored, out.Flags = l.file, l.named, l.workdirFile, l.ignoredFile, l.ignored, l.flags
	out.Values = l.values(&out.Config)
	return out, nil
}

// supervise has agents ask before they act, in the browser of a person who has chosen nothing else.
func (l *loader) supervise(c *policy.Config) {
	const from = "browser.attach"
	if l.origins["policy.autonomy"] == FromDefault {
		c.Autonomy, l.origins["policy.autonomy"] = string(policy.Supervised), from
	}
	if l.origins["policy.confirm"] == FromDefault {
		l.origins["policy.confirm"] = from
		for _, name := range actions.All.Without(command.ReadOnly) {
			if cmd, _ := actions.All.Lookup(name); cmd.Is(command.Acts) && !slices.Contains(c.Confirm, name) {
				c.Confirm = append(c.Confirm, name)
			}
		}
	}
}

// loader gathers the layers of one Load.
type loader struct {
	schema  []field
	inForce map[string]any    // key → its value so far
	origins map[string]string // key → where that comes from
	file    string
	named   bool
	ignored []string
	flags   []string
	faults  []error

	inWorkdir   bool // put reads the working directory's file
	workdirFile string
	ignoredFile *IgnoredFile
}

// load fills dst, a pointer to a struct of structs that schema describes, from the
// layers; check is still to be called.
func load(dst any, schema []field, src Sources) (*loader, error) {
	l := &loader{schema: schema, inForce: make(map[string]any, len(schema)), origins: make(map[string]string, len(schema))}
	for _, f := range schema {
		l.inForce[f.key], l.origins[f.key] = f.defaultValue(), FromDefault
	}
	for _, layer := range []func(Sources) error{l.loadFile, l.loadWorkdir, l.loadEnv, l.loadFlags} {
		if err := layer(src); err != nil {
			return nil, err
		}
	}
	if len(l.faults) > 0 {
		return nil, errors.Join(l.faults...)
	}
	// Once, behind all layers: koanf copies all that it has for each.
	k := koanf.New(".")
	if err := k.Load(confmap.Provider(l.inForce, "."), nil); err != nil {
		return nil, err
	}
	err := k.UnmarshalWithConf("", dst, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{TagName: "koanf", ErrorUnused: true}})
	return l, err
}

// put takes one layer's values, as flat keys, over those before it. Faults
// are collected, so that one start shows them all.
func (l *loader) put(raw map[string]any, origin func(key string) string) {
	for _, key := range sortedKeys(raw) {
		f, known := l.find(key)
		switch {
		case known && l.inWorkdir && !f.workdir:
			l.faults = append(l.faults, fmt.Errorf("%s: %s in the working directory may not set it (from %s)", key, fileName, origin(key)))
		case known:
			v, err := f.parse(raw[key])
			if err != nil {
				l.faults = append(l.faults, fmt.Errorf("%w (from %s)", err, origin(key)))
				continue
			}
			l.inForce[key], l.origins[key] = v, origin(key)
		case l.isSection(key):
			if raw[key] != nil && !isEmptyMap(raw[key]) {
				l.faults = append(l.faults, fmt.Errorf("%s: accepts keys below it, such as %s (from %s)", key, l.firstBelow(key), origin(key)))
			}
		case l.leafAbove(key) != "":
			above, _ := l.find(l.leafAbove(key))
			l.faults = append(l.faults, fmt.Errorf("%s: keys below it: accepts %s (from %s)", above.key, above.takes(), origin(key)))
		default:
			l.faults = append(l.faults, fmt.Errorf("unknown key %s (from %s)%s", key, origin(key), l.suggest(key)))
		}
	}
}

// check runs the Check of every package and of the whole, and says for each fault
// where the value comes from.
func (l *loader) check(c any) error {
	var faults []error
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if err := checkOne(v.Field(i)); err != nil {
			faults = append(faults, l.withOrigin(err))
		}
	}
	if len(faults) == 0 { // the whole is checked only when its parts are valid
		if err := checkOne(v); err != nil {
			faults = append(faults, l.withOrigin(err))
		}
	}
	return errors.Join(faults...)
}

func checkOne(v reflect.Value) error {
	if c, ok := v.Interface().(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}

// quotedAddress is an address that an error quotes.
var quotedAddress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"[^"\s]*://[^"]*"`) })

// withOrigin adds the source to an error that begins with a key, as the
// errors of the packages' Check do, and takes the credentials out of the
// addresses that it quotes.
func (l *loader) withOrigin(err error) error {
	if said := err.Error(); quotedAddress().MatchString(said) {
		err = errors.New(quotedAddress().ReplaceAllStringFunc(said, func(q string) string {
			return `"` + withoutCredentials(strings.Trim(q, `"`)) + `"`
		}))
	}
	word, _, _ := strings.Cut(err.Error(), " ")
	word = strings.TrimSuffix(word, ":")
	if i := strings.IndexByte(word, '['); i > 0 { // auth.tokens[0].token
		j := strings.IndexByte(word, ']')
		if o, ok := l.origins[word[:max(i, j+1)]]; ok {
			return fmt.Errorf("%w (from %s)", err, o)
		}
		word = word[:i]
	}
	if o, ok := l.origins[word]; ok && o != FromDefault {
		return fmt.Errorf("%w (from %s)", err, o)
	}
	return err
}
