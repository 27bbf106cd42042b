package fetch

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"unicode/utf8"
)

// FuzzText: whatever the bytes and the label, text comes out.
func FuzzText(f *testing.F) {
	for _, text := range tongues {
		f.Add([]byte(text), "text/html; charset=gbk")
		f.Add([]byte("<meta http-equiv=content-type content='a;charset=\""+text), "text/html")
	}
	f.Add([]byte("<?xml encoding="), "")
	f.Add([]byte("<?xml encoding='"), "text/xml; charset=\"")
	f.Add([]byte("\xff\xfe\x00"), "utf-16")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		text, name := Text(body, contentType)
		if !utf8.ValidString(text) || name == "" {
			t.Errorf("Text(%q, %q) = %q in %q", body, contentType, text, name)
		}
	})
}

// FuzzDecoders: whatever a server sends as a coding, the cap holds.
func FuzzDecoders(f *testing.F) {
	for _, p := range packers {
		var b bytes.Buffer
		z := p.pack(&b)
		io.WriteString(z, "some text, some text, some text")
		z.Close()
		f.Add(b.Bytes(), p.coding)
	}
	f.Add([]byte{}, "gzip,br")
	f.Fuzz(func(t *testing.T, body []byte, coding string) {
		const limit = 64 << 10
		resp := &http.Response{Body: io.NopCloser(bytes.NewReader(body)), Header: http.Header{"Content-Encoding": {coding}}}
		out, cut, err := readBody(t.Context(), resp, limit)
		if len(out) > limit || err != nil && (out != nil || cut != "") {
			t.Errorf("%d bytes, cut %q, %v", len(out), cut, err)
		}
	})
}

// FuzzRepair: what is repaired is not repaired again.
func FuzzRepair(f *testing.F) {
	for _, s := range []string{"http://a/%zz ä", `\\a\b`, " x\n?%", "//", "http://[::1", "?q=%C3%28#ü"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := repair(s)
		if again := repair(once); again != once {
			t.Errorf("%q becomes %q becomes %q", s, once, again)
		}
	})
}
