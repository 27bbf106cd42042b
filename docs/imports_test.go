package docs

import (
	"os/exec"
	"strings"
	"testing"
)

// floors are the rooms from the top down. A room imports only what lies below
// it, never beside it or above; what is not named here (tests, examples,
// benchmarks) stands outside.
var floors = [][]string{
	{"cmd/browserd"},
	{"config"},
	{"server"},
	{"server/tools"},
	{"actions"},
	{"actions/command"},
	{"session"},
	{"browser", "fallback", "ledger"},
	{"browser/jail", "fallback/search", "fallback/extract"},
	{"fallback/reader"},
	{"fallback/fetch", "fallback/form", "fallback/readable"},
	{"snapshot/static"},
	{"snapshot", "policy"},
	{"protocol"},
}

const module = "github.com/browserd/browserd/"

func TestImportsRunDownwards(t *testing.T) {
	floor := map[string]int{}
	for i, rooms := range floors {
		for _, r := range rooms {
			floor[r] = i
		}
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		room := strings.TrimPrefix(words[0], module)
		from, ok := floor[room]
		if !ok {
			continue
		}
		seen++
		for _, imported := range words[1:] {
			below := strings.TrimPrefix(imported, module)
			if to, ours := floor[below]; ours && to <= from {
				t.Errorf("%s imports %s, which does not lie below it", room, below)
			}
		}
	}
	if want := len(floor); seen != want {
		t.Errorf("%d rooms were looked at, want %d", seen, want)
	}
}

// homes are the modules that one room alone may import, tests aside.
var homes = map[string][]string{
	"github.com/chromedp/":            {"browser"},
	"github.com/gorilla/websocket":    {"server", "browser", "examples/go", "internal/client", "bench/side"},
	"github.com/knadh/koanf":          {"config"},
	"github.com/spf13/cobra":          {"cmd/browserd"},
	"github.com/go-viper/mapstruct":   {"config"},
	"github.com/modelcontextproto":    {"server", "server/tools", "cmd/browserd"},
	"github.com/prometheus/":          {"server", "cmd/browserd"},
	"modernc.org/sqlite":              {"ledger"},
	"github.com/jackc/pgx":            {"ledger", "internal/testpostgres"},
	"github.com/andybalholm/brotli":   {"fallback/fetch"},
	"github.com/andybalholm/cascadia": {"snapshot/static", "fallback"},
	"github.com/klauspost/compress":   {"fallback/fetch"},
	"github.com/gogs/chardet":         {"fallback/fetch"},
	"golang.org/x/text":               {"actions", "fallback/fetch", "fallback/form"},
	"codeberg.org/readeck":            {"fallback/readable"},
	"github.com/JohannesKaufmann":     {"fallback/readable"},
	"golang.org/x/image":              {"browser"},
	"github.com/miekg/dns":            {"internal/fakedns"},
	"github.com/tiktoken-go":          {"bench/side"},
	"code.dny.dev/ssrf":               {},
}

func TestModulesHaveOneRoom(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		room := strings.TrimPrefix(words[0], module)
		for _, imported := range words[1:] {
			for prefix, rooms := range homes {
				if !strings.HasPrefix(imported, prefix) {
					continue
				}
				home := false
				for _, r := range rooms {
					home = home || r == room
				}
				if !home {
					t.Errorf("%s imports %s, whose room is %v", room, imported, rooms)
				}
			}
		}
	}
}

// What prepares a jail runs before everything that it does not import: the
// program is started again for it, twice before the first page.
func TestTheJailImportsLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{join .Imports \" \"}}", "../browser/jail").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range strings.Fields(string(out)) {
		switch imported {
		case "os", "runtime", "strconv", "syscall", "unsafe":
		default:
			t.Errorf("browser/jail imports %s: what that needs to begin is waited for at each start of Chromium", imported)
		}
	}
}
