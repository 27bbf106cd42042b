package form

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/width"
)

// charset is the encoding of a submission, with its name in the Encoding standard.
type charset struct {
	name string
	enc  encoding.Encoding // nil for UTF-8
}

var utf8 = charset{name: "UTF-8"}

// charsetOf returns the encoding of a form (HTML 4.10.22.5): the first known one of accept,
// else the document's.
func charsetOf(accept, document string) charset {
	for _, label := range append(strings.FieldsFunc(accept, isSpace), document) {
		if cs, ok := lookUp(label); ok {
			return cs
		}
		if trim(accept) != "" && label == document {
			break
		}
	}
	return utf8
}

// lookUp returns the output encoding of a label (Encoding 4.3).
func lookUp(label string) (charset, bool) {
	enc, err := htmlindex.Get(label)
	if err != nil {
		return charset{}, false
	}
	name, err := htmlindex.Name(enc)
	if err != nil || name == "utf-8" || strings.HasPrefix(name, "utf-16") || name == "replacement" {
		return utf8, true
	}
	if proper, ok := properNames[name]; ok {
		name = proper
	}
	return charset{name, enc}, true
}

// properNames are the encodings whose names are not all lower case (Encoding 4.2).
var properNames = map[string]string{
	"ibm866": "IBM866", "iso-8859-2": "ISO-8859-2", "iso-8859-3": "ISO-8859-3", "iso-8859-4": "ISO-8859-4",
	"iso-8859-5": "ISO-8859-5", "iso-8859-6": "ISO-8859-6", "iso-8859-7": "ISO-8859-7", "iso-8859-8": "ISO-8859-8",
	"iso-8859-8-i": "ISO-8859-8-I", "iso-8859-10": "ISO-8859-10", "iso-8859-13": "ISO-8859-13", "iso-8859-14": "ISO-8859-14",
	"iso-8859-15": "ISO-8859-15", "iso-8859-16": "ISO-8859-16", "koi8-r": "KOI8-R", "koi8-u": "KOI8-U", "gbk": "GBK",
	"big5": "Big5", "euc-jp": "EUC-JP", "iso-2022-jp": "ISO-2022-JP", "shift_jis": "Shift_JIS", "euc-kr": "EUC-KR",
}

// bytes encodes s. A character that the encoding does not have becomes &#N; (Encoding 4.1,
// html mode).
func (cs charset) bytes(s string) []byte {
	s = strings.ToValidUTF8(s, "\ufffd")
	if cs.enc == nil {
		return []byte(s)
	}
	if one := legacy[cs.name]; one != nil {
		return cs.each(s, one)
	}
	if cs.name == "ISO-2022-JP" { // 12.2.2: half-width katakana are written as full-width ones
		s = strings.Map(func(r rune) rune {
			if r >= 0xff61 && r <= 0xff9d {
				r = []rune(width.Widen.String(string(r)))[0]
			}
			if r == '−' {
				r = '－'
			}
			return r
		}, s)
	}
	b, err := encoding.HTMLEscapeUnsupported(cs.enc.NewEncoder()).Bytes([]byte(s))
	if err != nil {
		return []byte(s)
	}
	return b
}

// EncodeQuery percent-encodes the characters of a query that are not ASCII, in the charset of
// the document that contains it (URL 4.4, query state). It does not change ASCII
// characters.
func EncodeQuery(query, document string) string {
	cs, ok := lookUp(document)
	if !ok {
		cs = utf8
	}
	var b strings.Builder
	for _, r := range query {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		encoded := cs.bytes(string(r))
		if len(encoded) > 0 && encoded[0] == '&' { // a character that the encoding does not have
			fmt.Fprintf(&b, "%%26%%23%d%%3B", r)
			continue
		}
		for _, c := range encoded {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// crlf converts every line break to CR LF (HTML 4.10.22.4, converting an entry list).
func crlf(s string) string { return strings.ReplaceAll(newlines(s), "\n", "\r\n") }

// text returns the value of an entry for the encodings without files.
func (e entry) text() string {
	if e.file != nil {
		return e.file.Name
	}
	return e.value
}

// urlencoded returns the application/x-www-form-urlencoded serializer (URL 5.2).
func urlencoded(list []entry, cs charset) string {
	var b strings.Builder
	escape := func(s string) {
		for _, c := range cs.bytes(crlf(s)) {
			switch {
			case c == ' ':
				b.WriteByte('+')
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '*', c == '-', c == '.', c == '_':
				b.WriteByte(c)
			default:
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
	}
	for i, e := range list {
		if i > 0 {
			b.WriteByte('&')
		}
		escape(e.name)
		b.WriteByte('=')
		escape(e.text())
	}
	return b.String()
}

// plain returns the text/plain encoding algorithm (HTML 4.10.22.8).
func plain(list []entry, cs charset) []byte {
	var b bytes.Buffer
	for _, e := range list {
		b.Write(cs.bytes(crlf(e.name) + "=" + crlf(e.text()) + "\r\n"))
	}
	return b.Bytes()
}

// multipart returns the multipart/form-data encoding algorithm (HTML 4.10.22.7): a
// name's quotes and line breaks are percent-encoded, nothing else.
func multipart(list []entry, cs charset) (contentType string, body []byte) {
	boundary := "----WebKitFormBoundary" + rand.Text()[:16]
	quoted := strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22")
	var b bytes.Buffer
	for _, e := range list {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"")
		b.Write(cs.bytes(quoted.Replace(crlf(e.name))))
		b.WriteString("\"")
		if e.file == nil {
			b.WriteString("\r\n\r\n")
			b.Write(cs.bytes(crlf(e.value)))
			b.WriteString("\r\n")
			continue
		}
		b.WriteString("; filename=\"")
		b.Write(cs.bytes(quoted.Replace(e.file.Name)))
		b.WriteString("\"\r\nContent-Type: " + mediaType(e.file.Name) + "\r\n\r\n")
		b.Write(e.file.Content)
		b.WriteString("\r\n")
	}
	b.WriteString("--" + boundary + "--\r\n")
	return "multipart/form-data; boundary=" + boundary, b.Bytes()
}
