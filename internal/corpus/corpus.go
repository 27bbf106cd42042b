// Package corpus reads the HTML with which the roles, names and states of the live page
// (browser/script) and of the static page (snapshot/html) are compared: the shared cases,
// the real pages among them, and the pages of browser/testdata/walk. Tests alone use it.
package corpus

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

// Page is one document.
type Page struct {
	Set  string // names, behaviour, widgets, real or walk
	ID   string
	HTML string
}

// Pages returns the whole corpus. root is the path of the repository from the test's
// directory; the shared cases lie beside the repository, and where they are not there the
// test is skipped.
func Pages(t testing.TB, root string) []Page {
	t.Helper()
	cases := filepath.Join(root, "../shared/cases")
	if _, err := os.Stat(cases); err != nil {
		t.Skip("the shared cases are not beside this checkout: ", err)
	}
	var pages []Page
	add := func(set, id, html string) { pages = append(pages, Page{set, id, still(html)}) }

	var names []struct{ ID, HTML string }
	read(t, filepath.Join(cases, "accname.json"), &names)
	for _, c := range names {
		add("names", c.ID, "<!doctype html><html><head><title>case</title></head><body>"+c.HTML+"</body></html>")
	}
	for _, set := range []string{"behaviour", "widgets"} {
		var list []struct{ ID, Page, Raw string }
		read(t, filepath.Join(cases, set+".json"), &list)
		for _, c := range list {
			html := c.Raw
			if html == "" {
				html = "<!doctype html><title>case</title>" + c.Page
			}
			add(set, c.ID, html)
		}
	}
	var real []struct {
		ID, File    string
		ContentType string `json:"ctype"`
	}
	read(t, filepath.Join(cases, "static/index.json"), &real)
	for _, c := range real {
		add("real", c.ID, text(t, filepath.Join(cases, "static", c.File), c.ContentType))
	}
	walked, err := filepath.Glob(filepath.Join(root, "browser/testdata/walk/*.html"))
	if err != nil || len(walked) == 0 {
		t.Fatal("no pages in browser/testdata/walk: ", err)
	}
	for _, file := range walked {
		html, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(html), "<?xml") {
			continue // the static page is HTML alone
		}
		add("walk", strings.TrimSuffix(filepath.Base(file), ".html"), string(html))
	}
	return pages
}

var (
	active = regexp.MustCompile(`(?is)<script\b.*?</script\s*>|<link\b[^>]*>|<meta\b[^>]*http-equiv[^>]*>|<base\b[^>]*>`)
	refers = regexp.MustCompile(`(?is)\s(src|srcset|poster|data|background|on\w+|style|imagesrcset|ping|action|formaction)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)`)
	sheets = regexp.MustCompile(`(?is)<style\b.*?</style\s*>`)
)

// still takes out of a page what would change it or load something: both sides are given
// the same, and nothing leaves the machine.
func still(html string) string {
	html = active.ReplaceAllString(html, "")
	html = refers.ReplaceAllStringFunc(html, func(s string) string {
		m := refers.FindStringSubmatch(s)
		switch name := strings.ToLower(m[1]); {
		case name == "style" && !strings.Contains(m[2], "url("), strings.HasPrefix(name, "onclick"):
			return s
		}
		return ""
	})
	return sheets.ReplaceAllStringFunc(html, func(s string) string {
		if strings.Contains(s, "@import") || strings.Contains(s, "url(") {
			return ""
		}
		return s
	})
}

func read(t testing.TB, file string, v any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("reading the corpus: %s: %w", file, err))
	}
}

// text returns the text of a compressed page, by its own bytes and its label.
func text(t testing.TB, file, contentType string) string {
	t.Helper()
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	r, err := charset.NewReader(unpacked, contentType)
	if err != nil {
		t.Fatal(err)
	}
	html, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}
