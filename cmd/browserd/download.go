package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/protocol"
)

// downloadPiece is how many characters of a download are asked for at once.
const downloadPiece = 4_000_000

// writeDownload writes a whole download to file, and returns the first answer without content.
// Where an answer fails, file is as it was.
func writeDownload(params map[string]any, file string, send sends) (json.RawMessage, error) {
	if name, _ := params["name"].(string); name == "" {
		return nil, wrongWords(actions.Downloads, "--output: is for one download, by its name")
	}
	params = maps.Clone(params)
	params["max_chars"] = downloadPiece
	var content bytes.Buffer
	var first actions.DownloadsResult
	for {
		answer, err := send(params)
		if err != nil {
			return nil, err
		}
		var r actions.DownloadsResult
		if err := json.Unmarshal(answer, &r); err != nil {
			return nil, err
		}
		if r.Content == nil {
			return nil, fmt.Errorf("the download %q has no content", params["name"])
		}
		piece := []byte(*r.Content)
		if r.Encoding == "base64" {
			if piece, err = base64.StdEncoding.DecodeString(*r.Content); err != nil {
				return nil, err
			}
		}
		content.Write(piece)
		if first.Content == nil {
			first = r
		}
		if r.NextOffset == 0 {
			break
		}
		params["offset"] = r.NextOffset
		delete(params, "allow")
	}
	first.Content, first.Encoding, first.Truncated, first.NextOffset = nil, "", false, 0
	return json.RawMessage(compact(first)), os.WriteFile(file, content.Bytes(), 0o644)
}

// received says how much has come of the download that the command waits for, or of all; empty: it
// waits for none.
func received(ctx context.Context, c *config.Loaded, row *command.Command, params map[string]any) string {
	if row != actions.Downloads || params["wait"] != true {
		return ""
	}
	var r actions.DownloadsResult
	asked := map[string]any{}
	if session := params["session"]; session != nil {
		asked["session"] = session
	}
	answer, err := runCommand(ctx, c, row, asked, io.Discard)
	if err = errors.Join(err, json.Unmarshal(answer, &r)); err != nil {
		return ""
	}
	var running int
	var bytes, total int64
	for _, d := range r.Entries {
		if name := params["name"]; d.State == protocol.DownloadRunning && (name == nil || name == d.Name) {
			running++
			bytes += d.Bytes
			total += d.Total
		}
	}
	switch {
	case running == 0:
		return ""
	case total == 0:
		return fmt.Sprintf(", %.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf(", %.1f of %.1f MB", float64(bytes)/1e6, float64(total)/1e6)
}
