package docs

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers are the packages from the top down. A package imports only packages of
// lower layers, never of its own or a higher one. Packages that are not listed
// (internal, examples, benchmarks) are not checked.
var layers = [][]string{
	{"cmd/browserd"},
	{"config"},
	{"server"},
	{"server/live", "server/tools"},
	{"actions", "actions/schema"},
	{"actions/command"},
	{"actions/script"},
	{"actions/script/child"},
	{"session"},
	{"browser", "fallback", "ledger"},
	{"browser/condition", "browser/emulation", "browser/permission", "browser/storage"},
	{"browser/failure", "browser/files", "browser/history", "browser/network", "browser/report", "browser/screenshot", "browser/throttle", "browser/walk", "browser/listeners"},
	{"browser/chromium", "browser/input", "browser/script", "web/search", "web/extract"},
	{"browser/cdp", "browser/chromium/jail"},
	{"fallback/reader"},
	{"fallback/fetch", "fallback/form", "web/readable"},
	{"snapshot/html"},
	{"snapshot", "policy"},
	{"protocol"},
}

const module = "github.com/browserd/browserd/"

func TestImportsRunDownwards(t *testing.T) {
	layer := map[string]int{}
	for i, packages := range layers {
		for _, p := range packages {
			layer[p] = i
		}
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(words[0], module)
		from, ok := layer[pkg]
		if !ok {
			continue
		}
		seen++
		for _, imported := range words[1:] {
			imported = strings.TrimPrefix(imported, module)
			if to, listed := layer[imported]; listed && to <= from {
				t.Errorf("%s imports %s, which is not in a lower layer", pkg, imported)
			}
		}
	}
	if want := len(layer); seen != want {
		t.Errorf("%d of the listed packages exist, want %d", seen, want)
	}
}

// homes lists, for each third-party module, the only packages that may import
// it. Tests may import any. A blank at the end stands for the package of that name
// alone, without those below it.
var homes = map[string][]string{
	"github.com/chromedp/chromedp ":   {"browser/cdp"}, // itself, for its pipe
	"github.com/chromedp/chromedp/kb": {"browser/input"},
	"github.com/chromedp/cdproto":     {"browser", "browser/cdp", "browser/chromium", "browser/emulation", "browser/history", "browser/input", "browser/listeners", "browser/network", "browser/permission", "browser/screenshot", "browser/storage", "browser/throttle"},
	"github.com/gorilla/websocket":    {"server", "browser/cdp", "examples/go"},
	"github.com/knadh/koanf":          {"config"},
	"github.com/spf13/cobra":          {"cmd/browserd"},
	"github.com/go-viper/mapstruct":   {"config"},
	"github.com/modelcontextproto":    {"server", "server/tools", "cmd/browserd"},
	"github.com/prometheus/":          {"server", "cmd/browserd"},
	"modernc.org/sqlite":              {"ledger"},
	"modernc.org/quickjs":             {"actions/script/child"},
	"github.com/jackc/pgx":            {"ledger", "internal/testpostgres"},
	"github.com/andybalholm/brotli":   {"fallback/fetch"},
	"github.com/andybalholm/cascadia": {"snapshot/html", "fallback"},
	"github.com/klauspost/compress":   {"fallback/fetch"},
	"github.com/gogs/chardet":         {"fallback/fetch"},
	"golang.org/x/text":               {"actions", "fallback/fetch", "fallback/form"},
	"codeberg.org/readeck":            {"web/readable"},
	"github.com/JohannesKaufmann":     {"web/readable"},
	"golang.org/x/image":              {"browser/screenshot"},
	"github.com/miekg/dns":            {"internal/fakedns"},
	"github.com/tiktoken-go":          {},
	"code.dny.dev/ssrf":               {},
}

func TestModulesHaveOneHome(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(words[0], module)
		for _, imported := range words[1:] {
			for prefix, packages := range homes {
				if strings.HasPrefix(imported+" ", prefix) && !slices.Contains(packages, pkg) {
					t.Errorf("%s imports %s, which only %v may import", pkg, imported, packages)
				}
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
