package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
)

// Each example of docs/commands.md says the same on the command line as in JSON.
func TestExamplesOnTheCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(filepath.Join(".", "invoice.txt"), []byte("Invoice 2026-1"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range actions.All {
		for _, e := range row.Examples {
			line := row.CommandLine(e)
			if line == "" || row == actions.Help { // cobra's own
				continue
			}
			args := shellWords(line)[2:]
			cmd := commandOf(row, args)
			if err := cmd.ParseFlags(args); err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			schema := row.Schema()["properties"].(map[string]any)
			params, err := paramsOf(cmd.Flags(), row, row.Help().Positionals(), schema, cmd.Flags().Args())
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			raw, err := json.Marshal(params)
			if err != nil {
				t.Fatal(err)
			}
			// As the command reads them: a locator is an object in JSON and a text here.
			got, err := row.Decode(raw, new(command.Common))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			want, err := row.Decode([]byte(e.Params), new(command.Common))
			if err != nil {
				t.Fatalf("%s: %v", e.Params, err)
			}
			if d := cmp.Diff(plain(t, want), plain(t, got)); d != "" {
				t.Errorf("%s -want +got\n%s", line, d)
			}
		}
	}
}

// plain is a value as JSON has it, whatever blanks are in it.
func plain(t *testing.T, value any) (v any) {
	t.Helper()
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A sentence that tells the reader to run a command names flags that its help lists.
func TestAdviceNamesFlagsOfItsCommand(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(settings, new(string))
	advice := regexp.MustCompile(`browserd ([a-z]+)((?: --[a-z_.-]+)+)`)
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				return true
			}
			for _, m := range advice.FindAllStringSubmatch(text.Value, -1) {
				seen++
				cmd, _, err := newRoot([]string{m[1]}).Find([]string{m[1]})
				if err != nil {
					t.Errorf("%s: %q: %v", file, m[0], err)
					continue
				}
				for _, flag := range strings.Fields(m[2]) {
					name := strings.TrimRight(strings.TrimPrefix(flag, "--"), ".")
					if f := cmd.Flag(name); settings.Lookup(name) == nil && (f == nil || f.Hidden) {
						t.Errorf("%s: %q: browserd %s --help lists no %s", file, m[0], m[1], flag)
					}
				}
			}
			return true
		})
	}
	if seen < 8 {
		t.Errorf("%d commands with flags in the program's texts, want 8 and more", seen)
	}
}

// saidToPrograms is what only a program has: a connection that stays open, members of an error, a parameter as JSON.
var saidToPrograms = regexp.MustCompile(`\b(the connection's own|this connection|details\.[a-z]+|[a-z]+_[a-z]+ \{[a-z_]+\})`)

// Which session a command line is for is said in its help.
func TestTheSessionOfACommandLine(t *testing.T) {
	const used = "--session string      the session's name; left out: the session that the last command line used"
	for name, want := range map[string]string{"click": used + "\n", "open": used + ", or a new one\n", "session_open": "the session's name, where --name is left out\n"} {
		var out strings.Builder
		if code := execute([]string{name, "--help"}, &out, &out); code != 0 || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s --help: exit code %d, want %q in\n%s", name, code, want, out.String())
		}
	}
}

// Every --help has an example, fits on a screen, and lists every flag of the command but the
// settings, which are in help configuration; a flag that it speaks of is one of these. (The texts
// of "completion bash" and the other shells are cobra's, and say what to run.)
func TestEveryHelp(t *testing.T) {
	topics := []string{"configuration", "commands"}
	root := newRoot([]string{"completion", "mcp"})
	lines := [][]string{{"--help"}, {"mcp", "config", "--help"}, {"help", "click"}}
	for _, cmd := range root.Commands() {
		if !slices.Contains(topics, cmd.Name()) {
			lines = append(lines, []string{cmd.Name(), "--help"})
		}
	}
	for _, args := range lines {
		line := "browserd " + strings.Join(args, " ")
		var out, stderr strings.Builder
		if code := execute(args, &out, &stderr); code != 0 || stderr.String() != "" {
			t.Errorf("%s: exit code %d, %s", line, code, stderr.String())
		}
		help := out.String()
		_, examples, ok := strings.Cut(help, "\nExamples:\n  ")
		if !ok || strings.HasPrefix(examples, "\n") {
			t.Errorf("%s shows no example:\n%s", line, help)
		}
		if rows := rowsOf(help, 120); rows > 52 {
			t.Errorf("%s takes %d rows of a terminal, more than a screen:\n%s", line, rows, help)
		}
		if m := saidToPrograms.FindString(help); m != "" {
			t.Errorf("%s says what only a program has: %q", line, m)
		}
		of := slices.DeleteFunc(slices.Clone(args), func(word string) bool { return word == "--help" })
		if len(of) == 2 && of[0] == "help" {
			of = of[1:]
		}
		cmd, _, err := newRoot(args).Find(of)
		if err != nil {
			t.Fatal(err)
		}
		_, listed, ok := strings.Cut(help, "\nFlags:\n")
		if !ok { // browserd's own has a sentence
			_, listed, _ = strings.Cut(help, "\nEvery command accepts")
		}
		settings := pflag.NewFlagSet("", pflag.ContinueOnError)
		config.AddFlags(settings, new(string))
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			is := strings.Contains(listed, " --"+f.Name)
			setting := settings.Lookup(f.Name) != nil && f.Name != "config"
			if internal := cmd.Name() == "serve" && slices.Contains([]string{"port_optional", "log_file"}, f.Name); is == (setting || internal) {
				t.Errorf("%s lists the flag --%s: %t", line, f.Name, is)
			}
		})
		for _, m := range flagNamed.FindAllStringSubmatch(help, -1) {
			name := strings.ReplaceAll(m[1], "-", "_")
			if f := cmd.Flags().Lookup(name); f == nil && settings.Lookup(name) == nil && !slices.Contains([]string{"quiet", "help"}, name) && !strings.HasPrefix(m[0], "browserd") {
				t.Errorf("%s speaks of --%s, which it does not accept", line, m[1])
			}
		}
	}
	// The topics list what the others leave out.
	for _, topic := range topics {
		var out strings.Builder
		if code := execute([]string{"help", topic}, &out, &out); code != 0 {
			t.Errorf("help %s: exit code %d, %s", topic, code, out.String())
		}
		for _, row := range actions.All {
			if topic == "commands" && row != actions.Help && !strings.Contains(out.String(), "\n  "+row.Name+" ") {
				t.Errorf("help commands does not list %s:\n%s", row.Name, out.String())
			}
		}
	}
}

// flagNamed is a flag in a text, or in an example of another command.
var flagNamed = regexp.MustCompile(`(?:browserd [a-z_]+ [^\n]*)?--([a-z][a-z_.-]*[a-z])`)

// rowsOf returns how many rows of a terminal so wide a text takes.
func rowsOf(text string, width int) (rows int) {
	for line := range strings.Lines(text) {
		rows += 1 + (utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))-1)/width
	}
	return rows
}

// shellWords are the words of a line as a POSIX shell reads it, as far as the examples
// need: single quotes, and a backslash outside them.
func shellWords(line string) []string {
	var words []string
	var b strings.Builder
	quoted, begun := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == '\\' && !quoted:
			i++
			b.WriteByte(line[i])
		case c == ' ' && !quoted:
			if begun {
				words = append(words, b.String())
			}
			b.Reset()
			begun = false
		default:
			b.WriteByte(c)
			begun = true
		}
	}
	return append(words, b.String())
}
