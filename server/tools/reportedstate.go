package tools

import (
	"fmt"
	"strings"
	"sync"

	"github.com/browserd/browserd/snapshot"
)

// ReportedState is what the answers of one conversation have said about its sessions and pages, so that an
// answer says it again only if it has changed. The zero value means that nothing was said. Any goroutine may
// use it.
type ReportedState struct {
	mu sync.Mutex
	// Session is the session of the last answer.
	Session string `json:"session"`
	// Pages are the pages of the last answers, by session; at most maxNamed.
	Pages map[string]ReportedPage `json:"pages"`
}

// ReportedPage is what an answer says about a page.
type ReportedPage struct {
	Tab      string `json:"tab"`
	Document int    `json:"document"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Source   string `json:"source"`
}

// locationLine returns the line that says which session and page the answer is about, without what earlier
// answers have said. It leaves out the URL and the title if a snapshot's header has them. With a nil
// ReportedState, protocol.Page.Told says whether the client was told before.
func (b *ReportedState) locationLine(t resultParts) string {
	alone := b != nil
	if !alone {
		b = &ReportedState{}
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
	now := ReportedPage{t.Page.Tab, t.Page.Document, t.Page.URL, t.Page.Title, t.Page.Status, t.Page.Source}
	if t.Page.Told {
		before = now
	}
	header, _, _ := strings.Cut(t.snapshotText(), "\n")
	inHeader := strings.Contains(header, " url=") // else the header was too long for it
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
		b.Pages = map[string]ReportedPage{}
	}
	b.Pages[t.Session] = now
	return strings.Join(words, " ")
}

func (t resultParts) snapshotText() string {
	if t.Snapshot == nil {
		return ""
	}
	return t.Snapshot.Text
}
