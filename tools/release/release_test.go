package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// made writes the archives of release v1.2.3 into a directory: this system's with a
// browserd that was built for it, the others with a word. It returns the directory of
// the archives, with SHA256SUMS, and that of the installers.
func made(t *testing.T) (archives, installers string) {
	t.Helper()
	archives = t.TempDir()
	program := filepath.Join(t.TempDir(), "browserd")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=v1.2.3", "-o", program, "./cmd/browserd")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var sums strings.Builder
	for _, system := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		content := []byte("for " + system)
		if system == runtime.GOOS+"_"+runtime.GOARCH {
			var err error
			if content, err = os.ReadFile(program); err != nil {
				t.Fatal(err)
			}
		}
		var archive bytes.Buffer
		zipped, _ := gzip.NewWriterLevel(&archive, gzip.BestSpeed)
		files := tar.NewWriter(zipped)
		if err := files.WriteHeader(&tar.Header{Name: "browserd", Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		files.Write(content)
		files.Close()
		zipped.Close()
		name := "browserd_1.2.3_" + system + ".tar.gz"
		if err := os.WriteFile(filepath.Join(archives, name), archive.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(archive.Bytes()), name)
	}
	sums.WriteString(strings.Repeat("0", 64) + "  browserd_1.2.3_linux_amd64.tar.gz.sbom.json\n")
	if err := os.WriteFile(filepath.Join(archives, "SHA256SUMS"), []byte(sums.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	installers = filepath.Join(t.TempDir(), "installers")
	if err := write("../../packaging", "v1.2.3", filepath.Join(archives, "SHA256SUMS"), installers); err != nil {
		t.Fatal(err)
	}
	return archives, installers
}

// The npm and the pip package, installed as a user would, fetch the program once,
// run it with its arguments and exit code, and run nothing where the archive is not the
// one of the release, is missing, or is for another system.
func TestWrappersFetchTheProgramOfTheRelease(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the wrappers are not tried on Windows")
	}
	archives, installers := made(t)
	for _, wrapper := range []struct {
		tool    string
		install func(t *testing.T, prefix string) (program string)
	}{
		{"npm", func(t *testing.T, prefix string) string {
			run(t, filepath.Join(installers, "npm"), "npm", "pack", "--silent", "--pack-destination", prefix)
			run(t, prefix, "npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", "--global", "--prefix", prefix, "./browserd-cli-1.2.3.tgz")
			return filepath.Join(prefix, "bin", "browserd")
		}},
		{"python3", func(t *testing.T, prefix string) string {
			run(t, prefix, "python3", "-m", "venv", "--system-site-packages", "venv")
			if out, err := exec.Command(filepath.Join(prefix, "venv/bin/python"), "-c", "import setuptools, wheel").CombinedOutput(); err != nil {
				// Without pip's build tools the package is run from where it lies.
				t.Logf("pip install is not tried: %s", bytes.TrimSpace(out))
				program := filepath.Join(prefix, "browserd")
				script := fmt.Sprintf("#!/bin/sh\nPYTHONPATH='%s' exec python3 -c 'import browserd_cli; browserd_cli.main()' \"$@\"\n", filepath.Join(installers, "pip"))
				if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
				return program
			}
			run(t, prefix, "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", filepath.Join(installers, "pip"))
			return filepath.Join(prefix, "venv/bin/browserd")
		}},
	} {
		t.Run(wrapper.tool, func(t *testing.T) {
			if _, err := exec.LookPath(wrapper.tool); err != nil {
				t.Skipf("the wrapper is not tried: %v", err)
			}
			program := wrapper.install(t, t.TempDir())
			var fetched atomic.Int32
			serve := func(change func([]byte) []byte) string {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					fetched.Add(1)
					body, err := os.ReadFile(filepath.Join(archives, filepath.Base(r.URL.Path)))
					if err != nil || change == nil {
						http.NotFound(w, r)
						return
					}
					w.Write(change(body))
				}))
				t.Cleanup(server.Close)
				return server.URL
			}
			intact := serve(func(b []byte) []byte { return b })
			altered := serve(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
			short := serve(func(b []byte) []byte { return b[:len(b)-1] })
			missing := serve(nil)

			cache := t.TempDir()
			call := func(from string, args ...string) (int, string) {
				cmd := exec.Command(program, args...)
				cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "BROWSERD_RELEASES="+from)
				out, err := cmd.CombinedOutput()
				if err != nil && cmd.ProcessState == nil {
					t.Fatal(err)
				}
				return cmd.ProcessState.ExitCode(), string(out)
			}
			for from, want := range map[string]string{altered: "SHA-256", short: "SHA-256", missing: "404"} {
				if code, out := call(from, "version"); code != 1 || !strings.Contains(out, want) {
					t.Errorf("want exit 1 and %q: %d\n%s", want, code, out)
				}
				if left, _ := filepath.Glob(filepath.Join(cache, "browserd/programs/*")); len(left) > 0 {
					t.Errorf("a refused archive left %v", left)
				}
			}
			fetched.Store(0)
			for range 2 {
				if code, out := call(intact, "version"); code != 0 || !strings.Contains(out, "browserd v1.2.3 ") {
					t.Errorf("version: %d\n%s", code, out)
				}
			}
			if code, out := call(intact, "no-such-command", "a b"); code == 0 || !strings.Contains(out, "no-such-command") {
				t.Errorf("a wrong command: %d\n%s", code, out)
			}
			if n := fetched.Load(); n != 1 {
				t.Errorf("fetched %d times, want once", n)
			}
		})
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// The formula names each archive with its checksum, and Ruby takes it.
func TestFormula(t *testing.T) {
	archives, installers := made(t)
	text, err := os.ReadFile(filepath.Join(installers, "browserd.rb"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(archives, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want := fmt.Sprintf("url \"https://github.com/browserd/browserd/releases/download/v1.2.3/%s\"\n      sha256 \"%s\"\n", name, digest)
		if strings.HasSuffix(name, ".tar.gz") != strings.Contains(string(text), want) {
			t.Errorf("%s: want it in the formula if it is an archive:\n%s", name, text)
		}
	}
	if ruby, err := exec.LookPath("ruby"); err != nil {
		t.Log("the formula's syntax is not looked at: there is no ruby")
	} else {
		run(t, installers, ruby, "-c", "browserd.rb")
	}
}

func TestWhatIsNoRelease(t *testing.T) {
	digest := strings.Repeat("a", 64)
	for name, c := range map[string]struct{ tag, sums, want string }{
		"no tag":                {"main", "", "is not vMAJOR"},
		"no archive":            {"v1.2.3", digest + "  README.md\n", "names no archive"},
		"another release":       {"v1.2.3", digest + "  browserd_1.2.2_linux_amd64.tar.gz\n", "is not of v1.2.3"},
		"a system without one":  {"v1.2.3", digest + "  browserd_1.2.3_linux_amd64.tar.gz\n", "do not name"},
		"a digest that is none": {"v1.2.3", "aa  browserd_1.2.3_linux_amd64.tar.gz\n", "names no archive"},
	} {
		sums := filepath.Join(t.TempDir(), "SHA256SUMS")
		if err := os.WriteFile(sums, []byte(c.sums), 0o644); err != nil {
			t.Fatal(err)
		}
		err := write("../../packaging", c.tag, sums, filepath.Join(t.TempDir(), "out"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
