package chromium

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Remote configures a Chromium that browserd does not launch: a person's own, and whether one that runs
// elsewhere uses the egress proxy.
type Remote struct {
	Attach    bool   `koanf:"attach" doc:"use the Chrome or Chromium that you have open, with your logins, in windows of its own; it asks you once (chrome://inspect/#remote-debugging). Neither jail nor egress policy holds there" default:"false"`
	AttachDir string `koanf:"attach_dir" doc:"user data directory of the browser that browser.attach uses; empty: Chrome's or Chromium's usual one"`
	// Advertised is set if the Chromium at Endpoint uses the egress proxy
	// (policy.proxy_advertise). Set by cmd.
	Advertised bool `koanf:"-"`
}

// Config is which Chromium is used, and how. The zero value works: Find looks for an
// installed Chromium, which runs with windows where there is a display.
type Config struct {
	Path                string `koanf:"path" doc:"the Chromium to run; empty: chromium-headless-shell, chromium or Chrome, where they are usually installed" default:""`
	Endpoint            string `koanf:"endpoint" doc:"CDP address of a Chromium that runs elsewhere (http://host:port or ws://…); nothing is launched then" default:""`
	EndpointUnprotected bool   `koanf:"endpoint_unprotected" doc:"use browser.endpoint although that Chromium reaches its network without browserd's checks" default:"false"`
	Remote              `koanf:",squash"`
	Headless            bool          `koanf:"headless" workdir:"true" doc:"run without windows; false needs a display and a full Chromium" default:"true"`
	Disabled            bool          `koanf:"disabled" doc:"act as if there were no Chromium" default:"false"`
	UnsafeNoSandbox     bool          `koanf:"unsafe_no_sandbox" doc:"run Chromium without its sandbox: a page that breaks out of a renderer then has the rights of browserd's user" default:"false"`
	Args                []string      `koanf:"args" doc:"more command line flags for Chromium; those that would open a port or weaken the sandbox are refused" default:""`
	ComputedNames       bool          `koanf:"computed_names" workdir:"true" doc:"take the roles and names that custom elements give themselves from Chromium; a page can see that this is on" default:"true"`
	Jail                string        `koanf:"jail" doc:"put Chromium into a network namespace of its own, from which nothing but the egress proxy is reached (Linux): auto, where the system allows it; required, or do not start; off" default:"auto" oneof:"auto required off"`
	RunAs               string        `koanf:"run_as" doc:"user (name, uid or uid:gid) that Chromium runs as when browserd runs as root; empty: browserd, chromium or nobody, the first there is" default:""`
	AnswerTimeout       time.Duration `koanf:"answer_timeout" doc:"how long Chromium may stay silent after being asked before it is considered lost and replaced; 0: forever" default:"10s"`
	PageMemoryMB        int           `koanf:"page_memory_mb" doc:"MiB that the process of one page may take before it is ended and its commands answer page_crashed (Linux); 0: no limit" default:"2048"`

	// StateDir/browsers holds a mark, a small file, of each running browser, for Reap.
	// Set by cmd. Empty: there are no marks, and a daemon that is killed leaves its
	// profile directory behind.
	StateDir string `koanf:"-"`
	// ProxyServer is the value of Chromium's --proxy-server: the address of the egress
	// proxy, which all traffic takes. Empty: there is none. Set by cmd.
	ProxyServer string `koanf:"-"`
	// TrustedKey is the hash of the key with which the egress proxy ends the TLS of hosts
	// that Chromium cannot verify itself; empty: there are none. Set by cmd.
	TrustedKey string `koanf:"-"`
	// JailPort is where the egress proxy listens inside Chromium's jail; not 0:
	// Chromium is launched in a jail, or not at all. Adopt takes the listener; it is
	// closed when that Chromium has ended. Set by cmd, where there can be a jail.
	JailPort int                `koanf:"-"`
	Adopt    func(net.Listener) `koanf:"-" json:"-"`
	// Complete sets the fields whose values are not available when the daemon starts. It is
	// called before each launch and may wait. nil: all are set.
	Complete func(*Config) error `koanf:"-" json:"-"`
	Hooks    `koanf:"-" json:"-"`
}

// Hooks are what others do to a Chromium that is launched.
type Hooks struct {
	// Kept, if it is not nil, keeps the user data directory across launches. Set by cmd.
	Kept *Kept
	// WrapTransport, if it is not nil, wraps the transport to Chromium. Set by tests.
	WrapTransport func(cdp.Transport) cdp.Transport
}

// Kept loads and stores the user data directory of a Chromium. While the browser runs, it is in
// the profile directory as any other's.
type Kept struct {
	// ID returns the id under which Reap stores it. It is called after Fill.
	ID func() string
	// Fill copies what was kept into a user data directory, before a launch.
	Fill func(userData string) error
	// Keep stores a user data directory whose browser has ended. The directory is removed afterwards,
	// except after ErrLater.
	Keep func(userData string) error
	// Drop is called instead of Keep for a directory that was filled but cannot be stored. why is nil
	// if no browser has run with it.
	Drop func(why error)
}

// ErrLater is wrapped by an error of Kept.Keep if the directory cannot be stored now: it and its mark
// stay, and Reap tries again, in this daemon too.
var ErrLater = errors.New("what it gained is kept when it can be")

// attachEndpoint is Config.Endpoint if browser.attach is set.
const attachEndpoint = "your own browser"

// ApplyAttach sets what browser.attach implies: Chromium runs elsewhere, and reaches its network without
// browserd.
func (c *Config) ApplyAttach() {
	if c.Attach {
		c.Endpoint, c.EndpointUnprotected = attachEndpoint, true
	}
}

// connect makes the connection over a transport to Chromium.
func (c Config) connect(t cdp.Transport) *cdp.Conn {
	if c.WrapTransport != nil {
		t = c.WrapTransport(t)
	}
	return cdp.New(t)
}

// The values of Config.Jail; empty is JailAuto.
const (
	JailAuto     = "auto"
	JailRequired = "required"
	JailOff      = "off"
)

// minPageMemoryMB is above what an empty page takes, with the libraries that
// all of them share.
const minPageMemoryMB = 200

// refusedFlags are the flags that browser.args may not contain, with the reason.
var refusedFlags = map[string]string{
	"no-sandbox":                      "set browser.unsafe_no_sandbox if that is what you want",
	"disable-setuid-sandbox":          "set browser.unsafe_no_sandbox if that is what you want",
	"disable-namespace-sandbox":       "set browser.unsafe_no_sandbox if that is what you want",
	"disable-seccomp-filter-sandbox":  "set browser.unsafe_no_sandbox if that is what you want",
	"no-zygote-sandbox":               "set browser.unsafe_no_sandbox if that is what you want",
	"disable-gpu-sandbox":             "set browser.unsafe_no_sandbox if that is what you want",
	"remote-debugging-io-pipes":       "browserd sets it",
	"single-process":                  "it has no sandbox",
	"no-zygote":                       "it has no sandbox",
	"remote-debugging-port":           "Chromium is reached over a pipe, and an open port is a way in for every local process",
	"remote-debugging-address":        "Chromium is reached over a pipe, and an open port is a way in for every local process",
	"remote-debugging-pipe":           "browserd sets it",
	"remote-allow-origins":            "Chromium is reached over a pipe",
	"user-data-dir":                   "browserd makes a fresh profile directory and removes it",
	"proxy-server":                    "browserd decides what Chromium reaches",
	"proxy-pac-url":                   "browserd decides what Chromium reaches",
	"proxy-bypass-list":               "browserd decides what Chromium reaches",
	"proxy-auto-detect":               "browserd decides what Chromium reaches",
	"no-proxy-server":                 "browserd decides what Chromium reaches",
	"host-resolver-rules":             "browserd decides what Chromium reaches",
	"disable-web-security":            "it lets every page read every other",
	"disable-popup-blocking":          "pages could open windows without end",
	"disable-ipc-flooding-protection": "pages could flood the browser",
}

// Check returns nil, or what is wrong with c in one sentence that names the key and the
// value. It does not check the machine.
func (c Config) Check() error {
	for _, a := range c.Args {
		name, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if !strings.HasPrefix(a, "--") || name == "" {
			return fmt.Errorf("browser.args: %q is not a flag: write --name or --name=value", a)
		}
		// Windows reads switches in any case.
		if why, ok := refusedFlags[strings.ToLower(name)]; ok {
			return fmt.Errorf("browser.args: --%s is refused: %s", name, why)
		}
	}
	if c.Attach && (c.Endpoint != "" && c.Endpoint != attachEndpoint || c.Path != "" || c.Disabled) {
		return fmt.Errorf("browser.attach: browser.endpoint, browser.path or browser.disabled is set too: choose one")
	}
	if c.Endpoint != "" && c.Endpoint != attachEndpoint {
		u, err := url.Parse(c.Endpoint)
		if err != nil || u.Host == "" || !strings.Contains("|http|https|ws|wss|", "|"+u.Scheme+"|") {
			return fmt.Errorf("browser.endpoint: %q is not a CDP address: write http://host:port or ws://host:port/devtools/browser/…", c.Endpoint)
		}
		if c.Path != "" {
			return fmt.Errorf("browser.endpoint and browser.path are both set: choose one")
		}
	}
	if c.Jail != "" && c.Jail != JailAuto && c.Jail != JailRequired && c.Jail != JailOff {
		return fmt.Errorf("browser.jail: %q: accepts auto, required or off", c.Jail)
	}
	if c.PageMemoryMB < 0 || c.PageMemoryMB > 0 && c.PageMemoryMB < minPageMemoryMB {
		return fmt.Errorf("browser.page_memory_mb: %d: accepts 0 or at least %d", c.PageMemoryMB, minPageMemoryMB)
	}
	if c.AnswerTimeout < 0 || c.AnswerTimeout > 0 && c.AnswerTimeout < time.Second {
		return fmt.Errorf("browser.answer_timeout: %v: accepts 0, or a second and more, such as 10s", c.AnswerTimeout)
	}
	if c.RunAs != "" {
		if _, err := lookupUser(c.RunAs); err != nil {
			return fmt.Errorf("browser.run_as: %w", err)
		}
	}
	return nil
}

// unavailable returns a chromium_unavailable error.
func unavailable(next, format string, args ...any) *protocol.Error {
	e := protocol.Errorf(protocol.ChromiumUnavailable, format, args...)
	if next != "" {
		e.Next = next
	}
	return e
}

// withWindows reports whether Chromium opens windows: only where there is a display for
// them.
func (c Config) withWindows(goos string) bool {
	if c.Headless {
		return false
	}
	return goos == "windows" || goos == "darwin" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}
