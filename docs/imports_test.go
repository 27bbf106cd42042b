package docs

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers are the packages from the top down. A package imports only packages of
// lower layers, never of its own or a higher one. Each package of the program is listed.
var layers = [][]string{
	{"cmd/browserd"},
	{"cmd/browserd/mcpclients"},
	{"config", "telemetry/otlp"},
	{"server"},
	{"server/live", "server/tools"},
	{"actions", "actions/schema"},
	{"actions/command"},
	{"actions/script", "actions/loginform"},
	{"actions/script/child"},
	{"session/profile"},
	{"session"},
	{"session/handoff"},
	{"browser", "fallback", "fleet", "ledger"},
	{"browser/condition", "browser/emulation", "browser/passkey", "browser/permission", "browser/person", "browser/storage"},
	{"browser/failure", "browser/files", "browser/history", "browser/network", "browser/pagetools", "browser/recovery", "browser/report", "browser/screencast", "browser/screenshot", "browser/targets", "browser/walk", "browser/listeners"},
	{"browser/chromium", "browser/input", "browser/script", "browser/throttle", "web/search", "web/extract", "web/pdf"},
	{"browser/attach"},
	{"browser/cdp", "browser/chromium/jail", "web/pdf/child"},
	{"fallback/reader"},
	{"fallback/fetch", "fallback/form", "web/readable"},
	{"snapshot/html", "secret", "recording", "session/shelf"},
	{"snapshot", "policy"},
	{"snapshot/pagetext", "protocol/local"},
	{"protocol", "contain", "browser/event", "postgres", "session/filelock", "session/archive", "telemetry"},
}

// around are the folders whose packages are no part of the program: tests, documentation,
// clients, and what only tests import.
var around = regexp.MustCompile(`^(clients|docker|docs|e2e|examples|internal|packaging|scripts)(/|$)`)

// shared are the packages of those folders that the program imports all the same.
var shared = []string{"clients/go", "docs", "internal/ctxio", "internal/demoapp", "scripts"}

const module = "github.com/browserd/browserd/"

// imports are the packages of this module, each with the packages that it imports.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		list[strings.TrimPrefix(words[0], module)] = words[1:]
	}
	return list
}

func TestImportsRunDownwards(t *testing.T) {
	layer := map[string]int{}
	for i, packages := range layers {
		for _, p := range packages {
			layer[p] = i
		}
	}
	seen := 0
	for pkg, imported := range imports(t) {
		from, ok := layer[pkg]
		if !ok {
			if !around.MatchString(pkg) {
				t.Errorf("package %s is in no layer: add it to layers", pkg)
			}
			continue
		}
		seen++
		for _, path := range imported {
			name, ours := strings.CutPrefix(path, module)
			if to, listed := layer[name]; listed && to <= from {
				t.Errorf("%s imports %s, which is not in a lower layer", pkg, name)
			} else if ours && !listed && !slices.Contains(shared, name) {
				t.Errorf("%s imports %s, which is no part of the program", pkg, name)
			}
		}
	}
	if want := len(layer); seen != want {
		t.Errorf("%d of the listed packages exist, want %d", seen, want)
	}
}

// homes lists, for each third-party module, the only packages that may import
// it. Tests may import any. A blank at the end stands for the package of that name
// alone, without those below it. nil: any package may import it; {}: only tests may.
var homes = map[string][]string{
	"github.com/chromedp/chromedp ":   {"browser/cdp"}, // itself, for its pipe
	"github.com/chromedp/chromedp/kb": {"browser/input"},
	"github.com/chromedp/cdproto":     {"browser", "browser/attach", "browser/cdp", "browser/chromium", "browser/emulation", "browser/event", "browser/history", "browser/input", "browser/listeners", "browser/network", "browser/pagetools", "browser/passkey", "browser/permission", "browser/person", "browser/screencast", "browser/screenshot", "browser/storage", "browser/targets", "browser/throttle"},
	"github.com/gorilla/websocket":    {"server", "browser/cdp"},
	"github.com/knadh/koanf":          {"config"},
	"github.com/spf13/cobra":          {"cmd/browserd"},
	"github.com/go-viper/mapstruct":   {"config"},
	"github.com/modelcontextproto":    {"server", "server/tools", "cmd/browserd"},
	"github.com/prometheus/":          {"server", "cmd/browserd"},
	"modernc.org/sqlite":              {"ledger"},
	"modernc.org/quickjs":             {"actions/script/child"},
	"github.com/klippa-app/go-pdfium": {"web/pdf/child"},
	"github.com/tetratelabs/wazero":   {"web/pdf/child"},
	"github.com/jackc/pgx":            {"postgres", "internal/testpostgres"},
	"github.com/andybalholm/brotli":   {"fallback/fetch"},
	"github.com/andybalholm/cascadia": {"snapshot/html"},
	"github.com/klauspost/compress":   {"fallback/fetch"},
	"github.com/gogs/chardet":         {"fallback/fetch"},
	"golang.org/x/text":               {"actions", "fallback/fetch", "fallback/form"},
	"codeberg.org/readeck":            {"web/readable"},
	"github.com/JohannesKaufmann":     {"web/readable"},
	"golang.org/x/image":              {"browser/person", "browser/screenshot"},
	"golang.org/x/term":               {"cmd/browserd"},
	"github.com/miekg/dns":            {"internal/fakedns"},
	"github.com/spf13/pflag":          {"cmd/browserd", "config"},
	"go.yaml.in/yaml":                 {"config"},
	"go.opentelemetry.io/otel":        {"telemetry", "telemetry/otlp"},
	"go.opentelemetry.io/proto":       {"telemetry/otlp"},
	"google.golang.org/protobuf":      {"telemetry/otlp"},
	"golang.org/x/net":                nil, // Go's own: HTML, DNS messages, public suffixes
	"golang.org/x/sys":                nil, // Go's own: system calls
	"github.com/pquerna/otp":          {"secret"},
	"github.com/gofrs/flock":          {"session/filelock"},
	"github.com/tiktoken-go":          {},
	"code.dny.dev/ssrf":               {},
}

func TestModulesHaveOneHome(t *testing.T) {
	used := map[string][]string{} // by which packages
	for pkg, imported := range imports(t) {
		for _, path := range imported {
			if host, _, _ := strings.Cut(path, "/"); !strings.Contains(host, ".") || strings.HasPrefix(path, module) {
				continue // of Go's library, or ours
			}
			home := ""
			for prefix, packages := range homes {
				if !strings.HasPrefix(path+" ", prefix) {
					continue
				}
				home = prefix
				if used[prefix] = append(used[prefix], pkg); packages != nil && !slices.Contains(packages, pkg) {
					t.Errorf("%s imports %s, which only %v may import", pkg, path, packages)
				}
			}
			if home == "" {
				t.Errorf("%s imports %s, which has no home: add it to homes", pkg, path)
			}
		}
	}
	for prefix, packages := range homes {
		for _, pkg := range packages {
			if !slices.Contains(used[prefix], pkg) {
				t.Errorf("%s does not import %s any more: take it off homes", pkg, prefix)
			}
		}
	}
}

// The daemon runs itself again to prepare a jail, twice before the first page.
// Each package that browser/chromium/jail imports delays that.
func TestTheJailImportsLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{join .Imports \" \"}}", "../browser/chromium/jail").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range strings.Fields(string(out)) {
		switch imported {
		case "os", "runtime", "strconv", "syscall", "unsafe":
		default:
			t.Errorf("browser/chromium/jail imports %s, whose initialization delays each start of Chromium", imported)
		}
	}
}
