package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Control sequences of a terminal (ECMA-48, and xterm's private modes).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // the other screen, without a cursor; long lines are cut
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	endOfLine   = "\x1b[K\n" // erases what is left of the line
	endOfScreen = "\x1b[J"   // erases all below
)

// watchTable shows the sessions as a table that is drawn again with each event: what
// each is at and did last; below it, the last lines of what watch prints elsewhere. One
// goroutine uses it.
type watchTable struct {
	terminal *os.File
	title    string
	rows     []*watchedSession
	lines    []string // the latest last
	choice   choice
	typed    bool // keys are read: the terminal begins no line by itself
}

// watchedSession is a row of the table.
type watchedSession struct {
	name, url string
	did, came string // the last command, and what came of it
	waits     string // what it waits for; empty: nothing
	runs      string // the command that runs; empty: none
	at        time.Time
}

// keptLines are more than a terminal shows.
const keptLines = 200

func newWatchTable(terminal *os.File, title string, sessions []listedSession) *watchTable {
	t := &watchTable{terminal: terminal, title: title}
	for _, s := range sessions {
		t.rows = append(t.rows, &watchedSession{name: s.Session, url: s.Page.URL})
	}
	return t
}

// session returns a session's row, which it has from now on.
func (t *watchTable) session(name string) *watchedSession {
	for _, s := range t.rows {
		if s.name == name {
			return s
		}
	}
	s := &watchedSession{name: name}
	t.rows = append(t.rows, s)
	return s
}

// event notes an event in its session's row.
func (t *watchTable) event(e protocol.Event, now time.Time) {
	var lines strings.Builder
	writeEvent(&lines, e)
	t.lines = append(t.lines, strings.Split(strings.TrimSuffix(lines.String(), "\n"), "\n")...)
	t.lines = t.lines[max(0, len(t.lines)-keptLines):]
	if e.Session == "" {
		return
	}
	s := t.session(e.Session)
	s.at = now
	if url, _ := e.Fields["url"].(string); url != "" && e.Type == protocol.EventNavigated {
		s.url = url
	}
	switch e.Type {
	case protocol.EventCommand:
		s.command(e.Fields)
	case protocol.EventConfirmationRequested:
		s.waits = fmt.Sprintf("asks: browserd confirm %v", e.Fields["id"])
		t.choice.ask(e, now)
	case protocol.EventDialog:
		s.waits = fmt.Sprintf("a dialog: %v", compact(e.Fields["message"]))
	case protocol.EventSessionClosing:
		t.rows = slices.DeleteFunc(t.rows, func(other *watchedSession) bool { return other == s })
		t.choice.drop(now, func(q question) bool { return q.session == e.Session })
	case protocol.EventNavigated:
	default:
		s.came = e.Type
	}
}

// command notes a command that has ended. Its fields are those of the event.
func (s *watchedSession) command(f map[string]any) {
	effect, _ := f["effect"].(map[string]any)
	if dialog, _ := effect["dialog"].(map[string]any); dialog["answer"] != "open" { // it is told of before its command
		s.waits = ""
	}
	s.did = fmt.Sprint(f["command"])
	if ref, ok := f["ref"].(map[string]any); ok {
		s.did += fmt.Sprintf(" [%v] %s", ref["role"], compact(ref["name"]))
	}
	s.did += fmt.Sprintf(" (%v ms)", f["ms"])
	page, _ := f["page"].(map[string]any)
	if url, _ := page["url"].(string); url != "" {
		s.url = url
	}
	var came []string
	for key := range effect {
		if key != "hit" { // that it reached its element is what a command is for
			came = append(came, strings.ReplaceAll(key, "_", " "))
		}
	}
	slices.Sort(came)
	s.came = strings.Join(came, ", ")
	if f["code"] != "ok" {
		s.came = fmt.Sprint(f["code"])
	}
}

// runs notes what runs in the sessions.
func (t *watchTable) runs(sessions []listedSession) {
	for _, row := range t.rows {
		row.runs = ""
		for _, s := range sessions {
			if s.Session == row.name {
				row.runs = s.Command
			}
		}
	}
}

// begin takes the terminal's other screen; end gives the person's own back.
func (t *watchTable) begin() { io.WriteString(t.terminal, enterScreen) }
func (t *watchTable) end()   { io.WriteString(t.terminal, leaveScreen) }

// draw draws the table anew, in one write, as large as the terminal is now.
func (t *watchTable) draw(now time.Time) error {
	width, height, err := term.GetSize(int(t.terminal.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	end := endOfLine
	if t.typed {
		end = strings.ReplaceAll(end, "\n", "\r\n")
	}
	t.choice.drop(now, func(question) bool { return false })
	_, err = io.WriteString(t.terminal, toTop+strings.Join(t.frame(now, width, height), end)+endOfScreen)
	return err
}

// frame returns what is on the screen: at most so many lines.
func (t *watchTable) frame(now time.Time, width, height int) []string {
	frame := []string{fmt.Sprintf("%s: %d sessions (Ctrl-C ends it)", t.title, len(t.rows)), ""}
	// The widths of the columns; what is left over is the last command's.
	session, url, came := width/6, width/4, width/5
	did := max(10, width-session-url-came-9)
	row := func(cells ...string) {
		line := ""
		for i, w := range []int{session, url, did, came} {
			line += fitted(cells[i], w) + "  "
		}
		frame = append(frame, line+cells[4])
	}
	row("SESSION", "PAGE", "LAST COMMAND", "THEN", "AGO")
	for i, s := range t.rows {
		if len(frame) >= height/2 && len(t.rows)-i > 1 {
			frame = append(frame, fmt.Sprintf("and %d more", len(t.rows)-i))
			break
		}
		ago := ""
		if !s.at.IsZero() {
			ago = now.Sub(s.at).Round(time.Second).String()
		}
		came := s.came
		if s.runs != "" {
			came = "runs: " + s.runs
		}
		if s.waits != "" {
			came = s.waits
		}
		row(s.name, s.url, s.did, came, ago)
	}
	for _, line := range t.choice.lines(height/2, t.typed) {
		frame = append(frame, clipped(snapshot.Literally(line), width))
	}
	frame = append(frame, "")
	room := max(0, height-len(frame))
	return append(frame, t.lines[max(0, len(t.lines)-room):]...)
}

// fitted returns a cell of a width, as one line without control characters.
func fitted(text string, width int) string {
	text = clipped(snapshot.Literally(text), width)
	return text + strings.Repeat(" ", width-utf8.RuneCountInString(text))
}

// sessionsIn returns the sessions of an answer of session_list.
func sessionsIn(answer json.RawMessage) []listedSession {
	var list struct {
		Sessions []listedSession `json:"sessions"`
	}
	if json.Unmarshal(answer, &list) != nil {
		return nil
	}
	return list.Sessions
}
