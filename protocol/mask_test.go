package protocol

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"https://example.com/a?q=1":                          "https://example.com/a?q=1",
		"https://user:pw@example.com/a":                      "https://***@example.com/a",
		"https://example.com/?access_token=abc&q=x#id":       "https://example.com/?access_token=***&q=x#id",
		"https://example.com/cb?code=abc&state=x":            "https://example.com/cb?code=***&state=x",
		"https://example.com/#access_token=abc&type=bearer":  "https://example.com/#access_token=***&type=bearer",
		"https://example.com/?api%5Fkey=abc":                 "https://example.com/?api%5Fkey=***",
		"https://example.com/a@b?next=https://u:p@h/&sid=77": "https://example.com/a@b?next=https://u:p@h/&sid=***",
		"about:blank": "about:blank",
		"data:,x":     "data:,x",
	} {
		if got := MaskURL(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"password": "a\"b", "name": "x", "pin": 1234}`:   `{"password": "***", "name": "x", "pin": "***"}`,
		`user=x&password=abc&go=1`:                         `user=x&password=***&go=1`,
		`Authorization: Bearer abcdefghijkl`:               `Authorization: Bearer ***`,
		`sent token=abc to https://example.com/?a=b&sig=9`: `sent token=*** to https://example.com/?a=b&sig=***`,
		`nothing = here`:                                   `nothing = here`,
		`{"token":"torn`:                                   `{"token":"***"`,
		`"": "x" : =`:                                      `"": "x" : =`,
		`key=`:                                             `key=`,
	} {
		if got := MaskText(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	for name, secret := range map[string]bool{
		"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "Set-Cookie": true, "X-Api-Key": true, "X-CSRF-Token": true, "X-Auth": true,
		"Content-Type": false, "Accept": false, "Cache-Control": false, "Keep-Alive": false,
	} {
		if got := MaskHeader(name, "v") == Masked; got != secret {
			t.Errorf("%s: masked %t, want %t", name, got, secret)
		}
	}
}

func FuzzMaskText(f *testing.F) {
	f.Add(`{"token": "x"}`)
	f.Add(`a=b&sid=9 basic abcdefghijkl`)
	f.Add(strings.Repeat(`"`, 300) + ":")
	f.Fuzz(func(t *testing.T, s string) {
		if once := MaskText(s); utf8.ValidString(s) && !utf8.ValidString(once) {
			t.Fatalf("%q became %q", s, once)
		}
	})
}

// A page decides what it writes to its console: no text takes long.
func BenchmarkMaskText(b *testing.B) {
	for _, unit := range []string{"x", "a=", `":`, `"token":`, "basic "} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		b.Run(unit, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				MaskText(text)
			}
		})
	}
}
