package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
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

// Every --help has an example. (The texts of "completion bash" and the other shells are
// cobra's, and say what to run.)
func TestEveryHelpHasAnExample(t *testing.T) {
	for _, cmd := range append(newRoot([]string{"completion"}).Commands(), newRoot(nil)) {
		args := []string{cmd.Name(), "--help"}
		if !cmd.HasParent() {
			args = args[1:]
		}
		var out, stderr strings.Builder
		if code := execute(args, &out, &stderr); code != 0 {
			t.Errorf("browserd %s: exit code %d, %s", strings.Join(args, " "), code, stderr.String())
		}
		if _, examples, ok := strings.Cut(out.String(), "\nExamples:\n  "); !ok || strings.HasPrefix(examples, "\n") {
			t.Errorf("browserd %s shows no example:\n%s", strings.Join(args, " "), out.String())
		}
		if lines := strings.Count(out.String(), "\n"); lines > 45 && cmd.HasParent() && cmd.Name() != "configuration" {
			t.Errorf("browserd %s has %d lines, more than a screen", strings.Join(args, " "), lines)
		}
	}
	for _, args := range []string{"mcp config --help", "help click"} {
		var out strings.Builder
		if execute(strings.Fields(args), &out, &out); !strings.Contains(out.String(), "\nExamples:\n  ") {
			t.Errorf("browserd %s shows no example:\n%s", args, out.String())
		}
	}
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
