package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestMain removes what made has made.
func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(madeIn)
	os.Exit(code)
}

var (
	madeIn string // made's directory; empty: not made yet
	making sync.Mutex
)

// made writes the archives of release v1.2.3 into a directory, once for all tests: this system's
// with a browserd that was built for it, the others with a word. It returns the directory of
// the archives, with SHA256SUMS, and that of the installers. Nobody may change them.
func made(t *testing.T) (archives, installers string) {
	t.Helper()
	python := packer(t)
	making.Lock()
	defer making.Unlock()
	archives, installers = filepath.Join(madeIn, "archives"), filepath.Join(madeIn, "installers")
	if madeIn != "" {
		return archives, installers
	}
	dir, err := os.MkdirTemp("", "browserd-release-test-")
	if err != nil {
		t.Fatal(err)
	}
	madeIn = dir
	archives, installers = filepath.Join(dir, "archives"), filepath.Join(dir, "installers")
	if err := os.Mkdir(archives, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "browserd")
	// As the Makefile's daemon without the race detector, so that only the linker has work.
	build := exec.Command("go", "build", "-ldflags", "-s -w -X main.version=v1.2.3", "-o", program, "./cmd/browserd")
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
	if err := write("../..", "v1.2.3", filepath.Join(archives, "SHA256SUMS"), installers, python); err != nil {
		t.Fatal(err)
	}
	return archives, installers
}

// packer is a Python that has what packs for pip.
func packer(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import setuptools, wheel, pip, venv, ensurepip").Run() == nil {
			return name
		}
	}
	missing(t, "there is no Python with pip, setuptools, venv and wheel")
	return ""
}

// missing ends t because of a tool that is not there, which fails it in CI.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// npmInstall and pipInstall install a file of the release below prefix, as a user would.
// pipInstall returns the directory of the programs.
func npmInstall(t *testing.T, prefix, file string, options ...string) {
	if _, err := exec.LookPath("npm"); err != nil {
		missing(t, "not installed: %v", err)
	}
	run(t, prefix, "npm", append([]string{"install", "--silent", "--offline", "--no-audit", "--no-fund", file}, options...)...)
}

func pipInstall(t *testing.T, prefix, file string) (bin string) {
	run(t, prefix, packer(t), "-m", "venv", "venv")
	run(t, prefix, "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-index", file)
	return filepath.Join(prefix, "venv/bin")
}

// The npm and the pip package, installed as a user would, fetch the program once,
// run it with its arguments and exit code, and run nothing where the archive is not the
// one of the release, is missing, or is for another system.
func TestWrappersFetchTheProgramOfTheRelease(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the wrappers are not tried on Windows")
	}
	archives, installers := made(t)
	for name, install := range map[string]func(t *testing.T, prefix string) (program string){
		"npm": func(t *testing.T, prefix string) string {
			npmInstall(t, prefix, filepath.Join(installers, "browserd-cli-1.2.3.tgz"), "--global", "--prefix", prefix)
			return filepath.Join(prefix, "bin/browserd")
		},
		"pip": func(t *testing.T, prefix string) string {
			return filepath.Join(pipInstall(t, prefix, filepath.Join(installers, "browserd_cli-1.2.3-py3-none-any.whl")), "browserd")
		},
	} {
		t.Run(name, func(t *testing.T) {
			program := install(t, t.TempDir())
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

// The clients, installed from their packages as a user would, prove their daemon
// and have its answer. Each package brings the licence.
func TestClientsOfTheRelease(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the packages are not tried on Windows")
	}
	archives, installers := made(t)
	home, bin := t.TempDir(), t.TempDir()
	run(t, bin, "tar", "-xzf", filepath.Join(archives, "browserd_1.2.3_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"))
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, home)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	t.Setenv("BROWSERD_SERVER__LISTEN", free.Addr().String())
	t.Setenv("URL", "ws://"+free.Addr().String()+"/v1/ws")
	run(t, bin, "./browserd", "start")
	defer run(t, bin, "./browserd", "stop")
	for name, ask := range map[string]func(t *testing.T, prefix string) *exec.Cmd{
		"npm": func(t *testing.T, prefix string) *exec.Cmd {
			npmInstall(t, prefix, filepath.Join(installers, "browserd-client-1.2.3.tgz"))
			for _, file := range []string{"LICENSE", "dist/index.d.ts"} {
				if _, err := os.Stat(filepath.Join(prefix, "node_modules/@browserd/client", file)); err != nil {
					t.Error(err)
				}
			}
			return exec.Command("node", "--input-type=module", "-e", `import { connect } from "@browserd/client";
				const page = await connect({ url: process.env.URL }); console.log((await page.status()).version); await page.close()`)
		},
		"pip": func(t *testing.T, prefix string) *exec.Cmd {
			bin := pipInstall(t, prefix, filepath.Join(installers, "browserd_client-1.2.3-py3-none-any.whl"))
			run(t, prefix, filepath.Join(bin, "python"), "-c", `import importlib.metadata as m, pathlib
files = {f.name for f in m.files("browserd-client")}
assert {"LICENSE", "py.typed"} <= files and m.version("browserd-client") == "1.2.3", files`)
			return exec.Command(filepath.Join(bin, "python"), "-c", "import browserd, os\nwith browserd.connect(os.environ['URL']) as page: print(page.status()['version'])")
		},
	} {
		t.Run(name, func(t *testing.T) {
			prefix := t.TempDir()
			cmd := ask(t, prefix)
			cmd.Dir = prefix
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "v1.2.3\n" {
				t.Errorf("the daemon's version: %v\n%s", err, out)
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
		err := write("../..", c.tag, sums, filepath.Join(t.TempDir(), "out"), "python3")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
