package browser

// Config says which Chromium is used, and how. The zero value works: a
// Chromium that is installed is found and run without windows. [Defaults] has
// the values that the default tags name.
type Config struct {
	Path                string   `koanf:"path" doc:"the Chromium to run; empty: chromium-headless-shell, chromium or Chrome, where they are usually installed" default:""`
	Endpoint            string   `koanf:"endpoint" doc:"CDP address of a Chromium that runs elsewhere (http://host:port or ws://…); nothing is launched then" default:""`
	EndpointUnprotected bool     `koanf:"endpoint_unprotected" doc:"use browser.endpoint although that Chromium reaches its network without browserd's checks" default:"false"`
	Headless            bool     `koanf:"headless" doc:"run without windows; false needs a display and a full Chromium" default:"true"`
	Disabled            bool     `koanf:"disabled" doc:"act as if there were no Chromium" default:"false"`
	UnsafeNoSandbox     bool     `koanf:"unsafe_no_sandbox" doc:"run Chromium without its sandbox: a page that breaks out of a renderer then has the rights of browserd's user" default:"false"`
	Args                []string `koanf:"args" doc:"more command line flags for Chromium; those that would open a port or weaken the sandbox are refused" default:""`
	ComputedNames       bool     `koanf:"computed_names" doc:"take names and roles from Chromium itself; a page can see that this is on" default:"true"`
	RunAs               string   `koanf:"run_as" doc:"user (name, uid or uid:gid) that Chromium runs as when browserd runs as root; empty: browserd, chromium or nobody, the first there is" default:""`

	// StateDir is where the marks of running browsers are kept for Reap, in
	// StateDir/browsers. Set by cmd. Empty: no marks, and a daemon that is
	// killed leaves its profile directory behind.
	StateDir string `koanf:"-"`
	// ProxyServer is the address of the egress proxy that all traffic takes,
	// as Chromium's --proxy-server; empty: none. Set by cmd.
	ProxyServer string `koanf:"-"`
}

// Defaults returns the configuration of a daemon that was told nothing.
func Defaults() Config { return Config{Headless: true, ComputedNames: true} }
