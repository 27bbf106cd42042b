package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/browserd/browserd/config"
)

// writeEntry puts browserd into a client's own configuration file, in which all else
// stays, and returns the file's path. It is an error where that file is not plain JSON
// (or, for codex, has such an entry already): then nothing is written.
func writeEntry(s snippet, program string) (path string, err error) {
	if s.file == nil {
		return "", fmt.Errorf("%s has no file to write: %s: %s", s.client, s.where, s.text(program))
	}
	if path, err = s.file(); err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link stays
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	merged, err := s.merge(old, s.text(program))
	if err != nil {
		return "", fmt.Errorf("%s: %w: put this there by hand:\n%s", path, err, s.text(program))
	}
	return path, config.ReplaceFile(path, merged)
}

// merge returns the client's file with the snippet in it.
func (s snippet) merge(old []byte, text string) ([]byte, error) {
	if strings.HasSuffix(s.where, ".toml") {
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
