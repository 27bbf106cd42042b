package chromium

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	shell, full := Found{Shell: true}, Found{}
	for _, c := range []struct {
		name     string
		cfg      Config
		found    Found
		windows  bool
		smallShm bool
		has      []string
		hasNot   []string // prefixes
	}{
		{
			name: "the shell", cfg: defaults(), found: shell,
			has:    []string{"--remote-debugging-pipe", "--user-data-dir=/p", "--enable-blink-features=ComputedAccessibilityInfo", "--disable-quic", "--no-first-run"},
			hasNot: []string{"--headless", "--no-sandbox", "--disable-popup-blocking", "--disable-ipc-flooding-protection", "--remote-debugging-port", "--proxy", "--disable-dev-shm-usage"},
		},
		{name: "the full browser", cfg: defaults(), found: full, has: []string{"--headless=new"}, hasNot: []string{"--no-sandbox"}},
		{name: "with windows", cfg: Config{}, found: full, windows: true, hasNot: []string{"--headless", "--enable-blink-features"}},
		{name: "small shared memory", cfg: defaults(), found: shell, smallShm: true, has: []string{"--disable-dev-shm-usage"}},
		{name: "the operator's word", cfg: Config{UnsafeNoSandbox: true}, found: shell, has: []string{"--no-sandbox"}},
		{
			name: "a proxy", cfg: Config{ProxyServer: "http://127.0.0.1:1"}, found: shell,
			has: []string{
				"--proxy-server=http://127.0.0.1:1", "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.*",
				"--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
			},
		},
		{
			name: "args are merged and take the place of ours", found: shell,
			cfg: Config{ComputedNames: true, Args: []string{"--disable-features=A,B", "--enable-features=C", "--enable-blink-features=D", "--window-size=1,2", "--lang=de"}},
			has: []string{"--enable-features=WebMCP,C", "--enable-blink-features=ComputedAccessibilityInfo,D", "--window-size=1,2", "--lang=de"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := flags(c.cfg, c.found, "/p", c.windows, c.smallShm)
			for _, f := range c.has {
				if !slices.Contains(got, f) {
					t.Errorf("%s is missing in %q", f, got)
				}
			}
			for _, p := range c.hasNot {
				if i := slices.IndexFunc(got, func(f string) bool { return strings.HasPrefix(f, p) }); i >= 0 {
					t.Errorf("%s must not be there", got[i])
				}
			}
			seen := map[string]bool{}
			for _, f := range got {
				name, value, _ := strings.Cut(f, "=")
				if seen[name] {
					t.Errorf("%s is there twice", name)
				}
				seen[name] = true
				if name == "--disable-features" {
					off := strings.Split(value, ",")
					want := []string{
						"MediaRouter", "DialMediaRouteProvider", "OptimizationHints", "OptimizationGuideModelDownloading", "Translate", "AutofillServerCommunication",
						"CertificateTransparencyComponentUpdater", "NetworkTimeServiceQuerying", "CalculateNativeWinOcclusion", "HttpsUpgrades", "HttpsFirstModeIncognito",
						"BackForwardCache", "RenderDocument", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "DeferRendererTasksAfterInput",
					}
					if !c.found.Shell && !c.windows {
						want = append(want, "WebIdentityDigitalCredentials")
					}
					if c.cfg.ProxyServer != "" {
						want = append(want, "WebRtcHideLocalIpsWithMdns")
					}
					if len(c.cfg.Args) > 0 {
						want = append(want, "A", "B")
					}
					if !slices.Equal(off, want) {
						t.Errorf("disabled features %q, want %q", off, want)
					}
				}
			}
		})
	}
}

func TestConfigCheck(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string // "": good; otherwise the beginning
	}{
		{Config{}, ""},
		{defaults(), ""},
		{Config{Args: []string{"--lang=de", "--force-dark-mode"}}, ""},
		{Config{Args: []string{"--no-sandbox"}}, "browser.args: --no-sandbox is refused: set browser.unsafe_no_sandbox"},
		{Config{Args: []string{"--remote-debugging-port=0"}}, "browser.args: --remote-debugging-port is refused"},
		{Config{Args: []string{"--user-data-dir=/x"}}, "browser.args: --user-data-dir is refused"},
		{Config{Args: []string{"http://a.test"}}, `browser.args: "http://a.test" is not a flag`},
		{Config{Args: []string{"--"}}, `browser.args: "--" is not a flag`},
		{Config{Args: []string{"-no-sandbox"}}, `browser.args: "-no-sandbox" is not a flag`},
		{Config{Jail: "maybe"}, `browser.jail: "maybe": accepts auto, required or off`},
		{Config{Endpoint: "http://127.0.0.1:9222", EndpointUnprotected: true}, ""},
		{Config{Endpoint: "wss://h.test/devtools/browser/1?token=2", EndpointUnprotected: true}, ""},
		{Config{Endpoint: "127.0.0.1:9222", EndpointUnprotected: true}, `browser.endpoint: "127.0.0.1:9222" is not a CDP address`},
		{Config{Endpoint: "file:///x", EndpointUnprotected: true}, `browser.endpoint: "file:///x" is not a CDP address`},
		{Config{Endpoint: "http://127.0.0.1:9222", EndpointUnprotected: true, Path: "/x"}, "browser.endpoint and browser.path are both set"},
		{Config{AnswerTimeout: -time.Second}, "browser.answer_timeout: -1s: accepts 0, or a second and more"},
		{Config{AnswerTimeout: time.Millisecond}, "browser.answer_timeout: 1ms: accepts 0, or a second and more"},
		{Config{RunAs: "root"}, `browser.run_as: "root" is root`},
		{Config{RunAs: "0:0"}, `browser.run_as: "0:0" is root`},
		{Config{RunAs: "1000:0"}, `browser.run_as: "1000:0" is root`},
		{Config{RunAs: "no-such-user"}, `browser.run_as: there is no user "no-such-user"`},
		{Config{RunAs: "64000:64000"}, ""},
	} {
		err := c.cfg.Check()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.cfg, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%+v: got %v, want %s…", c.cfg, err, c.want)
		}
	}
}

// Each flag that is refused is refused with a value too, and as Windows reads it, in capitals.
func TestRefusedFlags(t *testing.T) {
	refused := []string{
		"no-sandbox", "disable-setuid-sandbox", "disable-namespace-sandbox", "disable-seccomp-filter-sandbox", "no-zygote-sandbox", "disable-gpu-sandbox",
		"single-process", "no-zygote",
		"remote-debugging-io-pipes", "remote-debugging-port", "remote-debugging-address", "remote-debugging-pipe", "remote-allow-origins", "user-data-dir",
		"proxy-server", "proxy-pac-url", "proxy-bypass-list", "proxy-auto-detect", "no-proxy-server", "host-resolver-rules",
		"disable-web-security", "disable-popup-blocking", "disable-ipc-flooding-protection",
	}
	if got := slices.Sorted(maps.Keys(refusedFlags)); !slices.Equal(got, slices.Sorted(slices.Values(refused))) {
		t.Errorf("refused are %q", got)
	}
	for _, name := range refused {
		for _, arg := range []string{"--" + name, "--" + name + "=x", "--" + strings.ToUpper(name)} {
			err := Config{Args: []string{"--lang=de", arg}}.Check()
			written, _, _ := strings.Cut(arg, "=")
			if want := "browser.args: " + written + " is refused: "; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: got %v, want %s…", arg, err, want)
			}
		}
	}
}
