package actions

import (
	"bytes"
	"context"
	"encoding/base64"
	"unicode/utf8"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// DownloadsParams are the parameters of downloads.
type DownloadsParams struct {
	Name     string `json:"name" doc:"the one to read, by its name in entries; left out: only the list"`
	MaxChars int    `json:"max_chars" default:"4000" min:"1" max:"8000000" doc:"characters of content at most"`
	Offset   int    `json:"offset" default:"0" min:"0" doc:"byte to begin at: next_offset of the answer before"`
	Wait     bool   `json:"wait" default:"false" doc:"wait until the download, or every one, has ended"`
}

// DownloadsResult is the answer of downloads.
type DownloadsResult struct {
	Result
	Entries []protocol.Download `json:"entries"`
	// Content is what the file holds from offset: text as it is, anything else in base64.
	Content    *string `json:"content,omitempty"`
	Encoding   string  `json:"encoding,omitempty"` // text or base64
	Size       int64   `json:"size,omitempty"`     // of the whole file, in bytes
	Truncated  bool    `json:"truncated,omitempty"`
	NextOffset int     `json:"next_offset,omitempty"`
}

func downloads(ctx context.Context, c *Call, p *DownloadsParams) (DownloadsResult, error) {
	r := DownloadsResult{Result: Result{Session: c.Session.Name()}, Entries: []protocol.Download{}}
	page := c.Session.Page()
	if page == nil {
		return r, nil
	}
	r.Page = c.Session.State(page)
	live, ok := page.(session.Live)
	if !ok {
		return r, nil
	}
	var err error
	if r.Entries, err = live.Downloads(ctx, p.Name, p.Wait); err != nil || p.Name == "" {
		return r, err
	}
	// A character takes up to four bytes.
	content, size, err := live.DownloadContent(p.Name, int64(p.Offset), min(4*p.MaxChars, maxUpload))
	if err != nil {
		return r, err
	}
	text, encoding, taken := shownContent(content, p.MaxChars, int64(p.Offset+len(content)) >= size)
	r.Content, r.Encoding, r.Size = &text, encoding, size
	if next := p.Offset + taken; int64(next) < size {
		r.Truncated, r.NextOffset = true, next
	}
	return r, nil
}

// shownContent is content as text where it is UTF-8 without control characters
// of binary files, otherwise in base64, and how many of its bytes went in.
// whole says that the file ends with it.
func shownContent(content []byte, max int, whole bool) (text, encoding string, taken int) {
	n := 0
	for taken < len(content) && n < max {
		r, size := utf8.DecodeRune(content[taken:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		taken += size
		n++
	}
	rest := len(content) - taken
	torn := !whole && rest < utf8.UTFMax // the last character goes on behind what was read
	if (n == max || rest == 0 || torn) && !bytes.ContainsRune(content[:taken], 0) && (taken > 0 || rest == 0) {
		return string(content[:taken]), "text", taken
	}
	taken = min(len(content), max/4*3)
	if taken == 0 {
		taken = min(len(content), 1)
	}
	return base64.StdEncoding.EncodeToString(content[:taken]), "base64", taken
}
