package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/server/tools"
)

// keptSession remembers the session of the last command line, and what command lines told
// of it, in the state directory, for the daemon at one address. What cannot be remembered is
// not: the next command begins a session, and tells everything.
type keptSession struct{ address string }

func (k keptSession) path() string {
	dir, err := config.StateDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "session")
}

func (k keptSession) read() string {
	name, _ := k.lines()
	return name
}

// lines returns the session's name and what was told, as JSON.
func (k keptSession) lines() (name, told string) {
	b, err := os.ReadFile(k.path())
	first, told, _ := strings.Cut(string(b), "\n")
	address, name, ok := strings.Cut(strings.TrimSpace(first), " ")
	if err != nil || !ok || address != k.address {
		return "", ""
	}
	return name, told
}

// told returns what was told before; whatever cannot be read was not.
func (k keptSession) told() *tools.ReportedState {
	var t tools.ReportedState
	if _, told := k.lines(); json.Unmarshal([]byte(told), &t) != nil {
		return &tools.ReportedState{}
	}
	return &t
}

// tell remembers what was told.
func (k keptSession) tell(t *tools.ReportedState) {
	name, before := k.lines()
	if now, err := json.Marshal(t); name != "" && err == nil && string(now) != before {
		k.keep(name + "\n" + string(now))
	}
}

func (k keptSession) write(name string) {
	_, told := k.lines()
	k.keep(name + "\n" + told)
}

func (k keptSession) keep(text string) {
	if path := k.path(); path != "" {
		os.WriteFile(path, []byte(k.address+" "+text), 0o600)
	}
}
