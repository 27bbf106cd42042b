// Package mcpclients knows the configuration of MCP clients: what tells each of them to start
// `browserd mcp`, and where it goes. It writes into the client's own file on request only, and keeps all else in it.
package mcpclients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/config"
)

// Client is a program that is told of browserd.
type Client struct {
	Name string
	// Where says for people where Text goes.
	Where string
	// Text is what tells the client to start program; nil where it is told by its address.
	Text func(program string) string

	file func() (string, error) // nil: there is none that could be written
}

// stdioEntry is the entry that most clients share.
func stdioEntry(program string) map[string]any {
	return map[string]any{"command": program, "args": []string{"mcp"}}
}

func jsonText(keys ...string) func(string) string {
	return func(program string) string {
		var v any = stdioEntry(program)
		for _, key := range slices.Backward(keys) {
			v = map[string]any{key: v}
		}
		b, _ := json.MarshalIndent(v, "", "  ")
		return string(b)
	}
}

// All lists them by name, and last those that connect over HTTP.
var All = []Client{
	{"claude-code", "run in a shell", func(p string) string { return "claude mcp add browserd -- " + command.Quoted(p) + " mcp" }, nil},
	{"claude-desktop", "claude_desktop_config.json", jsonText("mcpServers", "browserd"), inConfig("Claude", "claude_desktop_config.json")},
	{"codex", "~/.codex/config.toml", func(p string) string {
		return fmt.Sprintf("[mcp_servers.browserd]\ncommand = %q\nargs = [\"mcp\"]", p)
	}, inHome(".codex", "config.toml")},
	{"cursor", "~/.cursor/mcp.json, or .cursor/mcp.json in the project", jsonText("mcpServers", "browserd"), inHome(".cursor", "mcp.json")},
	{"gemini-cli", "~/.gemini/settings.json", jsonText("mcpServers", "browserd"), inHome(".gemini", "settings.json")},
	{"vscode", ".vscode/mcp.json", func(p string) string {
		b, _ := json.MarshalIndent(map[string]any{"servers": map[string]any{"browserd": map[string]any{"type": "stdio", "command": p, "args": []string{"mcp"}}}}, "", "  ")
		return string(b)
	}, func() (string, error) { return filepath.Join(".vscode", "mcp.json"), nil }},
	{"windsurf", "~/.codeium/windsurf/mcp_config.json", jsonText("mcpServers", "browserd"), inHome(".codeium", "windsurf", "mcp_config.json")},
	{"zed", "settings.json", func(p string) string {
		b, _ := json.MarshalIndent(map[string]any{"context_servers": map[string]any{"browserd": stdioEntry(p)}}, "", "  ")
		return string(b)
	}, zedSettings},
	{"http", "a client that connects to the running daemon", nil, nil},
}

// Write puts browserd into the client's own configuration file, in which all else
// stays, and returns the file's path. It is an error where that file is not plain JSON
// (or, for codex, has such an entry already): then nothing is written.
func (c Client) Write(program string) (path string, err error) {
	if c.file == nil {
		return "", fmt.Errorf("%s has no file to write: %s: %s", c.Name, c.Where, c.Text(program))
	}
	if path, err = c.file(); err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link stays
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	merged, err := c.merge(old, c.Text(program))
	if err != nil {
		return "", fmt.Errorf("%s: %w: put this there by hand:\n%s", path, err, c.Text(program))
	}
	return path, config.ReplaceFile(path, merged)
}

// merge returns the client's file with text in it.
func (c Client) merge(old []byte, text string) ([]byte, error) {
	if strings.HasSuffix(c.Where, ".toml") {
		if header, _, _ := strings.Cut(text, "\n"); bytes.Contains(old, []byte(header)) {
			return nil, fmt.Errorf("it has %s already", header)
		}
		if len(old) > 0 {
			old = append(bytes.TrimRight(old, "\n"), "\n\n"...)
		}
		return append(old, text+"\n"...), nil
	}
	all, add := map[string]json.RawMessage{}, map[string]map[string]json.RawMessage{}
	if len(bytes.TrimSpace(old)) > 0 {
		if err := json.Unmarshal(old, &all); err != nil {
			return nil, fmt.Errorf("it is no plain JSON object (%w)", err)
		}
	}
	if err := json.Unmarshal([]byte(text), &add); err != nil {
		return nil, err
	}
	for section, entries := range add {
		there := map[string]json.RawMessage{}
		if len(all[section]) > 0 {
			if err := json.Unmarshal(all[section], &there); err != nil {
				return nil, fmt.Errorf("its %s is no object (%w)", section, err)
			}
		}
		for name, entry := range entries {
			there[name] = entry
		}
		raw, err := json.Marshal(there)
		if err != nil {
			return nil, err
		}
		all[section] = raw
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(all)
	return b.Bytes(), err
}

// inHome returns a file below the user's home.
func inHome(path ...string) func() (string, error) {
	return func() (string, error) {
		home, err := os.UserHomeDir()
		return filepath.Join(append([]string{home}, path...)...), err
	}
}

// inConfig returns a file below the directory for the user's configuration.
func inConfig(path ...string) func() (string, error) {
	return func() (string, error) {
		dir, err := os.UserConfigDir()
		return filepath.Join(append([]string{dir}, path...)...), err
	}
}

// zedSettings is Zed's file, which on macOS lies where it does on Linux.
func zedSettings() (string, error) {
	if runtime.GOOS == "darwin" {
		return inHome(".config", "zed", "settings.json")()
	}
	return inConfig("zed", "settings.json")()
}
