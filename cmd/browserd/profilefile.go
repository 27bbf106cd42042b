package main

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/session"
)

// sends sends a command with these parameters.
type sends func(params map[string]any) (json.RawMessage, error)

// sendWhole sends a command. An exported profile or a download, which takes several answers or requests where it is
// large, is one file here: its pieces are put together, or made. file is where a download is written; empty: nowhere.
func sendWhole(row *command.Command, params map[string]any, file string, send sends) (json.RawMessage, error) {
	switch {
	case row == actions.Downloads && file != "":
		return writeDownload(params, file, send)
	case row == actions.ProfileExport && params["offset"] == nil:
		return exportWhole(params, send)
	case row == actions.ProfileImport && params["offset"] == nil && params["more"] == nil:
		return importWhole(params, send)
	}
	return send(params)
}

func exportWhole(params map[string]any, send sends) (json.RawMessage, error) {
	var whole actions.ProfileExportResult
	params = maps.Clone(params)
	for {
		answer, err := send(params)
		if err != nil {
			return nil, err
		}
		var r actions.ProfileExportResult
		if err := json.Unmarshal(answer, &r); err != nil {
			return nil, err
		}
		whole = actions.ProfileExportResult{Name: r.Name, Content: append(whole.Content, r.Content...), Size: r.Size}
		if r.NextOffset == 0 {
			return json.Marshal(whole)
		}
		params["offset"], params["export"] = r.NextOffset, r.Export
	}
}

func importWhole(params map[string]any, send sends) (json.RawMessage, error) {
	text, _ := params["content"].(string)
	content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return send(params) // the daemon says what is wrong with it
	}
	params = maps.Clone(params)
	for offset := 0; ; {
		piece := content[offset:min(len(content), offset+session.PieceBytes)]
		more := offset+len(piece) < len(content)
		params["content"], params["offset"], params["more"] = base64.StdEncoding.EncodeToString(piece), offset, more
		answer, err := send(params)
		if err != nil || !more {
			return answer, err
		}
		offset += len(piece)
	}
}
