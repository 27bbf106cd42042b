package tools

import (
	"fmt"
	"strings"
	"sync"

	"github.com/browserd/browserd/snapshot"
)

// Told is what one conversation was told about where it is, so that an answer says it again
// only where it is something else. The zero Told was told nothing. Any goroutine may use it.
type Told struct {
	mu sync.Mutex
	// Session is the one of the last answer.
	Session string `json:"session"`
	// Pages are the pages of the last answers, by their sessions; maxNamed at most.
	Pages map[string]Place `json:"pages"`
}

// Place is a page as an answer says where it is.
type Place struct {
	Tab      string `json:"tab"`
	Document int    `json:"document"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Source   string `json:"source"`
}

// where says which session and page the answer is about, as far as that is new. A snapshot's
// header has the URL and the title already. A nil Told knows nothing: then the page says whether the
// client was told.
func (b *Told) where(t told) string {
	alone := b != nil
	if !alone {
		b = &Told{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var words []string
	if t.Session != "" && t.Session != b.Session {
		b.Session = t.Session
		words = append(words, "session="+t.Session)
	}
	if t.Page == nil {
		return strings.Join(words, " ")
	}
	before := b.Pages[t.Session]
	now := Place{t.Page.Tab, t.Page.Document, t.Page.URL, t.Page.Title, t.Page.Status, t.Page.Source}
	if t.Page.Told {
		before = now
	}
	header, _, _ := strings.Cut(t.snapshotText(), "\n")
	inHeader := strings.Contains(header, " url=") // else there was no room for it
	unsaid := t.Snapshot == nil || !alone && !inHeader
	if now.Tab != before.Tab {
		words = append(words, "tab="+now.Tab)
	}
	if unsaid && now.URL != before.URL {
		words = append(words, "url="+snapshot.Quote(now.URL))
	}
	if unsaid && now.Title != before.Title {
		words = append(words, "title="+snapshot.Quote(now.Title))
	}
	if now.Document != before.Document || now.Status != before.Status {
		words = append(words, fmt.Sprint("status=", now.Status))
	}
	if now.Source != before.Source {
		words = append(words, "source="+now.Source)
	}
	if t.Page.Ready != "complete" {
		words = append(words, "ready="+t.Page.Ready)
	}
	if t.Snapshot != nil && !inHeader {
		now.URL, now.Title = before.URL, before.Title
	}
	if b.Pages == nil || len(b.Pages) >= maxNamed {
		b.Pages = map[string]Place{}
	}
	b.Pages[t.Session] = now
	return strings.Join(words, " ")
}

func (t told) snapshotText() string {
	if t.Snapshot == nil {
		return ""
	}
	return t.Snapshot.Text
}
