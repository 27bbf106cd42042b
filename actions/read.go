package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/web/pdf"
)

// Read is the command read.
var Read = command.Define(command.Row{
	Name: "read", Summary: "Reads an element or the page: as text, Markdown or HTML, its value or attributes.", Main: "ref",
	Flags: command.Reads | command.Static | command.MCPDefault | command.Inspects,
	Examples: []command.Example{
		{For: "Reads the page as Markdown", Params: `{"kind": "markdown"}`},
		{For: "Reads what a field holds", Params: `{"ref": "@e7", "kind": "value"}`},
	},
}, read)

// ReadParams are the parameters of read.
type ReadParams struct {
	Ref      protocol.Target `json:"ref" doc:"the element; left out: the whole page"`
	Kind     string          `json:"kind" default:"text" enum:"text,markdown,html,value,attrs,article,box" doc:"what of it; box: where it is in the viewport, as mouse takes it"`
	Attr     string          `json:"attr" seldom:"true" doc:"one attribute of kind attrs"`
	Pages    string          `json:"pages" seldom:"true" doc:"of a PDF: one page or a range of them, such as 3, 3-5 or 7-"`
	MaxChars int             `json:"max_chars" seldom:"true" default:"4000" min:"1" max:"1000000" doc:"characters of content"`
	Offset   int             `json:"offset" seldom:"true" default:"0" min:"0" doc:"characters to begin after: the next_offset of the last answer"`
}

// ReadResult is the answer of read.
type ReadResult struct {
	command.Result
	Content    string `json:"content"`
	Truncated  bool   `json:"truncated"`
	NextOffset int    `json:"next_offset,omitempty"`
}

func read(ctx context.Context, c *command.Call, p *ReadParams) (ReadResult, error) {
	if p.Attr != "" && p.Kind == "text" {
		p.Kind = "attrs"
	}
	page, err := c.Page(ctx)
	if err != nil {
		return ReadResult{}, err
	}
	if p.Pages != "" && (page.State().Type != protocol.TypePDF || p.Ref != "" || p.Kind != "text") {
		return ReadResult{}, protocol.Errorf(protocol.InvalidParams, "pages: is for the text of a whole PDF").With("parameter", "pages").
			Then("leave pages out, or open a PDF and read it without ref and kind")
	}
	content, err := page.Read(ctx, c.Session.Refs(), string(p.Ref), p.Kind, p.Attr)
	if err != nil {
		return ReadResult{}, c.Session.DescribeLoss(err)
	}
	if p.Pages != "" {
		if content, err = pdf.Range(content, p.Pages); err != nil {
			return ReadResult{}, err
		}
	}
	content = c.Runtime.Secrets.RedactText(c.Caller.Agent, content)
	r := ReadResult{Result: c.Result(page)}
	r.Content, r.NextOffset = part(content, p.Offset, p.MaxChars)
	r.Truncated = r.NextOffset != 0
	switch {
	case content == "":
		r.Note = "there is nothing to read: no " + p.Kind + " is there"
	case r.Content == "":
		r.Note = "the content ends before this offset"
	}
	return r, nil
}

// part returns n characters of s from offset on, and the offset of what
// follows them, 0 if nothing does.
func part(s string, offset, n int) (string, int) {
	r := []rune(s)
	if offset >= len(r) {
		return "", 0
	}
	r = r[offset:]
	if len(r) <= n {
		return string(r), 0
	}
	return string(r[:n]), offset + n
}
