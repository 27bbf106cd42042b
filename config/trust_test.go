//go:build unix

package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/untested"
)

// harmless are the keys that a trusted file of the working directory may set. A key
// that is added here runs no program, opens no address, sends nothing anywhere else
// and weakens no protection and no limit, whatever its value.
var harmless = []string{
	"browser.headless", "browser.computed_names", "browser.idle_timeout", "browser.ahead",
	"session.idle_timeout", "session.dialog_timeout", "http.strip_threshold_kb", "log.level", "log.format",
}

// workdir is a machine with one file in the working directory, for which the user's
// trust is asked.
func workdir(t *testing.T, text string) (src Sources, file string) {
	t.Helper()
	src = sources(t)
	t.Setenv("XDG_STATE_HOME", src.TrustDir)
	src.TrustDir = ""
	file = filepath.Join(src.Dir, fileName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return src, file
}

// No key can be set by a working directory's file unless its struct tag says so: also
// one that is written down as trusted.
func TestWorkdirFileSetsOnlyWhatIsHarmless(t *testing.T) {
	var allowed []string
	for _, f := range keys() {
		text := f.key + ": " + map[bool]string{true: "[]", false: `""`}[f.isList()] + "\n"
		src, file := workdir(t, text)
		_, err := Trust(file)
		if f.workdir {
			allowed = append(allowed, f.key)
			continue
		}
		want := f.key + ": browserd.yaml in the working directory may not set it (from "
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: Trust: %v", f.key, err)
		}
		read, err := readWorkdirFile(file) // trusted by an earlier browserd, say
		if err != nil {
			t.Fatal(err)
		}
		dir, err := StateDir()
		if err != nil {
			t.Fatal(err)
		}
		if err := changeTrusted(dir, func(m map[string]seal) { m[read.path] = read.seal }); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(src); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: Load: %v", f.key, err)
		}
	}
	slices.Sort(allowed)
	if d := cmp.Diff(slices.Sorted(slices.Values(harmless)), allowed); d != "" {
		t.Errorf("-reviewed +allowed by tag\n%s", d)
	}
}

// However a file writes a key that it may not set, trusted as it stands: none comes
// through, in any form that YAML has.
func TestWorkdirFileSetsNothingInAnyForm(t *testing.T) {
	forms := map[string]string{
		"nested":         "SECTION: {REST: VALUE}\n",
		"dotted":         "SECTION.REST: VALUE\n",
		"quoted":         "\"SECTION\": {'REST': VALUE}\n",
		"escaped":        "\"\\x\u0000\": 1\n", // replaced below
		"alias":          "log: {level: &v debug}\nSECTION: {REST: VALUE}\n",
		"anchor":         "log: &l {level: debug}\nSECTION: &s {REST: VALUE}\n",
		"merge":          "SECTION: {<<: {REST: VALUE}}\n",
		"merge list":     "SECTION: {<<: [{REST: VALUE}]}\n",
		"merge at top":   "<<: {SECTION: {REST: VALUE}}\n",
		"twice":          "SECTION: {}\nSECTION: {REST: VALUE}\n",
		"twice over":     "SECTION.REST: VALUE\nSECTION: {REST: VALUE}\n",
		"tagged":         "!!map {!!str SECTION: !!map {!!str REST: VALUE}}\n",
		"own tag":        "SECTION: !config {REST: VALUE}\n",
		"explicit key":   "? SECTION\n: ? REST\n  : VALUE\n",
		"upper case":     "UPPER: {REST: VALUE}\n",
		"mark":           "\ufeffSECTION: {REST: VALUE}\n",
		"second":         "log: {level: debug}\n---\nSECTION: {REST: VALUE}\n",
		"directive":      "%YAML 1.1\n---\nSECTION: {REST: VALUE}\n...\n",
		"JSON":           "{\"SECTION\": {\"REST\": VALUE}}\n",
		"blank":          "\"SECTION \": {REST: VALUE}\n",
		"dots around":    ".SECTION.REST.: VALUE\n",
		"empty between":  "SECTION: {\"\": {REST: VALUE}}\n",
		"a list between": "SECTION: [{REST: VALUE}]\n",
		"below a leaf":   "log: {level: {SECTION: {REST: VALUE}}}\n",
	}
	src, file := workdir(t, "")
	must(t, os.Remove(file))
	plain := mustLoad(t, src).Config
	// trusted loads with a file that gives a key in one of the forms.
	trusted := func(name, key, value string) (*Loaded, error) {
		t.Helper()
		section, rest, _ := strings.Cut(key, ".")
		form := forms[name]
		if name == "escaped" {
			form = fmt.Sprintf("\"\\x%02x%s\": {REST: VALUE}\n", section[0], section[1:])
		}
		if name == "below a leaf" || name == "twice over" || !strings.Contains(rest, ".") || strings.Contains(form, "SECTION.REST") {
			form = strings.ReplaceAll(form, "REST", rest)
		} else {
			above, below, _ := strings.Cut(rest, ".")
			form = strings.NewReplacer("{REST: VALUE}", "{"+above+": {"+below+": VALUE}}", "REST", rest).Replace(form)
		}
		form = strings.NewReplacer("SECTION", section, "UPPER", strings.ToUpper(section), "VALUE", value).Replace(form)
		must(t, os.WriteFile(file, []byte(form), 0o600))
		read, err := readWorkdirFile(file)
		must(t, err)
		dir, err := StateDir()
		must(t, err)
		must(t, changeTrusted(dir, func(m map[string]seal) { m[read.path] = read.seal }))
		return Load(src)
	}
	var came []string
	for name := range forms {
		if c, err := trusted(name, "session.idle_timeout", "77s"); err == nil && c.Config.Session.IdleTimeout == 77*time.Second {
			came = append(came, name)
		}
	}
	slices.Sort(came)
	all := []string{
		"JSON", "alias", "anchor", "directive", "dotted", "escaped", "explicit key", "mark", "merge", "merge at top", "merge list", "nested", "own tag", "quoted", "tagged", "twice over",
	}
	if d := cmp.Diff(all, came); d != "" {
		t.Errorf("forms in which a key comes through that such a file may set: -want +got\n%s", d)
	}

	through, tried, seen := 0, 0, map[string]bool{}
	for _, f := range keys() {
		section, _, _ := strings.Cut(f.key, ".")
		if f.workdir || seen[section] && seen[f.takes()] { // each section, and each kind of value
			continue
		}
		seen[section], seen[f.takes()] = true, true
		value := "evil.test"
		switch {
		case f.elem != nil:
			value = "[{}]"
		case f.isList():
			value = "[\"1\"]"
		case f.typ.Kind() == reflect.Bool:
			value = map[bool]string{true: "false", false: "true"}[f.defaultValue().(bool)]
		case f.typ == durationType:
			value = "77s"
		case f.typ.Kind() != reflect.String:
			value = "77777"
		case len(f.oneof) > 0:
			value = f.oneof[len(f.oneof)-1]
		}
		for name := range forms {
			tried++
			c, err := trusted(name, f.key, value)
			if err != nil {
				continue
			}
			c.Config.Log = plain.Log // which such a file may set
			if d := cmp.Diff(plain, c.Config, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
				through++
				t.Errorf("%s, %s: -without +with the file\n%s", f.key, name, d)
			}
		}
	}
	t.Logf("%d files tried, %d came through", tried, through)
	if tried < 400 {
		t.Error("so few files prove little")
	}
}

// A file that becomes a pipe while it is opened is waited for by nobody.
func TestWorkdirFileBecomesAPipe(t *testing.T) {
	_, file := workdir(t, "log: {level: debug}\n")
	must(t, syscall.Mkfifo(file+"-pipe", 0o600))
	must(t, os.Link(file, file+"-plain"))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				from := []string{"-pipe", "-plain"}[i%2]
				os.Remove(file + "-next")
				os.Link(file+from, file+"-next")
				os.Rename(file+"-next", file)
			}
		}
	}()
	read := make(chan int)
	go func() {
		plain := 0
		for range 20000 {
			if f, err := readWorkdirFile(file); err == nil && string(f.data) == "log: {level: debug}\n" {
				plain++
			}
		}
		read <- plain
	}()
	select {
	case plain := <-read:
		t.Logf("20000 readings, %d of them of the plain file", plain)
	case <-time.After(time.Minute):
		t.Error("a reading waits for a pipe")
	}
	close(stop)
	<-stopped
}

// A key that somebody adds is refused until its tag allows it.
func TestWorkdirTagIsOffByDefault(t *testing.T) {
	type section struct {
		New string `koanf:"new" doc:"a new key"`
	}
	type whole struct {
		Section section `koanf:"section"`
	}
	if f := schemaOf(reflect.TypeFor[whole](), "")[0]; f.workdir {
		t.Errorf("%s may be set by a file of the working directory", f.key)
	}
}

func TestWorkdirFileIsIgnored(t *testing.T) {
	const text = "log: {level: debug}\n"
	for name, c := range map[string]struct {
		after func(t *testing.T, file string) // Trust
		want  string
	}{
		"changed":     {func(t *testing.T, f string) { must(t, os.WriteFile(f, []byte("log: {level: error}\n"), 0o600)) }, "it has changed since you trusted it"},
		"other owner": {func(t *testing.T, f string) { chown(t, f) }, "it has another owner than when you trusted it"},
		"forgotten":   {func(t *testing.T, f string) { _, err := Forget(f); must(t, err) }, "you have not trusted it"},
		"a pipe":      {func(t *testing.T, f string) { must(t, os.Remove(f)); must(t, syscall.Mkfifo(f, 0o600)) }, "is no plain file"},
		"a link":      {func(t *testing.T, f string) { must(t, os.Rename(f, f+"2")); must(t, os.Symlink(f+"2", f)) }, "you have not trusted it"},
		"no end":      {func(t *testing.T, f string) { must(t, os.Remove(f)); must(t, os.Symlink("/dev/zero", f)) }, "is no plain file"},
		"a damaged list": {func(t *testing.T, f string) {
			dir, _ := StateDir()
			must(t, os.WriteFile(trustedFile(dir), []byte("{"), 0o600))
		}, "reading "},
	} {
		t.Run(name, func(t *testing.T) {
			src, file := workdir(t, text)
			trusted, err := Trust(file)
			must(t, err)
			if got := mustLoad(t, src); got.WorkdirFile != trusted || got.IgnoredFile != nil || got.Log.Level != "debug" {
				t.Fatalf("trusted: read %q, ignored %v, level %s", got.WorkdirFile, got.IgnoredFile, got.Log.Level)
			}
			c.after(t, file)
			got := mustLoad(t, src)
			if got.WorkdirFile != "" || got.IgnoredFile == nil || got.Log.Level != "info" {
				t.Fatalf("read %q, ignored %v, level %s", got.WorkdirFile, got.IgnoredFile, got.Log.Level)
			}
			if !strings.Contains(got.IgnoredFile.Why, c.want) {
				t.Errorf("got %q, want %q", got.IgnoredFile.Why, c.want)
			}
		})
	}
}

// What the user's own file forbids stays forbidden: the working directory's is read
// over it, not in its place.
func TestWorkdirFileLeavesTheUsersInForce(t *testing.T) {
	src, file := workdir(t, "log: {level: debug}\n")
	user := filepath.Join(src.UserDir, "browserd", fileName)
	must(t, os.MkdirAll(filepath.Dir(user), 0o700))
	must(t, os.WriteFile(user, []byte("policy: {denied_domains: [evil.test]}\nlog: {level: error}\n"), 0o600))
	_, err := Trust(file)
	must(t, err)
	c := mustLoad(t, src)
	if c.File != user || len(c.Policy.DeniedDomains) != 1 || c.Log.Level != "debug" {
		t.Errorf("got %s, %v, %s", c.File, c.Policy.DeniedDomains, c.Log.Level)
	}
}

func chown(t *testing.T, file string) {
	t.Helper()
	if os.Getuid() != 0 {
		untested.Skip(t, "only root may give a file away")
	}
	must(t, os.Chown(file, 12345, -1))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
