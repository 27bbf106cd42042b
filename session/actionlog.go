package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/browserd/browserd/recording"
)

// ActionLogConfig configures the action log.
type ActionLogConfig struct {
	Dir         string `koanf:"dir" default:"" doc:"directory in which each session's commands are written down as JSON lines, in a directory of its own; empty: they are not"`
	Screenshots bool   `koanf:"pictures" default:"false" doc:"with a screenshot after each acting command"`
	Bytes       int    `koanf:"bytes" default:"52428800" doc:"bytes of one session's log, pictures included; further entries are dropped"`
	Sessions    int    `koanf:"sessions" default:"200" doc:"sessions whose logs are kept; the oldest go first"`
}

// Check returns an error that names the first invalid value.
func (c ActionLogConfig) Check() error {
	switch {
	case c.Bytes <= 0:
		return fmt.Errorf("action_log.bytes: %d: accepts a number above 0", c.Bytes)
	case c.Sessions <= 0:
		return fmt.Errorf("action_log.sessions: %d: accepts a number above 0", c.Sessions)
	}
	return nil
}

// records are the session's action log and recorder. They are guarded by mu.
type records struct {
	actionLog *ActionLog
	recorder  *recording.Recorder
}

// ActionLog is one session's action log: a directory (mode 0700) with log.jsonl and the
// pictures that its lines name (mode 0600). Any goroutine may call its methods.
type ActionLog struct {
	Screenshots bool // with a screenshot after each acting command
	dir         string
	limit       int

	mu      sync.Mutex
	entries int
	bytes   int
	full    bool
}

// EnableActionLogs switches the action log on. Call it once, before the first session is opened.
func (m *Manager) EnableActionLogs(cfg ActionLogConfig) { m.actionLogs = cfg }

// ActionLog returns the session's action log, or nil if it is off. Its directory is created
// with the first line.
func (s *Session) ActionLog() *ActionLog {
	cfg := s.manager.actionLogs
	if cfg.Dir == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.actionLog == nil {
		dir := s.created.UTC().Format("20060102T150405.000Z") + "-" + s.name
		s.actionLog = &ActionLog{Screenshots: cfg.Screenshots, dir: filepath.Join(cfg.Dir, dir), limit: cfg.Bytes}
		removeOldest(cfg)
	}
	return s.actionLog
}

// logDirName matches the names of the directories that ActionLog creates.
var logDirName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z-[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

// removeOldest removes the oldest logs to make room for one more.
func removeOldest(cfg ActionLogConfig) {
	entries, err := os.ReadDir(cfg.Dir)
	if err != nil {
		return // it does not exist yet: the first line creates it
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && logDirName().MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names) // by time, which their names begin with
	for len(names) >= cfg.Sessions {
		os.RemoveAll(filepath.Join(cfg.Dir, names[0]))
		names = names[1:]
	}
}

// Write adds one line and, if picture is not nil, a picture. It calls line with the line's
// number and the picture's file name. When the log has reached its size limit, a last line
// says that it is full, and nothing more is written.
func (j *ActionLog) Write(picture []byte, line func(number int, picture string) any) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.full {
		return nil
	}
	j.entries++
	name := ""
	if picture != nil {
		name = fmt.Sprintf("%05d.jpg", j.entries)
	}
	text, err := json.Marshal(line(j.entries, name))
	if err != nil {
		return err
	}
	if j.bytes+len(text)+len(picture) > j.limit {
		j.full = true
		picture, text = nil, []byte(`{"full":true}`)
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	if picture != nil {
		if err := os.WriteFile(filepath.Join(j.dir, name), picture, 0o600); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(filepath.Join(j.dir, "log.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	j.bytes += len(text) + 1 + len(picture)
	return errors.Join(err, f.Close())
}
