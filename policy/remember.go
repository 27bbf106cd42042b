package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/browserd/browserd/protocol"
)

// Answers store the answers to remember always: an AnswerFile, or the database of a fleet. Any
// goroutine may call their methods.
type Answers interface {
	// Command returns the answer for an agent's command at a place (Question.Place). known is
	// false if there is none. After an error there may be one, and it may be a no.
	Command(ctx context.Context, agent, command, place string) (allow, known bool, err error)
	// KeepCommand stores the answer in place of an earlier one.
	KeepCommand(ctx context.Context, agent, command, place string, allow bool) error
	// KeepSetting stores an addition to the policy and applies it in this daemon.
	KeepSetting(ctx context.Context, s Setting) error
}

// AnswerFile implements Answers with a file, for a daemon that is not in a fleet. Make it with
// ReadAnswers.
type AnswerFile struct {
	path  string // empty: answers cannot be stored
	apply func([]Setting) error

	mu   sync.Mutex
	kept kept
}

// kept is the file's content.
type kept struct {
	AllowHosts     []string      `json:"allow_hosts"`
	AllowedDomains []string      `json:"allowed_domains"`
	Commands       []keptCommand `json:"commands"`
}

// keptCommand is an answer for an agent's command at a place (Question.Place), the
// empty one if there was none.
type keptCommand struct {
	Agent   string `json:"agent"`
	Command string `json:"command"`
	Place   string `json:"place"`
	Allow   bool   `json:"allow"`
}

// maxAnswers is the largest file to read, in bytes. Answers alone never grow that large.
const maxAnswers = 4 << 20

// ReadAnswers reads the answers from the file at path. apply is Policy.SetAdditions: it gets
// the additions to the policy, now and after each change. A missing file is an empty one, and with
// an empty path nothing can be kept. A file that cannot be parsed, or that other users may
// read or write, is an error, because it may have held a no.
func ReadAnswers(path string, apply func([]Setting) error) (*AnswerFile, error) {
	m := &AnswerFile{path: path, apply: apply}
	if path == "" {
		return m, nil
	}
	if err := m.read(); err != nil {
		return nil, err
	}
	if err := apply(m.settings()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func (m *AnswerFile) read() error {
	path := m.path
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading what operators have confirmed: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no plain file: remove it, and what was confirmed for good is asked again", path)
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return fmt.Errorf("%s is open to others (mode %o): look at what it allows, then chmod 600 it or remove it", path, info.Mode().Perm())
	case info.Size() > maxAnswers:
		return fmt.Errorf("%s has %d bytes: look at what it allows, then shorten or remove it", path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading what operators have confirmed: %w", err)
	}
	if err := m.decode(data); err != nil {
		return fmt.Errorf("%s: %w: fix it, or remove it, and what was confirmed for good is asked again", path, err)
	}
	return nil
}

func (m *AnswerFile) decode(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m.kept); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	for key, lines := range map[string][]string{"allow_hosts": m.kept.AllowHosts, "allowed_domains": m.kept.AllowedDomains} {
		for _, s := range lines {
			if _, err := parseAllowEntry(s); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	for i, k := range m.kept.Commands {
		if k.Agent == "" || k.Command == "" {
			return fmt.Errorf("commands[%d]: accepts agent, command, place and allow", i)
		}
	}
	return nil
}

// settings returns the additions to the policy. The caller holds mu, or is the only one.
func (m *AnswerFile) settings() []Setting {
	var list []Setting
	for _, s := range []Setting{{KeyAllowHosts, m.kept.AllowHosts}, {KeyAllowedDomains, m.kept.AllowedDomains}} {
		if len(s.Add) > 0 {
			list = append(list, Setting{s.Key, slices.Clone(s.Add)})
		}
	}
	return list
}

// Command implements Answers. It never fails.
func (m *AnswerFile) Command(_ context.Context, agent, command, place string) (allow, known bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.kept.Commands {
		if k.Agent == agent && k.Command == command && k.Place == place {
			return k.Allow, true, nil
		}
	}
	return false, false, nil
}

// KeepSetting implements Answers.
func (m *AnswerFile) KeepSetting(_ context.Context, s Setting) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.change(func(k *kept) {
		list := &k.AllowHosts
		if s.Key == KeyAllowedDomains {
			list = &k.AllowedDomains
		}
		for _, e := range s.Add {
			if !slices.Contains(*list, e) {
				*list = append(*list, e)
			}
		}
	})
	if err != nil {
		return err
	}
	return m.apply(m.settings())
}

// KeepCommand implements Answers.
func (m *AnswerFile) KeepCommand(_ context.Context, agent, command, place string, allow bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.change(func(k *kept) {
		k.Commands = slices.DeleteFunc(k.Commands, func(o keptCommand) bool {
			return o.Agent == agent && o.Command == command && o.Place == place
		})
		k.Commands = append(k.Commands, keptCommand{agent, command, place, allow})
	})
}

// change writes the changed content to disk and then applies it in memory, so that the two
// agree. The caller holds mu.
func (m *AnswerFile) change(alter func(*kept)) error {
	if m.path == "" {
		return protocol.Errorf(protocol.Unsupported, "there is no state directory in which an answer could be kept").
			Then(`set HOME or XDG_STATE_HOME for the daemon, or answer with remember "session"`)
	}
	next := kept{slices.Clone(m.kept.AllowHosts), slices.Clone(m.kept.AllowedDomains), slices.Clone(m.kept.Commands)}
	alter(&next)
	if err := writeAnswers(m.path, next); err != nil {
		return fmt.Errorf("keeping an operator's answer: %w", err)
	}
	m.kept = next
	return nil
}

// writeAnswers replaces the file atomically by a new one with mode 0600.
func writeAnswers(path string, k kept) error {
	data, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(data, '\n'))
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
