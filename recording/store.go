package recording

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Kind is what a recording is.
type Kind string

// The kinds of recordings.
const (
	Trace Kind = "trace"
	Video Kind = "video"
)

// extensions are those of the files of each kind.
var extensions = map[Kind]string{Trace: ".zip", Video: ".webm"}

// Path is where a recording is read over HTTP, with its name behind it.
const Path = "/v1/recordings/"

// PathOf returns that of a recording.
func PathOf(name string) string { return Path + name }

// MediaType returns what a recording of that name is.
func MediaType(name string) string {
	if path.Ext(name) == extensions[Video] {
		return "video/webm"
	}
	return "application/zip"
}

// Recorded is one recording. Names are unique among an agent's.
type Recorded struct {
	Name    string    `json:"name"`
	Session string    `json:"session"`
	Kind    Kind      `json:"kind"`
	State   string    `json:"state"` // recording or done
	Bytes   int64     `json:"bytes"`
	Time    time.Time `json:"time"`           // when it began, of one that is done when it ended
	Full    bool      `json:"full,omitempty"` // its end is left out: it has as many bytes as recording.bytes allows
}

// The states of a recording.
const (
	Running = "recording"
	Done    = "done"
)

// Store keeps recordings: for each agent a directory, which no other can name, with one for each
// session and a file (mode 0600) for each recording. They stay when the session ends. Any goroutine
// may call its methods.
type Store struct {
	cfg   Config
	dir   string
	fleet Fleet // nil: the limits are this daemon's

	mu      sync.Mutex
	running map[string]*file // by path
}

// unfinished is what the name of a file ends with that is being written.
const unfinished = ".part"

// NewStore returns the recordings below dir, which is created with the first one. What an earlier
// daemon did not finish is removed. If dir is empty, recording is unsupported.
func NewStore(dir string, cfg Config) *Store {
	if dir != "" {
		left, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*"+unfinished))
		for _, name := range left {
			os.Remove(name)
		}
	}
	return &Store{cfg: cfg, dir: dir, running: map[string]*file{}}
}

// folderOf returns the name of the folder of an agent's recordings.
func folderOf(agent string) string {
	sum := sha256.Sum256([]byte(agent))
	return hex.EncodeToString(sum[:16])
}

// file is a recording that is being written, by one goroutine at a time.
type file struct {
	store   *Store
	agent   string
	entry   Recorded
	path    string
	f       *os.File
	written atomic.Int64
}

// maxRunning is how many recordings one agent makes at a time.
const maxRunning = 16

// errFull ends what is written to a file that has as many bytes as it may.
var errFull = errors.New("the recording is full")

// Write fails with errFull where the file would have more bytes than it may.
func (f *file) Write(p []byte) (int, error) {
	if int64(len(p)) > f.left() {
		return 0, errFull
	}
	n, err := f.f.Write(p)
	f.written.Add(int64(n))
	return n, err
}

// left returns how many bytes may still be written: of the file, and of all that the agent
// records now.
func (f *file) left() int64 {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	all := int64(f.store.cfg.BytesPerAgent)
	for _, other := range f.store.running {
		if other.agent == f.agent {
			all -= other.written.Load()
		}
	}
	return min(int64(f.store.cfg.Bytes)-f.written.Load(), all)
}

// create begins a recording.
func (s *Store) create(agent, session string, kind Kind) (*file, error) {
	if s.dir == "" {
		return nil, protocol.Errorf(protocol.Unsupported, "there is nowhere to keep recordings: the daemon has no state directory")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := 0
	for _, f := range s.running {
		if f.agent == agent {
			now++
		}
	}
	if now >= maxRunning {
		return nil, protocol.Errorf(protocol.TooLarge, "this agent makes %d recordings already", now).
			With("limit", maxRunning).With("size", now+1).Then("stop one of them: recordings lists them")
	}
	dir, name, at := filepath.Join(s.dir, folderOf(agent), session), "", ""
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		name = fmt.Sprintf("%s-%d%s", session, n, extensions[kind])
		at = filepath.Join(dir, name)
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) && s.running[at] == nil {
			break
		}
	}
	f, err := os.OpenFile(at+unfinished, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	s.choose(folderOf(agent), 1, nil) // now: it removes directories in which there is nothing
	made := &file{store: s, agent: agent, path: at, f: f, entry: Recorded{Name: name, Session: session, Kind: kind, State: Running, Time: time.Now().UTC()}}
	s.running[at] = made
	return made, nil
}

// finish makes what was written a recording that can be read, or with an error removes it.
func (f *file) finish(failed error) (Recorded, error) {
	err := errors.Join(failed, f.f.Close())
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	delete(f.store.running, f.path)
	if err == nil {
		err = os.Rename(f.path+unfinished, f.path)
	}
	if err != nil {
		os.Remove(f.path + unfinished)
		return Recorded{}, err
	}
	f.store.choose(folderOf(f.agent), 0, nil)
	f.entry.State, f.entry.Bytes, f.entry.Time = Done, f.written.Load(), time.Now().UTC()
	return f.entry, nil
}

// remove removes a recording. The caller holds mu.
func (s *Store) remove(folder string, e Recorded) {
	dir := filepath.Join(s.dir, folder, e.Session)
	os.Remove(filepath.Join(dir, e.Name))
	os.Remove(dir) // which fails where there are others in it
}

// done returns the finished recordings of a folder, the oldest first. The caller holds mu.
func (s *Store) done(folder string) []Recorded {
	list := []Recorded{}
	if s.dir == "" {
		return list
	}
	files, _ := filepath.Glob(filepath.Join(s.dir, folder, "*", "*"))
	for _, name := range files {
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		e := Recorded{Name: filepath.Base(name), Session: filepath.Base(filepath.Dir(name)), State: Done, Bytes: info.Size(), Time: info.ModTime().UTC()}
		for kind, ext := range extensions {
			if strings.HasSuffix(name, ext) {
				e.Kind = kind
			}
		}
		if e.Kind != "" {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b Recorded) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Name, b.Name)) })
	return list
}

// List returns an agent's recordings, the oldest first; those that run are the last.
func (s *Store) List(agent string) []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.done(folderOf(agent))
	var now []Recorded
	for _, f := range s.running {
		if f.agent == agent {
			now = append(now, f.entry)
		}
	}
	slices.SortFunc(now, func(a, b Recorded) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Name, b.Name)) })
	return append(list, now...)
}

// find returns a finished recording. Errors: invalid_params.
func (s *Store) find(agent, name string) (Recorded, error) {
	names := []string{}
	for _, e := range s.List(agent) {
		switch {
		case e.Name != name:
			names = append(names, e.Name)
		case e.State == Running:
			return Recorded{}, protocol.Errorf(protocol.InvalidParams, "name %q: it is being recorded", protocol.Cut(name, 80)).With("parameter", "name").
				Then("stop it first: %s stop", e.Kind)
		default:
			return e, nil
		}
	}
	return Recorded{}, protocol.Errorf(protocol.InvalidParams, "name %q: you have no such recording", protocol.Cut(name, 80)).With("parameter", "name").
		With("recordings", names[max(0, len(names)-20):]).Then("recordings without a name lists yours")
}

// Read returns at most n bytes of a recording from offset, and how many it has. Errors:
// invalid_params where there is none of that name that is done.
func (s *Store) Read(agent, name string, offset int64, n int) (content []byte, e Recorded, err error) {
	f, e, err := s.Open(agent, name)
	if err != nil {
		return nil, Recorded{}, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.NewSectionReader(f, offset, int64(n)))
	return content, e, err
}

// Open opens a recording; the caller closes it. Errors: those of Read.
func (s *Store) Open(agent, name string) (*os.File, Recorded, error) {
	e, err := s.find(agent, name)
	if err != nil {
		return nil, Recorded{}, err
	}
	f, err := os.Open(filepath.Join(s.dir, folderOf(agent), e.Session, e.Name))
	return f, e, err
}

// Delete removes a recording. Errors: those of Read.
func (s *Store) Delete(agent, name string) error {
	e, err := s.find(agent, name)
	if err != nil {
		return err
	}
	folder := folderOf(agent)
	s.mu.Lock()
	s.remove(folder, e)
	s.mu.Unlock()
	s.fit(folder, 0)
	return nil
}
