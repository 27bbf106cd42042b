package chromium

import (
	"bytes"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
)

// Found is a Chromium on this machine.
type Found struct {
	Path    string // the program itself, not a shell wrapper, where the wrapper names its program
	Product string // what kind it is by its name: chromium-headless-shell, chromium or chrome
	Shell   bool   // the headless shell: no windows, less memory, a quicker start
}

// Find returns the Chromium that cfg names, or else the best one that is
// installed: a headless shell first, then Chromium, then Chrome, on PATH and in
// the usual places of Linux, macOS and Windows. It runs nothing. The error has the code
// chromium_unavailable and one line on what to do.
func Find(cfg Config) (Found, error) {
	return finder{
		goos: runtime.GOOS, path: filepath.SplitList(os.Getenv("PATH")), env: os.Getenv,
	}.find(cfg)
}

// Installed returns the Chromiums that are installed, in the order in which [Find]
// prefers them. One may come more than once.
func Installed() iter.Seq[Found] {
	return finder{goos: runtime.GOOS, path: filepath.SplitList(os.Getenv("PATH")), env: os.Getenv}.installed()
}

// finder has what Find reads of the machine.
type finder struct {
	goos string
	path []string
	env  func(string) string
	root string // put before every absolute path, by tests
}

// The names under which Linux distributions install each build, the preferred
// ones first.
var (
	shellNames = []string{"chromium-headless-shell", "chrome-headless-shell", "headless_shell", "headless-shell"}
	fullNames  = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "ungoogled-chromium", "google-chrome-beta", "microsoft-edge-stable"}
)

// installPaths are the paths of the programs that the scripts on PATH only wrap. They also
// serve when PATH is short, such as a system service's.
var installPaths = []string{
	// Debian, Fedora, Alpine, Arch
	"/usr/lib/chromium/chromium-headless-shell",
	"/usr/lib/chromium-browser/headless_shell", "/usr/lib64/chromium-browser/headless_shell",
	"/headless-shell/headless-shell",
	"/usr/lib/chromium/chromium", "/usr/lib/chromium/chrome",
	"/usr/lib/chromium-browser/chromium-browser", "/usr/lib64/chromium-browser/chromium-browser",
	"/usr/lib/chromium-browser/chromium", "/usr/lib64/chromium/chromium",
	"/opt/google/chrome/chrome", "/opt/chromium/chrome", "/opt/google/chrome-beta/chrome",
	"/opt/microsoft/msedge/msedge",
	// A snap's program runs outside the snap; its wrapper cannot be handed a pipe.
	"/snap/chromium/current/usr/lib/chromium-browser/chrome",
}

func (f finder) find(cfg Config) (Found, error) {
	if cfg.Disabled {
		return Found{}, unavailable("set browser.disabled to false", "Chromium is switched off by browser.disabled")
	}
	if cfg.Path != "" {
		path := cfg.Path
		if !f.executable(path) {
			why := "is not a program that can be run"
			if _, err := os.Stat(f.root + path); err != nil {
				why = "does not exist"
			}
			return Found{}, unavailable("set browser.path to Chromium's program, or leave it empty to have it found", "browser.path: %q %s", cfg.Path, why)
		}
		return describe(f.program(path)), nil
	}
	windows := cfg.withWindows(f.goos)
	for found := range f.installed() {
		if found.Shell && windows {
			continue
		}
		return found, nil
	}
	return Found{}, unavailable(f.remedy(), "no Chromium was found on PATH or where it is usually installed")
}

// installed returns the candidates that can be run, best first.
func (f finder) installed() iter.Seq[Found] {
	return func(yield func(Found) bool) {
		for path := range f.candidates() {
			if f.executable(path) && !yield(describe(f.program(path))) {
				return
			}
		}
	}
}

// candidates returns the paths to try, best first.
func (f finder) candidates() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, group := range f.groups() {
			for _, path := range group() {
				if !yield(path) {
					return
				}
			}
		}
	}
}

// groups returns the candidates by where they are found. A group is built only if no group
// before it has a Chromium that fits.
func (f finder) groups() []func() []string {
	shells := func() []string { return f.onPath(shellNames) }
	full := func() []string { return f.onPath(fullNames) }
	switch f.goos {
	case "darwin":
		return []func() []string{shells, f.applications, full}
	case "windows":
		return []func() []string{shells, f.programFiles, full}
	}
	isSnap := func(path string) bool { return strings.HasPrefix(path, "/snap/") }
	return []func() []string{
		func() []string { return slices.DeleteFunc(shells(), isSnap) },
		func() []string {
			return slices.DeleteFunc(slices.Clone(installPaths), func(p string) bool { return !isShell(p) })
		},
		func() []string { return slices.DeleteFunc(full(), isSnap) },
		func() []string { return installPaths },
		// snap's wrapper is on PATH as /snap/bin/chromium: left for last.
		func() []string { return slices.DeleteFunc(full(), func(p string) bool { return !isSnap(p) }) },
	}
}

// onPath returns the names in the directories of PATH; never in the working directory.
func (f finder) onPath(names []string) (list []string) {
	for _, n := range names {
		if f.goos == "windows" {
			n += ".exe"
		}
		for _, dir := range f.path {
			if filepath.IsAbs(dir) {
				list = append(list, filepath.Join(dir, n))
			}
		}
	}
	return list
}

// applications returns the paths to try on macOS.
func (f finder) applications() (list []string) {
	for _, dir := range []string{"/Applications", f.env("HOME") + "/Applications"} {
		for _, app := range []string{"Chromium", "Google Chrome", "Google Chrome for Testing", "Microsoft Edge"} {
			list = append(list, filepath.Join(dir, app+".app/Contents/MacOS", app))
		}
	}
	return append(list, "/opt/homebrew/bin/chromium", "/usr/local/bin/chromium")
}

// programFiles returns the paths to try on Windows.
func (f finder) programFiles() (list []string) {
	for _, v := range []string{"ProgramFiles", "ProgramFiles(x86)", "LocalAppData"} {
		dir := f.env(v)
		if dir == "" {
			continue
		}
		for _, app := range []string{`Chromium\Application\chrome.exe`, `Google\Chrome\Application\chrome.exe`, `Microsoft\Edge\Application\msedge.exe`} {
			list = append(list, strings.TrimRight(dir, `\`)+`\`+app)
		}
	}
	return list
}

// remedy returns the next step if nothing was found.
func (f finder) remedy() string {
	switch f.goos {
	case "darwin":
		return "install it (brew install --cask chromium), or set browser.path"
	case "windows":
		return "install Chrome, or set browser.path"
	}
	for file, how := range map[string]string{ // what browserd install does
		"/etc/debian_version": "apt-get install chromium-headless-shell; on Ubuntu, whose package is a snap, Google's google-chrome-stable",
		"/etc/fedora-release": "dnf install chromium-headless",
	} {
		if _, err := os.Stat(f.root + file); err == nil {
			return "browserd install (" + how + "), or set browser.path"
		}
	}
	return "install it (apk add chromium, pacman -S chromium), or set browser.path"
}

// executable reports whether path is a file that may be run.
func (f finder) executable(path string) bool {
	fi, err := os.Stat(f.root + path)
	return err == nil && fi.Mode().IsRegular() && (f.goos == "windows" || fi.Mode()&0o111 != 0)
}

// program returns the program that a shell wrapper runs, and path itself where
// it is no wrapper or does not name its program. Wrappers add flags of their
// own, and stay as a process between the daemon and the browser.
func (f finder) program(path string) string {
	script, ok := f.script(path)
	if !ok {
		// Links are followed for the wrapper behind a link (/etc/alternatives).
		real, err := filepath.EvalSymlinks(f.root + path)
		if err != nil || f.root != "" || real == path || filepath.Base(real) == "snap" {
			return path
		}
		return real
	}
	// A wrapper by another name was written by the user, with what it adds on purpose.
	shell := isShell(path)
	if base := filepath.Base(path); !slices.Contains(shellNames, base) && !slices.Contains(fullNames, base) {
		return path
	}
	for _, p := range append(named(script), installPaths...) {
		if isShell(p) == shell && sameProduct(p, path) && f.executable(p) {
			if _, wrapper := f.script(p); !wrapper {
				return p
			}
		}
	}
	return path
}

// script returns the beginning of path if it is a script.
func (f finder) script(path string) ([]byte, bool) {
	file, err := os.Open(f.root + path)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	head := make([]byte, 2, 16<<10)
	if _, err := io.ReadFull(file, head); err != nil || string(head) != "#!" {
		return nil, false
	}
	n, _ := io.ReadFull(file, head[2:cap(head)])
	return head[:2+n], true
}

// named returns the absolute paths of likely programs that a script names, of
// those that a distribution installs: elsewhere (Nix) a wrapper sets what its
// program needs.
func named(script []byte) []string {
	var list []string
	between := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'=`, r) }
	for word := range bytes.FieldsFuncSeq(script, between) {
		if !bytes.HasPrefix(word, []byte("/usr/")) && !bytes.HasPrefix(word, []byte("/opt/")) {
			continue
		}
		p := string(word)
		if end := strings.IndexFunc(p, notOfAPath); end > 0 {
			p = p[:end]
		}
		base := strings.ToLower(filepath.Base(p))
		if strings.Contains(base, "chrom") || strings.Contains(base, "headless") || strings.Contains(base, "msedge") {
			list = append(list, p)
		}
	}
	return list
}

func notOfAPath(r rune) bool {
	letter := 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
	return !letter && !strings.ContainsRune("_./+-", r)
}

func isShell(path string) bool {
	base := strings.ToLower(filepath.Base(strings.ReplaceAll(path, `\`, "/")))
	return strings.Contains(base, "headless")
}

// sameProduct keeps Chrome's wrapper from being resolved to Chromium.
func sameProduct(a, b string) bool { return describe(a).Product == describe(b).Product }

func describe(path string) Found {
	f := Found{Path: path, Shell: isShell(path), Product: "chromium"}
	switch low := strings.ToLower(path); {
	case f.Shell:
		f.Product = "chromium-headless-shell"
	case strings.Contains(low, "edge"):
		f.Product = "edge"
	case strings.Contains(low, "google"):
		f.Product = "chrome"
	}
	return f
}
