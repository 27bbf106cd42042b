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

// parseDeep parses HTML that is nested too deep for html.Parse, with the tokenizer alone. Down
// to maxDepth the tree follows the tags, with optional end tags. Below it, elements without
// a meaning of their own (div, span) are left out, and others become children of the last
// element above the limit, with their own text. No text, link, heading or control is lost.
// The error is the reader's.
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
			b.flushText()
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			return root, nil
		case html.TextToken:
			b.addText(string(z.Text()))
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

// deepOpen is an open element: its node, or that of its parent if it was left out, and the
// node to which its children are added.
type deepOpen struct {
	node  *html.Node
	into  *html.Node
	below int // levels below the limit
}

type deepBuilder struct {
	html, head, body *html.Node
	open             []deepOpen
	tags             []string // of open[1:]

	// The text for one node. Elements left out do not divide it.
	texts *html.Node
	text  strings.Builder
}

func (b *deepBuilder) top() deepOpen { return b.open[len(b.open)-1] }

func (b *deepBuilder) addText(s string) {
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
		b.flushText()
		b.texts = last
		b.text.WriteString(last.Data)
	}
	b.text.WriteString(s)
}

// flushText sets the text of its node.
func (b *deepBuilder) flushText() {
	if b.texts != nil {
		b.texts.Data = b.text.String()
		b.texts = nil
	}
	b.text.Reset()
}

// plain are the elements without a meaning of their own.
var plain = words("div span font b i u big small center tt strong em a-x p section article blockquote dl ul ol ins del s nobr")

// inner are elements that stay in their parent below the limit too, so that a label has its
// control, a select its options and a link its picture.
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

// end closes the nearest open element with that tag. It checks at most maxDepth elements, so
// that a million stray end tags in a million open elements do not take quadratic time.
func (b *deepBuilder) end(tag string) {
	for i := len(b.tags) - 1; i >= 0 && i >= len(b.tags)-maxDepth; i-- {
		if b.tags[i] == tag {
			b.close(i)
			return
		}
	}
}
