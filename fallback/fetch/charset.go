package fetch

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// metaWindow is the bytes of a document in which a meta element may declare its charset. The
// HTML standard has 1024; real pages declare it later.
const metaWindow = 64 << 10

// Text decodes a body to UTF-8 and returns it with the name of its charset (Encoding
// Standard). It uses, in this order: a byte order mark; the charset of contentType, the
// Content-Type header; that of the XML declaration or of a meta element in the first 64 KB;
// UTF-8, if all of the body is UTF-8; a guess from its bytes; windows-1252. It skips a
// declared charset in which more than a quarter of the bytes that are not ASCII are
// invalid; so a few invalid bytes do not garble a page. Invalid bytes become U+FFFD. Text
// never fails.
func Text(body []byte, contentType string) (text, name string) {
	if name, n := bom(body); name != "" {
		s, _ := decode(body[n:], name)
		return s, name
	}
	_, said := MediaType(contentType)
	for _, label := range []string{said, declared(body)} {
		_, name := charset.Lookup(strings.TrimSpace(label))
		if name == "" || name == "replacement" {
			continue
		}
		if s, ok := decode(body, name); ok {
			return s, name
		}
	}
	name = detect(body)
	s, _ := decode(body, name)
	return s, name
}

// bom returns the charset of a byte order mark, and its length (Encoding
// Standard, BOM sniff).
func bom(b []byte) (string, int) {
	switch {
	case bytes.HasPrefix(b, []byte{0xEF, 0xBB, 0xBF}):
		return "utf-8", 3
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}):
		return "utf-16be", 2
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}):
		return "utf-16le", 2
	}
	return "", 0
}

// decode decodes b from the charset name, and reports whether b fits it.
func decode(b []byte, name string) (string, bool) {
	// UTF-16 and ISO-2022 are made of bytes that other charsets take as well.
	if other := wide(b); other != "" && other != name || name == "utf-8" && shifts(b) {
		return "", false
	}
	if name == "utf-8" && utf8.Valid(b) {
		return string(b), true
	}
	e, _ := charset.Lookup(name)
	if e == nil {
		e = encoding.Replacement
	}
	out, err := e.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "�"), false
	}
	s := string(out)
	wrong, foreign := 0, 0
	for _, r := range s {
		if r >= 0x80 {
			foreign++
		}
		// The C1 controls stand where a charset has no character.
		if r == utf8.RuneError || r >= 0x80 && r < 0xA0 {
			wrong++
		}
	}
	return s, wrong*4 <= foreign
}

// declared returns the charset that a document declares: the XML declaration's,
// or that of the first meta element that has one (HTML standard, prescan).
func declared(b []byte) string {
	b = b[:min(len(b), metaWindow)]
	if bytes.HasPrefix(b, []byte("<?xml")) {
		head, _, _ := bytes.Cut(b, []byte("?>"))
		if _, rest, ok := bytes.Cut(head, []byte("encoding=")); ok && len(rest) > 1 {
			if label, _, ok := bytes.Cut(rest[1:], rest[:1]); ok {
				return unwide(string(label))
			}
		}
	}
	if !bytes.Contains(bytes.ToLower(b), []byte("<meta")) {
		return ""
	}
	z := html.NewTokenizer(bytes.NewReader(b))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			if name, more := z.TagName(); string(name) == "meta" && more {
				if label := metaCharset(z); label != "" {
					return unwide(label)
				}
			}
		}
	}
}

func metaCharset(z *html.Tokenizer) string {
	var equiv, content, label string
	for more := true; more; {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "charset":
			label = string(v)
		case "http-equiv":
			equiv = string(v)
		case "content":
			content = string(v)
		}
	}
	if label != "" || !strings.EqualFold(equiv, "content-type") {
		return label
	}
	_, rest, ok := strings.Cut(strings.ToLower(content), "charset")
	rest, eq := strings.CutPrefix(strings.TrimSpace(rest), "=")
	if !ok || !eq {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		label, _, _ = strings.Cut(rest[1:], rest[:1])
		return label
	}
	if i := strings.IndexAny(rest, "; \t\n\f\r"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// unwide returns the charset of a label that was found by reading bytes. It cannot be UTF-16,
// which could not have been read (HTML standard, prescan).
func unwide(label string) string {
	switch _, name := charset.Lookup(strings.TrimSpace(label)); name {
	case "utf-16le", "utf-16be":
		return "utf-8"
	case "x-user-defined":
		return "windows-1252"
	}
	return label
}
