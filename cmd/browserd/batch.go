package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
)

// showBatch writes what the commands of a batch answered, each as it would write that itself,
// below a line with its number and name. It is indented, so that no text of a page is taken for
// such a line. params are the batch's, and before is what was told before it.
func showBatch(w io.Writer, result json.RawMessage, params map[string]any, before *tools.ReportedState) error {
	var sent struct {
		Commands []struct {
			Method string         `json:"method"`
			Params map[string]any `json:"params"`
		} `json:"commands"`
	}
	var got struct {
		Results []struct {
			Result json.RawMessage     `json:"result"`
			Error  *protocol.ErrorData `json:"error"`
		} `json:"results"`
	}
	asked, err := json.Marshal(params)
	if err == nil {
		err = json.Unmarshal(asked, &sent)
	}
	if err == nil {
		err = json.Unmarshal(result, &got)
	}
	if err != nil {
		return err
	}
	var left []string
	var failed error
	for i, step := range sent.Commands {
		title := fmt.Sprintf("%d %s", i+1, harmless(step.Method))
		if i >= len(got.Results) {
			left = append(left, title)
			continue
		}
		var answer bytes.Buffer
		var export actions.ProfileExportResult
		row, known := actions.All.Lookup(step.Method)
		switch e := got.Results[i].Error; {
		case e != nil:
			fmt.Fprintln(&answer, explain(row, &protocol.Error{Code: e.Code, Message: e.Message, Next: e.Next, Details: e.Details}))
		case row == actions.ProfileExport && json.Unmarshal(got.Results[i].Result, &export) == nil && export.NextOffset != 0: // a file would look like the whole
			failed = errors.Join(failed, fmt.Errorf("%s: nothing is saved: the export has %d bytes, of which a batch gets a piece\n%sbrowserd profile_export, which puts the pieces together", title, export.Size, nextMark))
		case known:
			if err := show(&answer, row, got.Results[i].Result, step.Params, "", before); err != nil {
				return errors.Join(err, failed)
			}
		default: // of a newer daemon
			fmt.Fprintln(&answer, harmless(string(got.Results[i].Result)))
		}
		if _, err := fmt.Fprintf(w, "%s\n%s", title, indented(answer.String())); err != nil {
			return errors.Join(err, failed)
		}
	}
	if len(left) > 0 {
		_, err = fmt.Fprintln(w, "left out: "+strings.Join(left, ", "))
	}
	return errors.Join(err, failed)
}

// indented begins each line that is not empty with two spaces.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return b.String()
}
