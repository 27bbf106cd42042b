package fetch

import "testing"

func TestMediaType(t *testing.T) {
	for _, c := range []struct{ header, media, charset string }{
		{"text/html", "text/html", ""},
		{"Text/HTML; Charset=ISO-8859-1", "text/html", "iso-8859-1"},
		{`text/html; x=y ; charset = "koi8-r" `, "text/html", "koi8-r"},
		{"text/html;;charset=koi8-r;", "text/html", "koi8-r"},
		{"text/html; charset=koi8-r; charset=utf-8", "text/html", "koi8-r"},
		{"text/html; charset=; charset=koi8-r", "text/html", "koi8-r"},
		{"text/html; charset='koi8-r'", "text/html", "koi8-r"},
		{`text/html; charset="koi8-r`, "text/html", "koi8-r"},
		{"text/html charset=koi8-r", "text/html", ""},
		{"text/html, text/html", "text/html", ""},
		{"text/plain; charset=koi8-r, text/html", "text/plain", "koi8-r"},
		{"html", "", ""}, {"/html", "", ""}, {"text/", "", ""}, {"", "", ""}, {";charset=koi8-r", "", "koi8-r"},
	} {
		if media, charset := MediaType(c.header); media != c.media || charset != c.charset {
			t.Errorf("%q: %q, %q, want %q, %q", c.header, media, charset, c.media, c.charset)
		}
	}
}

// What a page's type says of its charset counts, however it is written.
func TestCharsetOfAnOddContentType(t *testing.T) {
	want := "<p>señor, naïve"
	body := encoded(t, "windows-1252", want)
	for _, odd := range []string{"text/html;;charset=iso-8859-1", "text/html; charset='iso-8859-1'", "text/html; charset=iso-8859-1; charset=utf-8"} {
		if got, name := Text(body, odd); got != want {
			t.Errorf("%s: read as %s: %q", odd, name, got)
		}
	}
}
