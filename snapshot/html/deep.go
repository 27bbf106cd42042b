package html

import (
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxDepth is how deep parseDeep nests elements.
const maxDepth = 256

// parseDeep reads what is nested too deep for html.Parse, with the tokenizer
// alone. Down to maxDepth the tree is as the tags say, with the end tags that HTML
// lets be left out; below it what says nothing by itself (div, span) is left out,
// and what does becomes a child of the last element above the limit, with its
// own text. Nothing of the text, no link, heading or control is lost. The error is
// the reader's.
func parseDeep(text io.Reader) (*html.Node, error) {
	root := &html.Node{Type: html.DocumentNode}
	b := deepBuilder{html: element("html", nil), body: element("body", nil), head: element("head", nil)}
	root.AppendChild(b.html)
	b.html.AppendChild(b.head)
	b.html.AppendChild(b.body)
	b.open = []deepOpen{{node: b.body, into: b.body}}
	z := html.NewTokenizer(text)
	for {
		switch z.Next() {
		case html.ErrorToken:
			b.said()
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			return root, nil
		case html.TextToken:
			b.say(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			b.start(z.Token())
		case html.EndTagToken:
			name, _ := z.TagName()
			b.end(string(name))
		}
	}
}

func element(tag string, attrs []html.Attribute) *html.Node {
	return &html.Node{Type: html.ElementNode, Data: tag, DataAtom: atom.Lookup([]byte(tag)), Attr: attrs}
}

// deepOpen is an open element: the node that stands for it, which where it was
// left out is that of what is around it, and the node its children go to.
type deepOpen struct {
	node  *html.Node
	into  *html.Node
	below int // levels below the limit
}

type deepBuilder struct {
	html, head, body *html.Node
	open             []deepOpen
	tags             []string // of open[1:]

	// Text that goes on in one node, whatever is left out in between, is put together once.
	texts *html.Node
	text  strings.Builder
}

func (b *deepBuilder) top() deepOpen { return b.open[len(b.open)-1] }

func (b *deepBuilder) say(s string) {
	at := b.top().node
	last := at.LastChild
	if last == nil || last.Type != html.TextNode {
		if at == b.body && strings.TrimSpace(s) == "" {
			return
		}
		last = &html.Node{Type: html.TextNode}
		at.AppendChild(last)
	}
	if last != b.texts {
		b.said()
		b.texts = last
		b.text.WriteString(last.Data)
	}
	b.text.WriteString(s)
}

// said gives the text that was put together to its node.
func (b *deepBuilder) said() {
	if b.texts != nil {
		b.texts.Data = b.text.String()
		b.texts = nil
	}
	b.text.Reset()
}

// plain are the elements that say nothing by themselves.
var plain = words("div span font b i u big small center tt strong em a-x p section article blockquote dl ul ol ins del s nobr")

// inner are what stays within what it belongs to, also below the limit, so that a
// label has its control, a select its options and a link its picture.
var inner = words("img input select textarea button option optgroup svg title summary caption legend figcaption tr td th tbody")

const maxBelow = 4

var deepHead = words("title meta link base style")

var voids = words("area base br col embed hr img input link meta param source track wbr basefont bgsound frame keygen")

// closes are the open elements that a start tag ends where one is the nearest
// of its scope (HTML, 13.1.2.4, optional tags).
var closes = map[string]struct{ ends, until map[string]bool }{
	"li":     {words("li p"), words("ul ol menu")},
	"dt":     {words("dt dd p"), words("dl")},
	"dd":     {words("dt dd p"), words("dl")},
	"option": {words("option"), words("select datalist")},
	"tr":     {words("tr td th p"), words("table")},
	"td":     {words("td th p"), words("table tr")},
	"th":     {words("td th p"), words("table tr")},
	"a":      {words("a"), words("table td th")},
	"button": {words("button"), words("table td th")},
}

func (b *deepBuilder) start(t html.Token) {
	switch t.Data {
	case "html", "body", "head":
		n := map[string]*html.Node{"html": b.html, "body": b.body, "head": b.head}[t.Data]
		for _, a := range t.Attr {
			if !has(n, a.Key) {
				n.Attr = append(n.Attr, a)
			}
		}
		return
	}
	if c, ok := closes[t.Data]; ok {
		for i := len(b.tags) - 1; i >= 0 && i >= len(b.tags)-maxDepth && !c.until[b.tags[i]]; i-- {
			if c.ends[b.tags[i]] {
				b.close(i)
			}
		}
	}
	if deepHead[t.Data] && len(b.tags) == 0 && b.body.FirstChild == nil {
		n := element(t.Data, t.Attr)
		b.head.AppendChild(n)
		if !voids[t.Data] {
			b.push(t.Data, deepOpen{node: n, into: n})
		}
		return
	}
	top := b.top()
	deep := len(b.tags) >= maxDepth
	if deep && plain[t.Data] {
		b.push(t.Data, top)
		return
	}
	n := element(t.Data, t.Attr)
	below := 0
	if deep {
		below = 1
	}
	if deep && inner[t.Data] && top.below > 0 && top.below < maxBelow {
		top.node.AppendChild(n)
		below = top.below + 1
	} else {
		top.into.AppendChild(n)
	}
	if voids[t.Data] || t.Type == html.SelfClosingTagToken && (t.Data == "path" || t.Data == "circle") {
		return
	}
	into := n
	if deep {
		into = top.into
	}
	b.push(t.Data, deepOpen{n, into, below})
}

func (b *deepBuilder) push(tag string, o deepOpen) {
	b.tags = append(b.tags, tag)
	b.open = append(b.open, o)
}

func (b *deepBuilder) close(i int) {
	b.tags = b.tags[:i]
	b.open = b.open[:i+1]
}

// end closes the nearest open element with that tag. It looks so far that a
// million stray end tags in a million open elements cost no square.
func (b *deepBuilder) end(tag string) {
	for i := len(b.tags) - 1; i >= 0 && i >= len(b.tags)-maxDepth; i-- {
		if b.tags[i] == tag {
			b.close(i)
			return
		}
	}
}
