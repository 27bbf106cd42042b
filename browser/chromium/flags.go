package chromium

import (
	"slices"
	"strings"
)

// fixedFlags are passed to both builds. Chromium's own traffic and services are
// off, the first start shows no dialogs, and background tabs run at full speed,
// because all tabs are used at once.
//
// --disable-popup-blocking and --disable-ipc-flooding-protection, which other
// tools set, are left out on purpose: they protect the browser from its pages.
var fixedFlags = []string{
	"--disable-quic",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
	"--disable-domain-reliability",
	"--disable-client-side-phishing-detection",
	"--disable-default-apps",
	"--disable-extensions",
	"--disable-breakpad",
	"--disable-crash-reporter",
	"--disable-field-trial-config",
	"--metrics-recording-only",
	"--password-store=basic",
	"--use-mock-keychain",
	"--no-first-run",
	"--no-default-browser-check",
	"--no-service-autorun",
	"--no-pings",

	"--disable-background-timer-throttling",
	"--disable-renderer-backgrounding",
	"--disable-backgrounding-occluded-windows",
	"--disable-hang-monitor",
	"--disable-prompt-on-repost",
	"--disable-search-engine-choice-screen",

	// Accept input before the first frame of a document has been drawn.
	"--allow-pre-commit-input",
	"--mute-audio",
	"--hide-scrollbars",
	"--font-render-hinting=none",
	"--force-color-profile=srgb",
	"--window-size=1280,720",
}

// disabledFeatures is the value of the one --disable-features: a second one
// would replace the first.
var disabledFeatures = []string{
	"MediaRouter",
	"DialMediaRouteProvider",
	"OptimizationHints",
	"OptimizationGuideModelDownloading",
	"Translate",
	"AutofillServerCommunication",
	"CertificateTransparencyComponentUpdater",
	"NetworkTimeServiceQuerying",
	"CalculateNativeWinOcclusion",
	"HttpsUpgrades",                // the full browser tries https:// first for http://: two connections, and another URL than the one that was checked
	"HttpsFirstModeIncognito",      // the same for contexts, with a warning page in between
	"BackForwardCache",             // off, going back loads the document again
	"RenderDocument",               // off, a document of the same site reuses the frame's RenderFrameHost: a navigation takes 15 ms of processor time, not 25
	"WebUIOmniboxPopup",            // the full browser fills its address bar's list from two pages of its own, in a process for each context that takes three times as much memory
	"WebUIOmniboxAimPopup",         // the other of the two
	"DeferRendererTasksAfterInput", // after an input it delays timers and messages until the next frame: a click took 17 ms instead of 6
}

// enabledFeatures is the value of the one --enable-features. An operator's
// --disable-features goes before it.
var enabledFeatures = []string{
	"WebMCP", // document.modelContext, where pages register tools for agents; without it only pages with a token of Chrome's trial have it
}

// egressFlags send all traffic of pages to the proxy. All of them are needed:
// Chromium's implicit bypass covers loopback and link-local addresses, WebRTC
// has sockets of its own (each build honours only one spelling of its flag), and
// without the resolver rules the names of TURN servers are looked up outside.
func egressFlags(proxy string) []string {
	return []string{
		"--proxy-server=" + proxy,
		"--proxy-bypass-list=<-loopback>",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.*",
	}
}

// trustedKeys is the flag that lists keys whose certificates are accepted unverified.
const trustedKeys = "--ignore-certificate-errors-spki-list"

// flags is Chromium's command line for a launch of found with the profile
// directory, without the program. smallShm is set if /dev/shm is too small for
// Chromium, which would crash its pages.
func flags(cfg Config, found Found, profile string, windows, smallShm bool) []string {
	list := slices.Clone(fixedFlags)
	list = append(list, "--remote-debugging-pipe", "--user-data-dir="+profile, "--no-startup-window")
	if !found.Shell && !windows {
		list = append(list, "--headless=new")
	}
	if smallShm {
		list = append(list, "--disable-dev-shm-usage")
	}
	if cfg.UnsafeNoSandbox {
		list = append(list, "--no-sandbox")
	}
	off := slices.Clone(disabledFeatures)
	if !found.Shell && !windows {
		// It asks the user in a window of its own, which blocks all input of the tab.
		off = append(off, "WebIdentityDigitalCredentials")
	}
	var keys []string
	if cfg.ProxyServer != "" {
		list = append(list, egressFlags(cfg.ProxyServer)...)
		// Without the WebRTC flags this would show local addresses to pages.
		off = append(off, "WebRtcHideLocalIpsWithMdns")
	}
	if cfg.TrustedKey != "" {
		keys = append(keys, cfg.TrustedKey)
	}
	on := slices.Clone(enabledFeatures)
	var blink []string
	if cfg.ComputedNames {
		blink = append(blink, "ComputedAccessibilityInfo")
	}
	for _, a := range cfg.Args {
		name, value, _ := strings.Cut(a, "=")
		switch name {
		case "--disable-features":
			off = append(off, strings.Split(value, ",")...)
		case trustedKeys:
			keys = append(keys, strings.Split(value, ",")...)
		case "--enable-features":
			on = append(on, strings.Split(value, ",")...)
		case "--enable-blink-features":
			blink = append(blink, strings.Split(value, ",")...)
		default:
			// The operator's value replaces browserd's.
			list = slices.DeleteFunc(list, func(f string) bool { return f == name || strings.HasPrefix(f, name+"=") })
			list = append(list, a)
		}
	}
	list = append(list, "--disable-features="+strings.Join(off, ","))
	if len(keys) > 0 {
		list = append(list, trustedKeys+"="+strings.Join(keys, ","))
	}
	list = append(list, "--enable-features="+strings.Join(on, ","))
	if len(blink) > 0 {
		list = append(list, "--enable-blink-features="+strings.Join(blink, ","))
	}
	return list
}
