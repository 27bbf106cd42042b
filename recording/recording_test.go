package recording

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// site is a page of which a recorder gets pictures, requests and console.
type site struct {
	show    func(protocol.Frame)
	written []protocol.Console
	asked   []protocol.Exchange
}

func (s *site) Film(_ context.Context, _, _ bool, show func(protocol.Frame)) error {
	s.show = show
	return nil
}
func (s *site) EndFilm() {}
func (s *site) Console(q protocol.Watching) ([]protocol.Console, int) {
	var list []protocol.Console
	for _, e := range s.written {
		if e.ID > q.Since {
			list = append(list, e)
		}
	}
	return list, len(s.written)
}
func (s *site) Network(context.Context, protocol.Watching) ([]protocol.Exchange, int, error) {
	return s.asked, len(s.asked), nil
}

// gave says whether the agent of recorder was given a secret.
var gave bool

func recorder(t *testing.T, cfg Config) (*Store, *Recorder) {
	t.Helper()
	s := NewStore(t.TempDir(), cfg)
	same := Redact{JSON: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("•••")) }, Text: func(s string) string { return strings.ReplaceAll(s, "hunter2", "•••") }, Gave: func() bool { return gave }}
	return s, s.New(Options{Agent: "ann", Session: "work", Redact: same})
}

var roomy = Config{Bytes: 1 << 20, BytesPerAgent: 4 << 20, Count: 10}

// all returns all that a trace holds.
func all(t *testing.T, s *Store, name string) string {
	t.Helper()
	content, _, err := s.Read("ann", name, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(f.Name + "\n")
		b.Write(text)
	}
	return b.String()
}

// While a recorder is paused, a trace holds of commands the names, codes and times, and nothing of the page:
// no parameter, message, effect, text, picture, request and line of the console.
func TestNothingOfAPauseIsRecorded(t *testing.T) {
	s, r := recorder(t, roomy)
	page := &site{}
	ctx := t.Context()
	if _, err := r.Start(ctx, Trace, page); err != nil {
		t.Fatal(err)
	}
	act := func(command, word string) *Step {
		step := r.Begin(ctx, page, Action{Command: command, Began: time.Now(), Params: map[string]any{"text": word}, Element: word})
		page.show(protocol.Frame{At: time.Now(), Image: []byte("picture of " + strings.TrimSuffix(word, " hunter2"))})
		page.written = append(page.written, protocol.Console{ID: len(page.written) + 1, Time: time.Now(), Tab: "t1", Kind: "log", Text: "console " + word})
		page.asked = append(page.asked, protocol.Exchange{ID: len(page.asked) + 1, Time: time.Now(), Tab: "t1", Method: "GET", URL: "http://x.test/" + word, ExchangeDetails: protocol.ExchangeDetails{RequestBody: "the-body"}})
		return step
	}
	outcome := func(word string) Outcome {
		return Outcome{Code: "timeout", Message: word, Result: map[string]any{"effect": word}, Tab: "t1", Text: word, TextName: "delta"}
	}
	end := func(command, word string) { act(command, word).End(ctx, page, outcome(word)) }
	end("click", "before-it")
	during := act("type", "begun")
	r.Pause()
	during.End(ctx, page, outcome("typed-0"))
	end("press", "typed-1")
	end("press", "typed-2")
	late := act("fill", "typed-3")
	r.Resume()
	late.End(ctx, page, outcome("typed-4"))
	end("hover", "after-it hunter2")
	e, err := r.Stop(ctx, Trace)
	if err != nil || e.Actions != 6 {
		t.Fatalf("%d actions, %v", e.Actions, err)
	}
	text := all(t, s, e.Name)
	for _, word := range []string{"typed-", "hunter2", "the-body", `"text":"begun"`} {
		if i := strings.Index(text, word); i >= 0 {
			t.Errorf("%q is in the trace: %s", word, text[max(0, i-200):min(len(text), i+50)])
		}
	}
	for _, word := range []string{"before-it", "after-it", "picture of before-it", "picture of after-it", "console before-it", "console after-it", "x.test/before-it", "x.test/after-it", `"title":"press"`, `"title":"fill"`} {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not in the trace", word)
		}
	}
}

// A video has no frame of a pause: not of a picture that comes in it, nor of one that was made in it and comes later.
func TestAVideoHasNoFrameOfAPause(t *testing.T) {
	vp8 := "\x00\x00\x00\x9d\x01\x2a\x10\x00\x08\x00"
	film := func(paused bool) error {
		_, r := recorder(t, roomy)
		page := &site{}
		if _, err := r.Start(t.Context(), Video, page); err != nil {
			t.Fatal(err)
		}
		show := func(at time.Time) {
			page.show(protocol.Frame{At: at, Image: []byte("RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00" + vp8)})
		}
		if paused {
			r.Pause()
		}
		during := time.Now()
		show(during)
		r.Resume()
		show(during)
		_, err := r.Stop(t.Context(), Video)
		return err
	}
	if err := film(false); err != nil {
		t.Errorf("without a pause: %v", err)
	}
	if err := film(true); protocol.CodeOf(err) != protocol.Unsupported {
		t.Errorf("a video of a pause alone has a frame: %v", err)
	}
}

// Where the agent was given a secret, a picture is kept only if the page shows none when it is asked: what came
// while it did is in no recording.
func TestPicturesOfASecretAreDropped(t *testing.T) {
	gave = true
	t.Cleanup(func() { gave = false })
	s, r := recorder(t, roomy)
	page, ctx, shows := &site{}, t.Context(), false
	if _, err := r.Start(ctx, Trace, page); err != nil {
		t.Fatal(err)
	}
	act := func(picture string, during bool) {
		step := r.Begin(ctx, page, Action{Command: "click", Began: time.Now(), Harmless: func() bool { return !shows }})
		shows = during
		page.show(protocol.Frame{At: time.Now(), Image: []byte("picture-" + picture)})
		step.End(ctx, page, Outcome{Tab: "t1"})
	}
	act("one", false)
	act("secret-two", true)
	page.show(protocol.Frame{At: time.Now(), Image: []byte("picture-secret-three")})
	act("secret-four", true)
	act("five", false)
	page.show(protocol.Frame{At: time.Now(), Image: []byte("picture-never-asked")})
	e, err := r.Stop(ctx, Trace)
	if err != nil || e.Actions != 4 {
		t.Fatalf("%d actions, %v", e.Actions, err)
	}
	text := all(t, s, e.Name)
	if strings.Contains(text, "picture-secret") || strings.Contains(text, "picture-never") || !strings.Contains(text, "picture-one") || !strings.Contains(text, "picture-five") {
		t.Errorf("the trace holds: %s", text)
	}
}

// A recording that is full ends with what there was room for, and can be read.
func TestAFullTraceIsATrace(t *testing.T) {
	s, r := recorder(t, Config{Bytes: 100 << 10, BytesPerAgent: 1 << 20, Count: 10})
	page := &site{}
	if _, err := r.Start(t.Context(), Trace, page); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		step := r.Begin(t.Context(), page, Action{Command: "click", Began: time.Now()})
		noise := make([]byte, 10<<10)
		copy(noise, time.Now().String())
		page.show(protocol.Frame{At: time.Now(), Image: noise})
		step.End(t.Context(), page, Outcome{Tab: "t1"})
	}
	e, err := r.Stop(t.Context(), Trace)
	if err != nil || !e.Full || e.Bytes > 100<<10 || e.Actions == 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if text := all(t, s, e.Name); !strings.Contains(text, "trace.trace") {
		t.Error("it has no trace.trace")
	}
}

// The oldest recordings of an agent go where there are more than it may keep; another's stay, and
// nobody reads them. What a daemon that was killed did not finish is removed.
func TestTheOldestGo(t *testing.T) {
	dir := t.TempDir()
	s := NewStore(dir, Config{Bytes: 1000, BytesPerAgent: 2500, Count: 4})
	put := func(agent, session string, bytes int) string {
		t.Helper()
		f, err := s.create(agent, session, Video)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(make([]byte, bytes)); err != nil {
			t.Fatal(err)
		}
		e, err := f.finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		// Recordings that end within one tick of the clock are in the order of their names.
		return e.Name
	}
	names := func(agent string) string {
		var list []string
		for _, e := range s.List(agent) {
			list = append(list, e.Name)
		}
		return strings.Join(list, " ")
	}
	other := put("bob", "b", 900)
	put("ann", "a", 1000)
	put("ann", "a", 1000)
	put("ann", "a", 1000)
	if got := names("ann"); got != "a-2.webm a-3.webm" {
		t.Errorf("by bytes: %s", got)
	}
	for range 5 {
		put("ann", "c", 10)
	}
	if got := names("ann"); got != "c-2.webm c-3.webm c-4.webm c-5.webm" {
		t.Errorf("by count: %s", got)
	}
	if got := names("bob"); got != other {
		t.Errorf("another's: %s", got)
	}
	for _, name := range []string{other, "../bob/b-1.webm", "c-2.webm/../c-3.webm", ""} {
		if _, _, err := s.Read("ann", name, 0, 10); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("%q: %v", name, err)
		}
	}
	f, err := s.create("ann", "killed", Trace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 1001)); err == nil {
		t.Error("more bytes than it may have are written")
	}
	f.f.Close()
	s = NewStore(dir, s.cfg)
	left, _ := filepath.Glob(filepath.Join(dir, "*", "killed", "*"))
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	info, err := os.Stat(filepath.Join(dir, folderOf("ann"), "c", "c-5.webm"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// Where a video is made too, the pictures of a trace are WebP and are called so.
func TestATraceBesideAVideo(t *testing.T) {
	s, r := recorder(t, roomy)
	page, ctx := &site{}, t.Context()
	for _, kind := range []Kind{Trace, Video} {
		if _, err := r.Start(ctx, kind, page); err != nil {
			t.Fatal(err)
		}
	}
	step := r.Begin(ctx, page, Action{Command: "click", Began: time.Now()})
	page.show(protocol.Frame{At: time.Now(), Image: []byte("RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x10\x00\x08\x00")})
	step.End(ctx, page, Outcome{Tab: "t1"})
	e, err := r.Stop(ctx, Trace)
	if err != nil {
		t.Fatal(err)
	}
	if text := all(t, s, e.Name); !strings.Contains(text, `.webp`) || !strings.Contains(text, `"contentType":"image/webp"`) || strings.Contains(text, "jpeg") {
		t.Errorf("the trace holds: %s", text)
	}
	if _, err := r.Stop(ctx, Video); err != nil {
		t.Error(err)
	}
}

// A recording begins where those go that were alone in its session's directory.
func TestARecordingBeginsWhereTheOldestGo(t *testing.T) {
	s := NewStore(t.TempDir(), Config{Bytes: 1000, BytesPerAgent: 2500, Count: 1})
	for n := 1; n < 4; n++ {
		f, err := s.create("ann", "a", Video)
		if err != nil {
			t.Fatalf("number %d: %v", n, err)
		}
		if _, err := f.finish(nil); err != nil {
			t.Fatal(err)
		}
		if list := s.List("ann"); len(list) != 1 {
			t.Errorf("after number %d: %+v", n, list)
		}
	}
}

// What a fleet has noted counts, and of all together the oldest go: those of here at once, of the others' the names are
// returned. What another node has chosen goes, and what an earlier start of this daemon has noted counts once.
func TestTheOldestOfAFleetGo(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 123_456_000) }
	noted := func(gone bool, name string, bytes, second int) Noted {
		return Noted{Kept{name + ".zip", at(second), int64(bytes)}, gone}
	}
	for _, c := range []struct {
		name       string
		more       int
		noted      []Noted
		here, gone string
	}{
		{"alone", 0, nil, "a-2 a-4 a-6", ""},
		{"as many as may be", 0, []Noted{noted(false, "b-1", 0, 1), noted(false, "b-7", 0, 7)}, "a-2 a-4 a-6", ""},
		{"one more to come", 1, []Noted{noted(false, "b-1", 0, 1), noted(false, "b-7", 0, 7)}, "a-2 a-4 a-6", "b-1"},
		{"one too many", 0, []Noted{noted(false, "b-1", 0, 1), noted(false, "b-3", 0, 3), noted(false, "b-7", 0, 7)}, "a-2 a-4 a-6", "b-1"},
		{"the next one is of here", 0, []Noted{noted(false, "b-1", 0, 1), noted(false, "b-3", 0, 3), noted(false, "b-7", 0, 7), noted(false, "b-8", 0, 8)}, "a-4 a-6", "b-1"},
		{"as many bytes as may be", 0, []Noted{noted(false, "b-1", 700, 1)}, "a-2 a-4 a-6", ""},
		{"a byte too many", 0, []Noted{noted(false, "b-3", 701, 3)}, "a-4 a-6", ""},
		{"all but the newest", 0, []Noted{noted(false, "b-1", 1, 1), noted(false, "b-3", 1, 3), noted(false, "b-7", 1000, 7)}, "", "b-1 b-3"},
		{"chosen by another", 0, []Noted{noted(true, "a-4", 100, 4), noted(true, "b-1", 900, 1)}, "a-2 a-6", ""},
		{"another of that name was chosen", 0, []Noted{noted(true, "a-4", 100, 3)}, "a-2 a-4 a-6", ""},
		{"of an earlier start", 0, []Noted{noted(false, "a-2", 100, 2), noted(false, "a-4", 100, 4), noted(false, "a-6", 100, 6), noted(false, "b-7", 700, 7)}, "a-2 a-4 a-6", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := NewStore(dir, Config{Bytes: 1000, BytesPerAgent: 1000, Count: 5})
			path := func(name string) string { return filepath.Join(dir, folderOf("ann"), "a", name+".zip") }
			for _, second := range []int{2, 4, 6} {
				file := path(fmt.Sprint("a-", second))
				os.MkdirAll(filepath.Dir(file), 0o700)
				if err := errors.Join(os.WriteFile(file, make([]byte, 100), 0o600), os.Chtimes(file, at(second), at(second).Add(789))); err != nil {
					t.Fatal(err)
				}
			}
			names := func(list []Kept) string {
				var all []string
				for _, k := range list {
					all = append(all, strings.TrimSuffix(k.Name, ".zip"))
				}
				return strings.Join(all, " ")
			}
			s.JoinFleet(fitted(func(folder string, choose func([]Noted) ([]Kept, []Kept)) {
				here, gone := choose(c.noted)
				if names(here) != c.here || names(gone) != c.gone {
					t.Errorf("here %q, gone %q", names(here), names(gone))
				}
			}))
			s.fit(folderOf("ann"), c.more)
			var left []string
			for _, e := range s.done(folderOf("ann")) {
				left = append(left, strings.TrimSuffix(e.Name, ".zip"))
			}
			if got := strings.Join(left, " "); got != c.here {
				t.Errorf("left: %q", got)
			}
		})
	}
}

// What the fleet names leads to no folder but an agent's: who writes to its database removes nothing else.
func TestAFolderThatIsNone(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "downloads", "taxes.zip")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, make([]byte, 100), 0o600)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	mine := Kept{"taxes.zip", info.ModTime().Truncate(time.Microsecond), 100}
	s := NewStore(filepath.Join(home, "state"), Config{Bytes: 1000, BytesPerAgent: 1000, Count: 5})
	s.JoinFleet(fitted(func(folder string, choose func([]Noted) ([]Kept, []Kept)) {
		choose([]Noted{{mine, true}, {Kept{"other.zip", time.Now(), 1 << 30}, false}})
	}))
	for _, folder := range []string{"..", "../../" + filepath.Base(home), "", ".", folderOf("ann") + "/../..", strings.ToUpper(folderOf("ann")) + "/", "*"} {
		s.Settle(folder)
		s.Remove(folder, []Kept{mine})
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%q: %v", folder, err)
		}
	}
}

// fitted is a Fleet.
type fitted func(folder string, choose func([]Noted) (here, gone []Kept))

func (f fitted) Fit(folder string, choose func([]Noted) (here, gone []Kept)) { f(folder, choose) }

func (f fitted) Later(string) {}

// A fleet is told when a recording begins, ends and is removed, and its answer is not awaited with what commands need.
func TestAFleetIsTold(t *testing.T) {
	s, r := recorder(t, roomy)
	var told []string
	s.JoinFleet(fitted(func(folder string, choose func([]Noted) (here, gone []Kept)) {
		if folder != folderOf("ann") || !r.mu.TryLock() {
			t.Errorf("folder %s, or the recorder is locked", folder)
		} else {
			r.mu.Unlock()
		}
		here, _ := choose(nil)
		told = append(told, fmt.Sprint(len(here)))
	}))
	ctx := t.Context()
	for range 2 {
		if _, err := r.Start(ctx, Trace, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Stop(ctx, Trace); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete("ann", "work-1.zip"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(told, " "); got != "0 1 1 2 1" {
		t.Errorf("told: %s", got)
	}
	if folders := s.Folders(); len(folders) != 1 || folders[0] != folderOf("ann") {
		t.Errorf("%v", folders)
	}
}
