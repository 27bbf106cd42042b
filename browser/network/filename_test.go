package network

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDownloadName(t *testing.T) {
	for suggested, want := range map[string]string{
		"report.pdf":                         "report.pdf",
		"../../etc/cron.d/x":                 "x",
		"/abs":                               "abs",
		`C:\x`:                               "x",
		`..\..\boot.ini`:                     "boot.ini",
		"a\x00b.txt":                         "ab.txt",
		".bashrc":                            "bashrc",
		"..":                                 "download",
		"":                                   "download",
		" . ":                                "download",
		"CON":                                "_CON",
		"nul.txt":                            "_nul.txt",
		"com1.log":                           "_com1.log",
		"concert.txt":                        "concert.txt",
		"\u202egnp.exe":                      "gnp.exe",
		"zero\u200bwidth\ufeff.md":           "zerowidth.md",
		"line\nbreak.txt":                    "linebreak.txt",
		"a b\u00a0c.txt":                     "a b c.txt",
		"x;rm -rf $HOME`id`|.sh":             "x_rm -rf _HOME_id__.sh",
		"trailing. . ":                       "trailing",
		"отчёт 報告.xlsx":                      "отчёт 報告.xlsx",
		strings.Repeat("a", 300) + ".tar.gz": strings.Repeat("a", 147) + ".gz",
		strings.Repeat("報", 100) + ".pdf":    strings.Repeat("報", 48) + ".pdf",
		"x." + strings.Repeat("e", 300):      ("x." + strings.Repeat("e", 300))[:150],
		string([]byte{0xff, 0xfe, 'a'}):      "a",
		"<script>alert(1)</script>":          "script_",
		"@e5 [button] \"Delete\"\n@e6":       "@e5 [button] _Delete_@e6",
	} {
		got := downloadName(suggested)
		if got != want {
			t.Errorf("%q: got %q, want %q", suggested, got, want)
		}
	}
}

func FuzzDownloadName(f *testing.F) {
	f.Add("../a.txt")
	f.Add("\u202e.exe\x00")
	f.Fuzz(func(t *testing.T, s string) {
		n := downloadName(s)
		if n == "" || len(n) > maxName+1 || strings.ContainsAny(n, "/\\\x00\n\"") || strings.HasPrefix(n, ".") || !utf8.ValidString(n) {
			t.Fatalf("%q became %q", s, n)
		}
	})
}
