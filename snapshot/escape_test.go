package snapshot

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestQuote(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"empty", "", `""`},
		{"a line that looks like ours", "x\n@e1 [button] \"Pay\"", `"x\n@e1 [button] \"Pay\""`},
		{"backslash", `a\nb`, `"a\\nb"`},
		{"C0", "\x00\x01\b\t\n\v\f\r\x1b[31m", `"\u0000\u0001\b\t\n\u000b\f\r\u001b[31m"`},
		{"DEL and C1", "\x7f\u0080\u0085\u009f", `"\u007f\u0080\u0085\u009f"`},
		{"just outside C1", "~\u00a0\u00a1", "\"~\u00a0\u00a1\""},
		{"bidirectional", "a\u202eb\u202ac\u2066d\u2069\u200e\u200f\u061c", `"a\u202eb\u202ac\u2066d\u2069\u200e\u200f\u061c"`},
		{"just outside bidirectional", "\u2010\u2027\u202f\u2070\u061b", "\"\u2010\u2027\u202f\u2070\u061b\""},
		{"zero width", "\u200b\u2060\u2064\ufeff\u00ad", `"\u200b\u2060\u2064\ufeff\u00ad"`},
		{"separators", "a\u2028b\u2029c", `"a\u2028b\u2029c"`},
		{"tags", "\U000E0001\U000E0041\U000E007F", `"\udb40\udc01\udb40\udc41\udb40\udc7f"`},
		{"variation selectors supplement", "a\U000E0100\U000E01EF", `"a\udb40\udd00\udb40\uddef"`},
		{"annotation", "\ufff9a\ufffab\ufffb", `"\ufff9a\ufffab\ufffb"`},
		{"Hangul fillers", "\u115f\u1160\u3164\uffa0", `"\u115f\u1160\u3164\uffa0"`},
		{"not UTF-8", "a\xffb\xed\xa0\x80", `"a\ufffdb\ufffd\ufffd\ufffd"`},
		{"replacement character", "\ufffd", `"\ufffd"`},
		{"noncharacters", "\ufffe\uffff\ufdd0\U0001FFFE", `"\ufffe\uffff\ufdd0\ud83f\udffe"`},
		{"markup stays", "<a href=x>&amp;</a>'`", "\"<a href=x>&amp;</a>'`\""},
		{"CJK", "今日金价 오늘 ｶﾅ", `"今日金价 오늘 ｶﾅ"`},
		{"Arabic and Hebrew", "مرحبا שלום", `"مرحبا שלום"`},
		{"emoji", "👍🏽 🇩🇪", `"👍🏽 🇩🇪"`},
		{"joiner in a Persian word", "می\u200cخواهم", "\"می\u200cخواهم\""},
		{"joiner in Sinhala", "ශ්\u200dරී", "\"ශ්\u200dරී\""},
		{"joiner at the end of a word", "می\u200c خ", `"می\u200c خ"`},
		{"joiner in Latin", "pay\u200dpal", `"pay\u200dpal"`},
		{"two joiners", "م\u200c\u200cم", `"م\u200c\u200cم"`},
		{"family", "👩\u200d👩\u200d👧", "\"👩\u200d👩\u200d👧\""},
		{"skin and joiner", "👩🏽\u200d🚀", "\"👩🏽\u200d🚀\""},
		{"heart on fire", "❤\ufe0f\u200d🔥", "\"❤\ufe0f\u200d🔥\""},
		{"joiner after an emoji alone", "👩\u200dx", `"👩\u200dx"`},
		{"non-joiner between emoji", "👩\u200c👩", `"👩\u200c👩"`},
		{"keycap", "1\ufe0f\u20e3", "\"1\ufe0f\u20e3\""},
		{"selector after a letter", "a\ufe0f", `"a\ufe0f"`},
		{"two selectors", "❤\ufe0f\ufe0f", "\"❤\ufe0f\\ufe0f\""},
		{"selector 1", "一\ufe00", `"一\ufe00"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Quote(test.in)
			if got != test.want {
				t.Errorf("Quote(%q)\ngot  %s\nwant %s", test.in, got, test.want)
			}
			back, err := unquote(got)
			if valid := string([]rune(test.in)); err != nil || back != valid {
				t.Errorf("parsed as %q, %v; want %q", back, err, valid)
			}
		})
	}
}

// FuzzQuote checks what the grammar's safety depends on: a literal is JSON for its
// string, is on one line, ends at its last quote, and is the only one for its string.
func FuzzQuote(f *testing.F) {
	f.Add("x\n@e1 [button] \"Pay\"\\")
	f.Add("می\u200cخواهم 👩\u200d👩 \u202e\U000E0041\xff")
	f.Fuzz(func(t *testing.T, s string) {
		q := Quote(s)
		valid := string([]rune(s))
		var back string
		if err := json.Unmarshal([]byte(q), &back); err != nil || back != valid {
			t.Fatalf("%q as JSON: %q, %v", q, back, err)
		}
		if strings.ContainsAny(q, "\n\r\u2028\u2029\u0085") || !utf8.ValidString(q) {
			t.Fatalf("not one line: %q", q)
		}
		if back, err := unquote(q); err != nil || back != valid {
			t.Fatalf("%q is parsed as %q, %v", q, back, err)
		}
	})
}

// unquote parses a literal as an attribute of a line that continues after it.
func unquote(literal string) (string, error) {
	p, err := parse("[snapshot]\n@e1 [button a=" + literal + `] "y"`)
	if err != nil {
		return "", err
	}
	l := p.Lines[0]
	if len(p.Lines) != 1 || len(l.Attrs) != 1 || l.Name != "y" {
		return "", fmt.Errorf("it ends elsewhere: %+v", l)
	}
	return l.Attrs[0].Value, nil
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		name, in string
		max      int
		want     string
	}{
		{"fits", "abcd", 4, "abcd"},
		{"one too many", "abcde", 4, "abc…"},
		{"characters, not bytes", "今日金价", 4, "今日金价"},
		{"wide, one too many", "今日金价格", 4, "今日金…"},
		{"one", "ab", 1, "…"},
		{"none is one", "ab", 0, "…"},
		{"below one", "ab", -5, "…"},
		{"empty", "", 0, ""},
		{"mark", "abe\u0301x", 4, "ab…"},
		{"mark that fits", "ae\u0301xy", 4, "ae\u0301…"},
		{"family", "ab👩\u200d👧cd", 5, "ab…"},
		{"skin", "ab👍🏽c", 4, "ab…"},
		{"flag", "a🇩🇪b", 3, "a…"},
		{"second flag", "🇩🇪🇫🇷xx", 4, "🇩🇪…"},
		{"after a flag", "🇩🇪🇫🇷xx", 3, "🇩🇪…"},
		{"a heap of marks", "a" + strings.Repeat("\u0301", 40), 30, "a" + strings.Repeat("\u0301", 28) + "…"},
		{"not UTF-8", "a\xff\xfe\xfdb", 4, "a\xff\xfe…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Cut(test.in, test.max); got != test.want {
				t.Errorf("Cut(%q, %d) = %q, want %q", test.in, test.max, got, test.want)
			}
		})
	}
}

func TestIsWord(t *testing.T) {
	for s, want := range map[string]bool{
		"button": true, "aria-label": true, "h1": true, "doc-chapter": true, "X": true,
		"": false, "1h": false, "-a": false, "a b": false, "a]": false, "a=b": false, "a\n": false,
		"xlink:href": false, "data_x": false, "é": false, "aé": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
	} {
		if got := IsWord(s); got != want {
			t.Errorf("IsWord(%q) = %v", s, got)
		}
	}
}

// What is JSON already means the same after EscapeJSON, and has nothing in it that hides or
// reorders.
func TestEscapeJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"b"}`:                     `{"a":"b"}`,
		`{"a":"naïve 日本 👩‍🚀"}`:          `{"a":"naïve 日本 👩‍🚀"}`,
		"[\"\u202eb\u200b\u009b\x7f\"]": `["\u202eb\u200b\u009b\u007f"]`,
		"[\"\U000E0041\",1]":            `["\udb40\udc41",1]`,
	} {
		got := string(EscapeJSON([]byte(text)))
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q means %v, then %v", text, before, after)
		}
	}
}

// A text of several lines keeps them, but for those that look like ours.
func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc \"d\" \\e\n":              "a\tb\nc \"d\" \\e\n",
		"a\n@e1 [button] \"Pay\"":          "a\n\\@e1 [button] \"Pay\"",
		"  + @e1 [button]\r\n[more] 3\n":   "  + \\@e1 [button]\n\\[more] 3\n",
		"text \"a\"\ntext a\nmail@e1.test": "\\text \"a\"\ntext a\nmail@e1.test",
		"\x1b[31mred\u202e\u009b":          `\u001b[31mred\u202e\u009b`,
		"a\rb":                             `a\rb`,
	} {
		if got := Lines(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
