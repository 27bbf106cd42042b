package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
	"github.com/browserd/browserd/snapshot"
)

// show writes a result for a person: the text that a model would get, and
// pictures into files whose names it prints. params are the command's, and before is what was
// told before it; nil for nothing.
func show(w io.Writer, command string, result json.RawMessage, params map[string]any, file string, before *tools.Told) error {
	if command == actions.ProfileExport.Name {
		var r actions.ProfileExportResult
		if err := json.Unmarshal(result, &r); err != nil {
			return err
		}
		return save(w, file, r.Name+".profile", base64.StdEncoding.AppendEncode(nil, r.Content), 0o600)
	}
	if lines, ok := linesOf(command, result); ok {
		for _, line := range lines {
			if _, err := fmt.Fprintln(w, snapshot.Literally(line)); err != nil {
				return err
			}
		}
		return nil
	}
	var next []string
	for _, step := range tools.NextSteps(result) {
		next = append(next, step.ForTerminal())
	}
	asked, err := json.Marshal(params)
	if err != nil {
		return err
	}
	for i, part := range tools.Format(result, asked, before, next...).Content {
		switch p := part.(type) {
		case *mcp.TextContent:
			if i > 0 {
				fmt.Fprintln(w)
			}
			_, err = fmt.Fprintln(w, harmless(strings.Replace(p.Text, tools.ChangedElsewhere, asTyped(tools.ChangedElsewhere), 1)))
		case *mcp.ImageContent:
			err = save(w, file, command+"."+strings.TrimPrefix(p.MIMEType, "image/"), p.Data, 0o644)
		case *mcp.EmbeddedResource:
			err = save(w, file, command+".pdf", p.Resource.Blob, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// linesOf returns a list as lines, of the commands whose result is one.
func linesOf(command string, result json.RawMessage) (lines []string, ok bool) {
	var r struct {
		Text      string              `json:"text"`
		Note      string              `json:"note"`
		Truncated bool                `json:"truncated"`
		Entries   []protocol.Exchange `json:"entries"`
		HAR       json.RawMessage     `json:"har"`
		Tabs      []struct {
			Tab      string `json:"tab"`
			URL      string `json:"url"`
			Title    string `json:"title"`
			Selected bool   `json:"selected"`
			Person   bool   `json:"person"`
		} `json:"tabs"`
		Sessions []listedSession `json:"sessions"`
	}
	if json.Unmarshal(result, &r) != nil {
		return nil, false
	}
	var b strings.Builder
	switch command {
	case actions.Find.Name:
		if r.Text != "" {
			fmt.Fprintln(&b, r.Text)
		}
		if r.Note != "" {
			fmt.Fprintln(&b, asTyped(r.Note))
		}
		if r.Truncated {
			fmt.Fprintln(&b, "more match: --limit shows them")
		}
	case actions.TabList.Name:
		for _, t := range r.Tabs {
			selected := " "
			if t.Selected {
				selected = "*"
			}
			fmt.Fprintf(&b, "%s %s  %s  %s", selected, t.Tab, t.URL, compact(t.Title))
			if t.Person {
				b.WriteString("  the person's own")
			}
			b.WriteString("\n")
		}
	case actions.Console.Name:
		var r struct {
			Entries []protocol.Console `json:"entries"`
		}
		if json.Unmarshal(result, &r) != nil {
			return nil, false
		}
		for _, e := range r.Entries {
			fmt.Fprintf(&b, "%d  %s  %s", e.ID, e.Kind, strings.ReplaceAll(e.Text, "\n", "\n\t"))
			if e.URL != "" {
				fmt.Fprintf(&b, "  (%s:%d)", e.URL, e.Line)
			}
			b.WriteString("\n")
		}
	case actions.SessionList.Name:
		for _, s := range r.Sessions {
			fmt.Fprintln(&b, s)
		}
	case actions.Network.Name:
		if len(r.HAR) > 0 || len(r.Entries) == 1 && bytes.Contains(result, []byte(`"request_headers"`)) {
			return nil, false
		}
		for _, e := range r.Entries {
			fmt.Fprintf(&b, "%d  %s %d  %s  %s\n", e.ID, e.Method, e.Status, e.Kind, protocol.Cut(e.URL, 200))
		}
	default:
		return nil, false
	}
	if b.Len() == 0 {
		return []string{"none"}, true
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n"), true
}

// save writes data to file, or to a new file called like name.
func save(w io.Writer, file, name string, data []byte, mode os.FileMode) error {
	if file != "" {
		if err := os.WriteFile(file, data, mode); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, file)
		return err
	}
	stem, extension, _ := strings.Cut(name, ".")
	for n := 1; ; n++ {
		f, err := os.OpenFile(fmt.Sprintf("%s-%d.%s", stem, n, extension), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			f.Close()
			return err
		}
		fmt.Fprintln(w, f.Name())
		return f.Close()
	}
}

// harmless is s, which may have several lines, with what a terminal would obey escaped,
// and what hides or reorders text.
func harmless(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = snapshot.Literally(line)
	}
	return strings.Join(lines, "\n")
}

// exitNoDaemon is the exit code where the daemon cannot be reached.
const exitNoDaemon = 8

// coded is an error with an exit code of its own.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }
