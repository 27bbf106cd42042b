package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/server/tools"
	"github.com/browserd/browserd/snapshot"
)

// show writes a result for a person: the text that a model would get, and
// pictures into files whose names it prints. params are the command's, and before is what was
// told before it; nil for nothing.
func show(w io.Writer, row *command.Command, result json.RawMessage, params map[string]any, file string, before *tools.ReportedState) error {
	if row == actions.ProfileExport {
		var r actions.ProfileExportResult
		if err := json.Unmarshal(result, &r); err != nil {
			return err
		}
		return save(w, file, r.Name+".profile", base64.StdEncoding.AppendEncode(nil, r.Content), 0o600)
	}
	if row == actions.Batch {
		return showBatch(w, result, params, before)
	}
	rest, lines := listed(result, row.Brief)
	for _, step := range tools.NextSteps(result) {
		lines = append(lines, step.ForTerminal())
	}
	asked, err := json.Marshal(params)
	if err != nil {
		return err
	}
	for i, part := range tools.Format(rest, asked, before, lines...).Content {
		switch p := part.(type) {
		case *mcp.TextContent:
			if i > 0 {
				fmt.Fprintln(w)
			}
			_, err = fmt.Fprintln(w, harmless(strings.Replace(p.Text, tools.ChangedElsewhere, asTyped(tools.ChangedElsewhere), 1)))
		case *mcp.ImageContent:
			err = save(w, file, row.Name+"."+strings.TrimPrefix(p.MIMEType, "image/"), p.Data, 0o644)
		case *mcp.EmbeddedResource:
			err = save(w, file, row.Name+".pdf", p.Resource.Blob, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
