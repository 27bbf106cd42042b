package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
)

// Words that can mean one thing only mean it.
func TestWordsOfOneMeaning(t *testing.T) {
	for line, c := range map[string]struct {
		row    *command.Command
		args   []string
		params string
	}{
		"wait 500":             {actions.Wait, []string{"500"}, `{"ms":500}`},
		"wait Order":           {actions.Wait, []string{"Order"}, `null`},
		"wait @e3":             {actions.Wait, []string{"@e3"}, `{"ref":"@e3"}`},
		"wait for a locator":   {actions.Wait, []string{"role=button[name=Pay]"}, `{"ref":"role=button[name=Pay]"}`},
		"fill @e3=Ann":         {actions.Fill, []string{"@e3=Ann", "@e4=a=b", "@e5=true"}, `{"fields":[{"ref":"@e3","value":"Ann"},{"ref":"@e4","value":"a=b"},{"ref":"@e5","value":true}]}`},
		"fill @e3 Ann":         {actions.Fill, []string{"@e3", "Ann=1 b"}, `{"fields":[{"ref":"@e3","value":"Ann=1 b"}]}`},
		"fill a label":         {actions.Fill, []string{"label=Day", "2026-11-27"}, `{"fields":[{"ref":"label=Day","value":"2026-11-27"}]}`},
		"fill a name":          {actions.Fill, []string{"role=checkbox[name=I agree]", "true"}, `{"fields":[{"ref":"role=checkbox[name=I agree]","value":true}]}`},
		"fill two labels":      {actions.Fill, []string{"label=Name=Ann", "label=I agree=true"}, `{"fields":[{"ref":"label=Name","value":"Ann"},{"ref":"label=I agree","value":true}]}`},
		"fill a selector":      {actions.Fill, []string{"css=input[name=q]", "Ann"}, `{"fields":[{"ref":"css=input[name=q]","value":"Ann"}]}`},
		"fill by a selector":   {actions.Fill, []string{"css=input[name=q]=Ann"}, `{"fields":[{"ref":"css=input[name=q]","value":"Ann"}]}`},
		"fill no value":        {actions.Fill, []string{"css=input[name=q]"}, `null`},
		"fill with a selector": {actions.Fill, []string{"css=input[name=q]", "css=input[id=b]"}, `{"fields":[{"ref":"css=input[name=q]","value":"css=input[id=b]"}]}`},
		"fill @e3=Ann @e4":     {actions.Fill, []string{"@e3=Ann", "@e4"}, `null`},
		"fill no ref":          {actions.Fill, []string{"Name", "Ann"}, `null`},
		"fill with a list":     {actions.Fill, []string{`[{"ref":"@e3","value":"a=b"}]`}, `null`},
		"fill without a value": {actions.Fill, []string{"@e3"}, `null`},
	} {
		if got, err := json.Marshal(asParams(c.row, c.args)); err != nil || string(got) != c.params {
			t.Errorf("%s: %s, want %s", line, got, c.params)
		}
	}
	schema := actions.Screenshot.Schema()["properties"].(map[string]any)
	for word, want := range map[string][2]string{
		"picture.jpg": {"picture.jpg", "jpeg"}, "a/b.webp": {"a/b.webp", "webp"}, "x.png": {"x.png", "png"}, "@e3": {"", ""}, "notes.txt": {"notes.txt", ""},
	} {
		if file, _ := fileAmong(actions.Screenshot, []string{word}); file != want[0] || formatOf(schema, file) != want[1] {
			t.Errorf("screenshot %s: file %q, format %q", word, file, formatOf(schema, file))
		}
	}
	for _, row := range []*command.Command{actions.Recordings, actions.Downloads, actions.ProfileExport} {
		if file, rest := fileAmong(row, []string{"a.zip"}); file != "" || len(rest) != 1 {
			t.Errorf("%s a.zip: the name is taken for the file to write", row.Name)
		}
		if file, rest := fileAmong(row, []string{"a.zip", "b.zip"}); file != "b.zip" || len(rest) != 1 {
			t.Errorf("%s a.zip b.zip: file %q", row.Name, file)
		}
	}
	if file, rest := fileAmong(actions.Click, []string{"a.png"}); file != "" || len(rest) != 1 {
		t.Error("click writes a file")
	}
}

// Where a script has the name of a second word, neither is taken for the other.
func TestAScriptThatIsCalledList(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("list", []byte("return 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"run ./list": "run ./list", "run_list": "run_list", "run delete list": "run_delete list", "run list": ""} {
		got, err := typedWords(newRoot(nil), strings.Fields(line))
		switch {
		case want != "" && (err != nil || strings.Join(got, " ") != want):
			t.Errorf("%s: %q, %v; want %q", line, got, err, want)
		case want == "" && (err == nil || !strings.Contains(err.Error(), "browserd run ./list runs the file, browserd run_list is the command")):
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

// A command of two words may be typed as two, behind help too.
func TestCommandsOfTwoWords(t *testing.T) {
	for line, want := range map[string]string{
		"run list":                 "run_list",
		"run delete order":         "run_delete order",
		"--json run list":          "run_list --json",
		"run list --help":          "run_list --help",
		"help run list":            "help run_list",
		"help run":                 "help run",
		"session close --all":      "session_close --all",
		"run ./list":               "run ./list",
		"run order.js --input a=b": "run order.js --input a=b",
		"run -- list":              "run -- list",
		"secret list":              "secret list", // the operator's own
		"help secret list":         "help secret list",
		"secret_list":              "secret_list",
	} {
		got, err := typedWords(newRoot(nil), strings.Fields(line))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v; want %q", line, got, err, want)
		}
	}
	if _, err := typedWords(newRoot(nil), []string{"session", "nothing"}); err == nil || !strings.Contains(err.Error(), "session_") {
		t.Errorf("session nothing: %v", err)
	}
}
