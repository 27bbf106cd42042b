package actions

import (
	"context"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// Downloads is the command downloads.
var Downloads = command.Define(command.Row{
	Name: "downloads", Summary: "Lists the session's downloads, or reads one.", Main: "name",
	Flags:  command.MCPDefault | command.Unqueued | command.ReadOnly | command.Unconfirmed | command.MCPReadOnly | command.WritesFile,
	Queues: func(params any) bool { return params.(*DownloadsParams).Allow },
	Examples: []command.Example{
		{For: "Lets the session's pages download files from now on", Params: `{"allow": true}`},
		{For: "Waits for a download to end, and reads it", Params: `{"name": "prices.csv", "wait": true}`},
	},
}, downloads)

// DownloadsParams are the parameters of downloads.
type DownloadsParams struct {
	Name     string `json:"name" doc:"the one to read, by its name in entries; left out: only the list"`
	MaxChars int    `json:"max_chars" seldom:"true" default:"4000" min:"4" max:"8000000" doc:"characters of content at most"`
	Offset   int    `json:"offset" seldom:"true" default:"0" min:"0" doc:"byte to begin at: next_offset of the answer before"`
	Wait     bool   `json:"wait" default:"false" doc:"wait until the download, or every one, has ended"`
	Allow    bool   `json:"allow" default:"false" doc:"from now on, keep the files that pages download, which are denied otherwise; waits for the commands before it"`
}

// DownloadsResult is the answer of downloads.
type DownloadsResult struct {
	command.Result
	Entries []protocol.Download `json:"entries"`
	// Content is what the file holds from offset: text as it is, anything else in base64.
	Content    *string `json:"content,omitempty"`
	Encoding   string  `json:"encoding,omitempty"` // text or base64
	Size       int64   `json:"size,omitempty"`     // of the whole file, in bytes
	Truncated  bool    `json:"truncated,omitempty"`
	NextOffset int     `json:"next_offset,omitempty"`
}

func downloads(ctx context.Context, c *command.Call, p *DownloadsParams) (DownloadsResult, error) {
	r := DownloadsResult{Result: command.Result{Session: c.Session.Name()}, Entries: []protocol.Download{}}
	if p.Allow {
		if err := allowDownloads(ctx, c); err != nil {
			return r, err
		}
	}
	page := c.Session.Page()
	if page == nil {
		return r, nil
	}
	r.Page = command.ReportState(c, page)
	live, ok := page.(session.Downloads)
	if !ok {
		return r, nil
	}
	var err error
	if r.Entries, err = live.Downloads(ctx, p.Name, p.Wait); err != nil || p.Name == "" {
		return r, err
	}
	// What the file is, its beginning says, wherever reading goes on.
	head, _, err := live.DownloadContent(p.Name, 0, headBytes)
	if err != nil {
		return r, err
	}
	// A character takes up to four bytes.
	around := c.Runtime.Secrets.RedactContext(c.Caller.Agent)
	before, most := min(p.Offset, around), min(4*p.MaxChars, maxUpload)
	content, size, err := live.DownloadContent(p.Name, int64(p.Offset-before), before+most+around)
	if err != nil {
		return r, err
	}
	content = c.Runtime.Secrets.RedactPart(c.Caller.Agent, content, min(before, len(content)), min(before+most, len(content)))
	text, encoding, taken := "", "base64", 0
	if isText(head) {
		text, taken = textOf(content, p.MaxChars)
		encoding = "text"
	}
	if taken == 0 && len(content) > 0 {
		taken = min(len(content), max(p.MaxChars/4*3, 1))
		text, encoding = base64.StdEncoding.EncodeToString(content[:taken]), "base64"
	}
	r.Content, r.Encoding, r.Size = &text, encoding, size
	if next := p.Offset + taken; int64(next) < size {
		r.Truncated, r.NextOffset = true, next
	}
	return r, nil
}

// allowDownloads lets the session's pages, and those that take their place, download files.
func allowDownloads(ctx context.Context, c *command.Call) error {
	_, live, err := command.Live[session.Downloads](ctx, c)
	if err != nil {
		return err
	}
	if err := live.AllowDownloads(ctx); err != nil {
		return c.Session.DescribeLoss(err)
	}
	c.Session.RecordDownloads()
	return nil
}

// headBytes is how much of a file says whether it is text.
const headBytes = 4096

// isText reports whether a file that begins with head is text: UTF-8 without NUL.
func isText(head []byte) bool {
	text, taken := textOf(head, len(head))
	return !strings.Contains(text, "\x00") && len(head)-taken < utf8.UTFMax
}

// textOf returns the UTF-8 at the beginning of content, at most max characters, and
// how many bytes it is.
func textOf(content []byte, max int) (text string, taken int) {
	for n := 0; taken < len(content) && n < max; n++ {
		r, size := utf8.DecodeRune(content[taken:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		taken += size
	}
	return string(content[:taken]), taken
}
