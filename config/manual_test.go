package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

// docs/configuration.md is written from the structs; a stale copy fails here.
func TestManualIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Written from the Config structs by "go test ./config -update"; do not edit. -->

Defaults, then the file, then the environment, then flags: each overrides the one before it.

- The file is YAML: ` + "`--config FILE`, else `BROWSERD_CONFIG`, else `browserd/browserd.yaml`" + ` in the user's configuration directory
  ($XDG_CONFIG_HOME or ~/.config on Linux, ~/Library/Application Support on macOS, %AppData% on Windows), else /etc/browserd/browserd.yaml (not
  on Windows). The first that exists is read, and no other.
- A ` + "`browserd.yaml`" + ` in the working directory came with the directory, perhaps from a stranger. browserd ignores it, and says so, until you have read it and run
  ` + "`browserd trust`" + `. That holds for this file with this content and this owner: after a change it is ignored again, and ` + "`browserd trust --forget`" + ` ends it. It is read over
  the file above, unless you named one, and only for the keys ` + workdirKeys() + `. Any other key in it stops the start: it never names
  a program, a file, an address or a token, and weakens no protection and no limit.
- The environment: ` + "`BROWSERD_` and the key in capitals, `__` between its levels" + `. Lists are comma-separated; an element that holds a
  comma needs the file. ` + "`BROWSERD_TOKEN` and `BROWSERD_CONFIG`" + ` are no keys.
- Flags: ` + "`--KEY VALUE`" + `. Secrets have none, because every process can read a command line.
- An unknown key or a bad value stops the start with a sentence that names the key, the value and where it stands; exit code 2.
- ` + "`browserd config`" + ` prints every key, its value in force and where it comes from; secrets are shown as ` + "`***`" + `.

| key | takes | default | meaning |
|---|---|---|---|
`)
	row := func(at string, f field) {
		takes := f.takes()
		if f.secret && f.elem == nil { // tools/chart reads it, too: the chart refuses these keys
			takes += ", a secret"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", at+f.key, takes, f.deflt, strings.ReplaceAll(f.doc, "|", `\|`))
	}
	for _, f := range schemaOf(reflect.TypeFor[Config](), "") {
		row("", f)
		for _, e := range f.elem {
			row(f.key+"[].", e)
		}
	}
	file := filepath.Join("..", "docs", "configuration.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), b.String()); d != "" {
		t.Errorf("docs/configuration.md is stale; go test ./config -update writes it anew (-file +structs)\n%s", d)
	}
}

// workdirKeys are the keys that a trusted file of the working directory may set.
func workdirKeys() string {
	var list []string
	for _, f := range schemaOf(reflect.TypeFor[Config](), "") {
		if f.workdir {
			list = append(list, "`"+f.key+"`")
		}
	}
	return strings.Join(list, ", ")
}
