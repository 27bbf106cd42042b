package chromium

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

const (
	program = "\x7fELF"
	wrapper = "#!/bin/sh\nexec "
)

func TestFind(t *testing.T) {
	linuxPath := []string{"/usr/local/bin", "/usr/bin", "/snap/bin"}
	for _, c := range []struct {
		name  string
		goos  string
		path  []string
		env   map[string]string
		files map[string]string
		cfg   Config
		want  Found
		err   string // part of the message
		next  string // part of the next step
	}{
		{
			name: "debian, both: the shell behind its wrapper", goos: "linux", path: linuxPath,
			files: map[string]string{
				"/usr/bin/chromium":                         wrapper + "$LIBDIR/$APPNAME $FLAGS \"$@\"\n",
				"/usr/bin/chromium-headless-shell":          "#!/bin/sh -e\n\n/usr/lib/chromium/chromium-headless-shell \"$@\"\n",
				"/usr/lib/chromium/chromium":                program,
				"/usr/lib/chromium/chromium-headless-shell": program,
			},
			cfg:  defaults(),
			want: Found{Path: "/usr/lib/chromium/chromium-headless-shell", Product: "chromium-headless-shell", Shell: true},
		},
		{
			name: "debian, chromium alone: its wrapper names no path", goos: "linux", path: linuxPath,
			files: map[string]string{"/usr/bin/chromium": wrapper + "$LIBDIR/$APPNAME\n", "/usr/lib/chromium/chromium": program},
			cfg:   defaults(),
			want:  Found{Path: "/usr/lib/chromium/chromium", Product: "chromium"},
		},
		{
			name: "browser.path at a wrapper is resolved, and to the build it names", goos: "linux",
			files: map[string]string{
				"/usr/bin/chromium":                         wrapper + "$LIBDIR/$APPNAME\n",
				"/usr/lib/chromium/chromium-headless-shell": program,
				"/usr/lib/chromium/chromium":                program,
			},
			cfg:  Config{Headless: true, Path: "/usr/bin/chromium"},
			want: Found{Path: "/usr/lib/chromium/chromium", Product: "chromium"},
		},
		{
			name: "fedora", goos: "linux", path: []string{"/usr/bin"},
			files: map[string]string{"/usr/bin/chromium-browser": wrapper + "\"$@\"\n", "/usr/lib64/chromium-browser/chromium-browser": program},
			cfg:   defaults(),
			want:  Found{Path: "/usr/lib64/chromium-browser/chromium-browser", Product: "chromium"},
		},
		{
			name: "chrome's wrapper is not resolved to a chromium", goos: "linux", path: []string{"/usr/bin"},
			files: map[string]string{"/usr/bin/google-chrome-stable": wrapper + "-a \"$0\" \"$HERE/chrome\"\n", "/opt/google/chrome/chrome": program},
			cfg:   defaults(),
			want:  Found{Path: "/opt/google/chrome/chrome", Product: "chrome"},
		},
		{
			name: "a wrapper of nothing known is used as it is", goos: "linux", path: []string{"/usr/bin"},
			files: map[string]string{"/usr/bin/chromium": wrapper + "/usr/libexec/gone \"$@\"\n"},
			cfg:   defaults(),
			want:  Found{Path: "/usr/bin/chromium", Product: "chromium"},
		},
		{
			name: "somebody's own wrapper is used as it is", goos: "linux", cfg: Config{Path: "/opt/my-chromium"},
			files: map[string]string{"/opt/my-chromium": wrapper + "/usr/lib/chromium/chromium --lang=de \"$@\"\n", "/usr/lib/chromium/chromium": program},
			want:  Found{Path: "/opt/my-chromium", Product: "chromium"},
		},
		{
			name: "an empty PATH", goos: "linux",
			files: map[string]string{"/usr/lib/chromium/chromium": program},
			cfg:   defaults(),
			want:  Found{Path: "/usr/lib/chromium/chromium", Product: "chromium"},
		},
		{
			name: "the program inside a snap, not its wrapper", goos: "linux", path: linuxPath,
			files: map[string]string{"/snap/bin/chromium": program, "/snap/chromium/current/usr/lib/chromium-browser/chrome": program},
			cfg:   defaults(),
			want:  Found{Path: "/snap/chromium/current/usr/lib/chromium-browser/chrome", Product: "chromium"},
		},
		{
			name: "never from the working directory", goos: "linux", path: []string{".", "", "bin"},
			files: map[string]string{"/chromium": program, "/bin/chromium": program}, cfg: defaults(),
			err: "no Chromium was found",
		},
		{
			name: "macOS", goos: "darwin", env: map[string]string{"HOME": "/Users/ann"},
			files: map[string]string{"/Users/ann/Applications/Google Chrome.app/Contents/MacOS/Google Chrome": program},
			cfg:   defaults(),
			want:  Found{Path: "/Users/ann/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", Product: "chrome"},
		},
		{
			name: "macOS prefers Chromium", goos: "darwin",
			files: map[string]string{
				"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome": program,
				"/Applications/Chromium.app/Contents/MacOS/Chromium":           program,
			},
			cfg:  defaults(),
			want: Found{Path: "/Applications/Chromium.app/Contents/MacOS/Chromium", Product: "chromium"},
		},
		{
			name: "windows", goos: "windows", env: map[string]string{"ProgramFiles": "/Program Files"},
			files: map[string]string{`/Program Files\Google\Chrome\Application\chrome.exe`: program},
			cfg:   defaults(),
			want:  Found{Path: `/Program Files\Google\Chrome\Application\chrome.exe`, Product: "chrome"},
		},
		{
			name: "nothing", goos: "linux", files: map[string]string{"/etc/debian_version": "13"}, cfg: defaults(),
			err: "no Chromium was found on PATH or where it is usually installed", next: "browserd install (apt-get install chromium-headless-shell",
		},
		{
			name: "nothing, and browserd install does not know the system", goos: "linux", files: map[string]string{"/etc/alpine-release": "3"}, cfg: defaults(),
			err: "no Chromium was found on PATH or where it is usually installed", next: "install it (apk add chromium",
		},
		{
			name: "browser.path that is not there", goos: "linux", cfg: Config{Path: "/opt/none"},
			err: `browser.path: "/opt/none" does not exist`,
		},
		{
			name: "browser.path that cannot be run", goos: "linux", cfg: Config{Path: "/etc/passwd"},
			files: map[string]string{"/etc/passwd": "-root"},
			err:   `browser.path: "/etc/passwd" is not a program that can be run`,
		},
		{
			name: "browser.path that is a directory", goos: "linux", cfg: Config{Path: "/usr"},
			files: map[string]string{"/usr/bin/x": program},
			err:   `browser.path: "/usr" is not a program that can be run`,
		},
		{
			name: "switched off", goos: "linux", cfg: Config{Disabled: true},
			files: map[string]string{"/usr/lib/chromium/chromium": program},
			err:   "switched off by browser.disabled",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, content := range c.files {
				mode := os.FileMode(0o755)
				if content, not := strings.CutPrefix(content, "-"); not {
					c.files[name], mode = content, 0o644
				}
				if err := os.MkdirAll(filepath.Dir(root+name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(root+name, []byte(content), mode); err != nil {
					t.Fatal(err)
				}
			}
			f := finder{goos: c.goos, path: c.path, root: root, env: func(k string) string { return c.env[k] }}
			got, err := f.find(c.cfg)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || protocol.CodeOf(err) != protocol.ChromiumUnavailable {
					t.Fatalf("found %+v, error %v; want chromium_unavailable with %q", got, err, c.err)
				}
				if e := err.(*protocol.Error); e.Next == "" || !strings.Contains(e.Next, c.next) || strings.Contains(e.Message, "\n") {
					t.Errorf("want one line and a next step, got %+v", e)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("want -, got +\n%s", d)
			}
		})
	}
}
