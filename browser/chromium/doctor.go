package chromium

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Level is how much a Check matters.
type Level string

const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // browserd works, worse than it could
	LevelFail Level = "fail" // pages cannot be opened in Chromium
)

// Check is the result of one check.
type Check struct {
	Name   string // in a word or two
	OK     bool   // Level is ok
	Level  Level
	Found  string // one sentence
	Remedy string // how to fix it; empty when OK
}

func passed(name, found string, args ...any) Check {
	return Check{Name: name, OK: true, Level: LevelOK, Found: fmt.Sprintf(found, args...)}
}

func warned(name, remedy, found string, args ...any) Check {
	return Check{Name: name, Level: LevelWarn, Found: fmt.Sprintf(found, args...), Remedy: remedy}
}

func failed(name, remedy, found string, args ...any) Check {
	return Check{Name: name, Level: LevelFail, Found: fmt.Sprintf(found, args...), Remedy: remedy}
}

// failedBy returns a failure that an error describes, with its next step.
func failedBy(name string, err error) Check {
	c := failed(name, protocol.ChromiumUnavailable.Row().Next, "%s", err.Error())
	if e := (*protocol.Error)(nil); errors.As(err, &e) {
		c.Found = e.Message
		if e.Next != "" {
			c.Remedy = e.Next
		}
	}
	return c
}

// pageLimit is how long the first page may take.
const pageLimit = 15 * time.Second

// Checks tests everything about Chromium that a user can get wrong, in the order in
// which it should be fixed. It launches the browser that cfg names for a moment, opens
// about:blank and examines its sandbox; it leaves nothing behind and sends nothing off
// the machine. It takes about a second, at most about a minute, and less when ctx ends.
func Checks(ctx context.Context, cfg Config) []Check {
	var list []Check
	add := func(c ...Check) { list = append(list, c...) }

	if err := cfg.Check(); err != nil {
		add(failed("configuration", "fix the configuration", "%s", err.Error()))
		return list
	}
	if cfg.Disabled {
		add(warned("chromium", "set browser.disabled to false", "switched off by browser.disabled: only static pages are served"))
		return list
	}
	add(stateCheck(cfg))
	local := cfg.Endpoint == ""
	if local {
		found, err := Find(cfg)
		if err != nil {
			add(failedBy("chromium", err))
			return list
		}
		c := passed("chromium", "%s at %s", found.Product, found.Path)
		if !found.Shell && cfg.Headless && cfg.Path == "" {
			c.Found += " (chromium-headless-shell would start sooner and need less memory)"
		}
		add(c)
		add(machineChecks(cfg)...)
		add(jailCheck(cfg))
	}
	add(liveChecks(ctx, cfg)...)
	if local {
		add(fontChecks(ctx)...)
	}
	return list
}

// jailCheck tests whether Chromium gets a network namespace of its own.
func jailCheck(cfg Config) Check {
	const name = "jail"
	const remedy = "allow unprivileged user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0; in a container a seccomp profile that allows clone and unshare)"
	if cfg.Jail == JailOff {
		return warned(name, "set browser.jail to auto", "off by browser.jail: Chromium's flags alone keep it to the egress proxy")
	}
	switch err := CanJail(cfg); {
	case err == nil:
		return passed(name, "Chromium gets a network namespace in which there is the egress proxy alone")
	case cfg.Jail == JailRequired:
		return failed(name, remedy+", or set browser.jail to auto", "required by browser.jail, and there is none: %v", err)
	default:
		return warned(name, remedy, "none: Chromium's flags alone keep it to the egress proxy: %v", err)
	}
}

// stateCheck tests whether the marks of running browsers can be written.
func stateCheck(cfg Config) Check {
	const name = "state directory"
	if cfg.StateDir == "" {
		return warned(name, "set a state directory", "none: what a killed browserd leaves behind is not found at the next start")
	}
	dir := marksDir(cfg.StateDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed(name, "make "+cfg.StateDir+" writable for browserd's user", "%v", err)
	}
	if !writable(dir) {
		return failed(name, "make "+dir+" writable for browserd's user", "%s cannot be written to", dir)
	}
	return passed(name, "%s", cfg.StateDir)
}

// liveChecks checks that the browser starts, opens a page and sandboxes it.
func liveChecks(ctx context.Context, cfg Config) (list []Check) {
	if cfg.Endpoint == "" && cfg.Jail != JailOff && CanJail(cfg) == nil {
		// As the daemon launches it, but with a proxy that lets nothing through.
		cfg.Adopt, cfg.JailPort, cfg.ProxyServer = func(l net.Listener) { l.Close() }, 3128, "http://127.0.0.1:3128"
	}
	c := Start(ctx, cfg, slog.New(slog.DiscardHandler))
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageLimit)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			list = append(list, warned("end", "end the processes by hand, and look into the kernel's log", "%v", err))
		}
	}()
	begin := time.Now()
	conn, _, err := c.Conn(ctx)
	if err != nil {
		return []Check{failedBy("start", err)}
	}
	list = append(list, passed("start", "%s answered after %v", c.Info().Product, time.Since(begin).Round(time.Millisecond)))

	begin = time.Now()
	closePage, err := tryPage(ctx, conn)
	if err != nil {
		remedy := "look at memory (a container's limit) and shared memory: pages crash without"
		return append(list, failed("page", remedy, "no page could be opened: %v", err))
	}
	defer closePage()
	list = append(list, passed("page", "opened after %v", time.Since(begin).Round(time.Millisecond)))

	switch s := c.Info().Sandbox; {
	case cfg.Endpoint != "" && cfg.Advertised:
		list = append(list, warned("egress", "run Chromium on this machine", "that Chromium's pages go through browserd's proxy, but its flags and namespaces are not browserd's: its UDP and its own traffic are not held"))
	case cfg.Endpoint != "":
		list = append(list, warned("egress", "run Chromium on this machine", "that Chromium reaches its network without browserd's checks (browser.endpoint_unprotected)"))
	case cfg.UnsafeNoSandbox:
		list = append(list, warned("sandbox", "set browser.unsafe_no_sandbox to false", "off by browser.unsafe_no_sandbox: a page that breaks out of a renderer has the rights of Chromium's user"))
	case s != "on":
		list = append(list, failed("sandbox", "allow unprivileged user namespaces and seccomp for Chromium", "%s", s))
	default:
		list = append(list, passed("sandbox", "on"))
	}
	return list
}

// tryPage opens about:blank in a context of its own and runs a script there.
func tryPage(ctx context.Context, conn *cdp.Conn) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	b := conn.Session("")
	bc, err := cdproto.Call(ctx, b, target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		return nil, err
	}
	dispose := func() {
		b.Send(target.CommandDisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: bc.BrowserContextID})
	}
	page, err := cdproto.Call(ctx, b, target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: bc.BrowserContextID})
	if err != nil {
		dispose()
		return nil, err
	}
	flat := true
	s, err := cdproto.Call(ctx, b, target.AttachToTarget, target.AttachToTargetParams{TargetID: page.TargetID, Flatten: &flat})
	if err == nil {
		_, err = cdproto.Call(ctx, conn.Session(s.SessionID), cdpruntime.Evaluate, cdpruntime.EvaluateParams{Expression: "6*7"})
	}
	if err != nil {
		dispose()
		return nil, err
	}
	return dispose, nil
}

// fontDirs are where fonts are on each system, when fc-list is not there to ask.
func fontDirs() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"/System/Library/Fonts", "/Library/Fonts"}
	case "windows":
		return []string{filepath.Join(os.Getenv("WINDIR"), "Fonts")}
	}
	return []string{"/usr/share/fonts", "/usr/local/share/fonts"}
}
