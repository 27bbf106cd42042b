package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/browserd/browserd/server"
)

// sources is an empty machine: no file, no environment.
func sources(t *testing.T) Sources {
	t.Helper()
	return Sources{Env: []string{}, Dir: t.TempDir(), UserDir: t.TempDir(), SystemDir: t.TempDir(), TrustDir: t.TempDir()}
}

func mustLoad(t *testing.T, src Sources) *Loaded {
	t.Helper()
	c, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func flags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	var path string
	AddFlags(fs, &path)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

// One file per rule, each with its exact message.
func TestInvalidFiles(t *testing.T) {
	want := map[string]string{
		"unknown-key":           "unknown key server.lisen (from F:2): the nearest is server.listen",
		"unknown-section":       "unknown key sever.listen (from F:2): the nearest is server.listen",
		"key-without-section":   "unknown key listen (from F:1): the nearest is server.listen",
		"nothing-like-it":       "unknown key server.frobnication_of_everything (from F:2)",
		"section-as-value":      "session: accepts keys below it, such as session.idle_timeout (from F:1)",
		"value-as-section":      "server.listen: keys below it: accepts text (from F:3)",
		"duration-word":         `session.idle_timeout: "soon": accepts a duration, such as 90s, 15m or 1h30m (from F:2)`,
		"duration-without-unit": "session.idle_timeout: 900: accepts a duration, such as 90s, 15m or 1h30m (from F:2)",
		"bool-word":             `browser.headless: "maybe": accepts true or false (from F:2)`,
		"number-word":           `session.max: "many": accepts a whole number (from F:2)`,
		"number-fraction":       "session.max: 1.5: accepts a whole number (from F:2)",
		"no-value":              "session.max: nothing: accepts a whole number (from F:2)",
		"text-number":           "browser.path: 5: accepts text; put it in quotes (from F:2)",
		"list-number":           "policy.allow_hosts: 8000: accepts a list of texts; put each of them in quotes (from F:2)",
		"list-mapping":          "policy.allow_hosts: keys below it: accepts a list of texts (from F:2)",
		"one-of":                `log.level: "loud": accepts one of debug, info, warn, error (from F:2)`,
		"listen":                `server.listen: "9333": accepts ADDRESS:PORT, such as 127.0.0.1:9333 (from F:2)`,
		"exposed":               `server.listen: "0.0.0.0:9333" can be reached from other machines: set auth.tokens or BROWSERD_TOKEN, or listen on 127.0.0.1 (from F:2)`,
		"endpoint":              "browser.endpoint: a Chromium that runs elsewhere reaches its network without browserd's checks: set policy.proxy_advertise to the HOST:PORT at which it reaches browserd, or browser.endpoint_unprotected to true to accept that (from F:2)",
		"advertise":             `policy.proxy_advertise: "3128": accepts HOST:PORT, such as 10.0.0.5:3128 (from F:2)`,
		"allow-hosts":           `policy.allow_hosts: "http://localhost": accepts a host, *.domain, address or CIDR with an optional port: write the host alone, without a scheme (from F:2)`,
		"session-max":           "session.max: 0: accepts a number above 0 (from F:2)",
		"token-key":             "unknown key auth.tokens[0].tokn: the nearest is token (from F:2)",
		"token-not-a-mapping":   "auth.tokens[0]: accepts {agent, token, role, autonomy, credits} (from F:2)",
		"token-number":          "auth.tokens[0].token: …: accepts text; put it in quotes (from F:2)",
		"token-short":           "auth.tokens[0].token (agent alice): 7 characters: accepts at least 16 (from F:2)",
		"token-autonomy":        `auth.tokens[0].autonomy (agent alice): "careful": accepts full, supervised or read_only (from F:2)`,
		"autonomy":              `policy.autonomy: "readonly": accepts one of full, supervised, read_only (from F:2)`,
		"confirm-unknown":       `policy.confirm: "clik": there is no such command (from F:2)`,
		"tls-half":              "server.tls_cert: is set without server.tls_key: accepts both, or neither (from F:2)",
		"two-faults":            "unknown key server.lisen (from F:2): the nearest is server.listen\n" + `session.max: "many": accepts a whole number (from F:4)`,
		"not-yaml":              "F: line 2: found unexpected end of stream",
		"not-a-mapping":         "F: unmarshal errors: line 1: cannot unmarshal !!seq into map[string]interface {}",
		"two-documents":         "F:3: a second document begins: accepts one, without --- between its keys",
		"twice":                 `F: unmarshal errors: line 3: mapping key "level" already defined at line 2`,
	}
	files, err := filepath.Glob("testdata/invalid/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(want) {
		t.Errorf("%d files and %d messages", len(files), len(want))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		src := sources(t)
		src.Path = file
		_, err := Load(src)
		if err == nil {
			t.Errorf("%s: is accepted", name)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), file, "F"); got != want[name] {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want[name])
		}
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "1234567890123456") {
			t.Errorf("%s: the message shows the token", name)
		}
	}
}

func TestInvalidEnvironmentAndFlags(t *testing.T) {
	for _, c := range []struct {
		env   []string
		flags []string
		want  string
	}{
		{env: []string{"BROWSERD_SERVER__LISEN=x"}, want: "unknown key server.lisen (from environment BROWSERD_SERVER__LISEN): the nearest is BROWSERD_SERVER__LISTEN"},
		{env: []string{"BROWSERD_server__listen=127.0.0.1:1"}, want: "unknown key server.listen (from environment BROWSERD_server__listen): the nearest is BROWSERD_SERVER__LISTEN"},
		{env: []string{"BROWSERD_POLICY_ALLOW_HOSTS=localhost"}, want: "environment BROWSERD_POLICY_ALLOW_HOSTS is no key: the nearest is BROWSERD_POLICY__ALLOW_HOSTS"},
		{env: []string{"BROWSERD_TOKENS=x"}, want: "environment BROWSERD_TOKENS is no key: the nearest is BROWSERD_TOKEN"},
		{env: []string{"BROWSERD_SESSION__MAX="}, want: `session.max: "": accepts a whole number (from environment BROWSERD_SESSION__MAX)`},
		{env: []string{"BROWSERD_AUTH__TOKENS=hunter2"}, want: "auth.tokens: …: accepts a list of {agent, token, role, autonomy, credits}; as a JSON array here (from environment BROWSERD_AUTH__TOKENS)"},
		{env: []string{"BROWSERD_TOKEN=hunter2"}, want: "auth.tokens[0].token (agent default): 7 characters: accepts at least 16 (from environment BROWSERD_TOKEN)"},
		{env: []string{"BROWSERD_POLICY__ALLOW_HOSTS=localhost,,x.test"}, want: `policy.allow_hosts: "": accepts a host, *.domain, address or CIDR with an optional port: it is empty (from environment BROWSERD_POLICY__ALLOW_HOSTS)`},
		{env: []string{"BROWSERD_SEARCH__SEARXNG_URL=ftp://user:hunter2@searx.test/?key=hunter2"}, want: `search.searxng_url: "ftp://***@searx.test/?***": accepts an http or https URL (from environment BROWSERD_SEARCH__SEARXNG_URL)`},
		{env: []string{"BROWSERD_BROWSER__ENDPOINT=ftp://user:hunter2@cdp.test"}, want: `browser.endpoint: "ftp://***@cdp.test" is not a CDP address: write http://host:port or ws://host:port/devtools/browser/… (from environment BROWSERD_BROWSER__ENDPOINT)`},
		{env: []string{"BROWSERD_CONFIG=missing.yaml"}, want: "reading the configuration: open missing.yaml: no such file or directory"},
		{flags: []string{"--session.max=many"}, want: `session.max: "many": accepts a whole number (from flag --session.max)`},
		{flags: []string{"--browser.headless=maybe"}, want: `browser.headless: "maybe": accepts true or false (from flag --browser.headless)`},
		{flags: []string{"--server.listen=:9333"}, want: `server.listen: ":9333" can be reached from other machines: set auth.tokens or BROWSERD_TOKEN, or listen on 127.0.0.1 (from flag --server.listen)`},
	} {
		src := sources(t)
		src.Env = append(src.Env, c.env...)
		src.Flags = flags(t, c.flags...)
		_, err := Load(src)
		if err == nil {
			t.Errorf("%q %q: accepted", c.env, c.flags)
		} else if err.Error() != c.want {
			t.Errorf("%q %q:\n got %s\nwant %s", c.env, c.flags, err, c.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, sources(t))
	if got, want := c.Server.Listen, "127.0.0.1:9333"; got != want {
		t.Errorf("server.listen: got %s, want %s", got, want)
	}
	if got, want := c.Session.IdleTimeout, 15*time.Minute; got != want {
		t.Errorf("session.idle_timeout: got %v, want %v", got, want)
	}
	if got, want := c.Session.DialogTimeout, 10*time.Second; got != want {
		t.Errorf("session.dialog_timeout: got %v, want %v", got, want)
	}
	if !c.Browser.Headless || c.Browser.Disabled {
		t.Errorf("browser: got %+v", c.Browser)
	}
	for _, v := range c.Values {
		if v.From != "default" {
			t.Errorf("%s comes from %s", v.Key, v.From)
		}
	}
}

// Each layer over the one before it; a list is replaced, never added to.
func TestPrecedenceAndProvenance(t *testing.T) {
	src := sources(t)
	src.Path = "testdata/valid.yaml"
	src.Env = []string{
		"BROWSERD_SERVER__LISTEN=127.0.0.1:9401",
		"BROWSERD_POLICY__ALLOW_HOSTS=127.0.0.1:8000, *.corp",
		"BROWSERD_TOKEN=environment-0123456789",
		"BROWSERD_PORT=tcp://10.0.0.7:9333",
		"BROWSERD_SERVICE_HOST=10.0.0.7",
		"PATH=/bin",
	}
	src.Flags = flags(t, "--server.listen=127.0.0.1:9402", "--browser.headless", "--server.allowed_origins=http://a.test", "--server.allowed_origins", "http://b.test,http://c.test")
	c := mustLoad(t, src)

	if c.Server.Listen != "127.0.0.1:9402" || !c.Browser.Headless || c.Session.IdleTimeout != time.Hour {
		t.Errorf("got %+v %+v %+v", c.Server, c.Browser, c.Session)
	}
	for _, d := range []string{
		cmp.Diff([]string{"127.0.0.1:8000", "*.corp"}, c.Policy.AllowHosts),
		cmp.Diff([]string{"--window-size=800,600"}, c.Browser.Args),
		cmp.Diff([]string{"http://a.test", "http://b.test", "http://c.test"}, c.Server.AllowedOrigins),
		cmp.Diff([]string{"BROWSERD_PORT", "BROWSERD_SERVICE_HOST"}, c.Ignored),
		cmp.Diff([]server.Token{
			{Agent: "alice", Token: "alice-0123456789abcdef", Role: "agent"},
			{Agent: "ops", Token: "ops-0123456789abcdefgh", Role: "operator"},
			{Agent: "default", Token: "environment-0123456789", Role: "agent"},
		}, c.Auth.Tokens),
	} {
		if d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	}

	got := map[string]Value{}
	for _, v := range c.Values {
		got[v.Key] = v
	}
	for _, want := range []Value{
		{"server.listen", "127.0.0.1:9402", "flag --server.listen"},
		{"browser.headless", true, "flag --browser.headless"},
		{"session.idle_timeout", "1h", "testdata/valid.yaml:14"},
		{"session.dialog_timeout", "10s", "default"},
		{"policy.allow_hosts", []string{"127.0.0.1:8000", "*.corp"}, "environment BROWSERD_POLICY__ALLOW_HOSTS"},
		{"auth.tokens[0].agent", "alice", "testdata/valid.yaml:4"},
		{"auth.tokens[0].token", "***", "testdata/valid.yaml:4"},
		{"auth.tokens[2].agent", "default", "environment BROWSERD_TOKEN"},
		{"auth.tokens[2].token", "***", "environment BROWSERD_TOKEN"},
	} {
		if d := cmp.Diff(want, got[want.Key]); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	}
	var b strings.Builder
	if err := c.Explain(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "0123456789") {
		t.Errorf("a token is printed:\n%s", b.String())
	}
}

func TestTokensFromTheEnvironmentAsJSON(t *testing.T) {
	src := sources(t)
	src.Env = []string{`BROWSERD_AUTH__TOKENS=[{"agent":"alice","token":"alice-0123456789abcdef","credits":5}]`, "BROWSERD_SERVER__LISTEN=0.0.0.0:9333"}
	c := mustLoad(t, src)
	if d := cmp.Diff([]server.Token{{Agent: "alice", Token: "alice-0123456789abcdef", Role: "agent", Credits: 5}}, c.Auth.Tokens); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// The command line needs BROWSERD_TOKEN where auth.tokens are configured, and
// the daemon may be started from the same environment.
func TestTokenOfTheEnvironmentIsOneOfTheFiles(t *testing.T) {
	src := sources(t)
	src.Path = "testdata/valid.yaml"
	src.Env = []string{"BROWSERD_TOKEN=ops-0123456789abcdefgh"}
	if c := mustLoad(t, src); len(c.Auth.Tokens) != 2 {
		t.Errorf("got %d tokens", len(c.Auth.Tokens))
	}
}

// A command line is read by every process of the machine.
func TestNoFlagForSecrets(t *testing.T) {
	if f := flags(t).Lookup("auth.tokens"); f != nil {
		t.Error("there is a flag --auth.tokens")
	}
}

// A number is no secret, whatever its name ends with: it is shown, and has a flag.
func TestLimitsAreNoSecrets(t *testing.T) {
	for _, f := range schemaOf(reflect.TypeFor[Config](), "") {
		if f.secret && f.typ.Kind() != reflect.String && f.elem == nil {
			t.Errorf("%s is a %s, and kept as a secret", f.key, f.typ)
		}
	}
}

// --config, BROWSERD_CONFIG, the user's directory, the system's: the first. A file in
// the working directory is none of them.
func TestWhichFile(t *testing.T) {
	src := sources(t)
	write := func(path, level string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("log: {level: "+level+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	expect := func(file, level string) {
		t.Helper()
		c := mustLoad(t, src)
		if c.File != file || c.Log.Level != level {
			t.Errorf("got %q with level %s, want %q with %s", c.File, c.Log.Level, file, level)
		}
	}
	expect("", "info")
	here := write(filepath.Join(src.Dir, "browserd.yaml"), "warn")
	expect("", "info")
	system := write(filepath.Join(src.SystemDir, "browserd", "browserd.yaml"), "warn")
	expect(system, "warn")
	user := write(filepath.Join(src.UserDir, "browserd", "browserd.yaml"), "debug")
	expect(user, "debug")
	named := write(filepath.Join(t.TempDir(), "named.yaml"), "error")
	src.Env = []string{"BROWSERD_CONFIG=" + named}
	expect(named, "error")
	src.Path = here
	expect(here, "warn")
}

// A masked address shows where it leads, not what lets one in.
func TestWithoutCredentials(t *testing.T) {
	for in, want := range map[string]string{
		"ws://user:secret@cdp.test/devtools?token=secret": "ws://***@cdp.test/devtools?***",
		"http://127.0.0.1:9222":                           "http://127.0.0.1:9222",
		"/usr/bin/chromium":                               "/usr/bin/chromium",
	} {
		if got := withoutCredentials(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// Every key is documented, has one spelling, and parses its own default.
func TestSchema(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range schemaOf(reflect.TypeFor[Config](), "") {
		for _, f := range append(slices.Clone(f.elem), f) {
			if f.doc == "" {
				t.Errorf("%s has no doc", f.key)
			}
			if f.key != strings.ToLower(f.key) || strings.Contains(f.key, "__") || strings.Contains(f.key, "-") {
				t.Errorf("%s cannot be named in the environment", f.key)
			}
		}
		if seen[f.key] {
			t.Errorf("%s stands twice", f.key)
		}
		seen[f.key] = true
	}
	for _, key := range []string{
		"server.listen", "server.allowed_origins", "server.allowed_hosts", "auth.tokens", "browser.path", "browser.endpoint",
		"browser.headless", "browser.disabled", "session.idle_timeout", "session.max", "session.dialog_timeout", "policy.allow_hosts",
	} {
		if !seen[key] {
			t.Errorf("%s of PROTOCOL.md section 7 is missing", key)
		}
	}
}
