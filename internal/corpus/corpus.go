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
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"github.com/browserd/browserd/internal/untested"
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
		untested.Skip(t, "the shared cases are not beside this checkout: %v", err)
	}
	var pages []Page
	add := func(set, id, html string) { pages = append(pages, Page{set, id, still(t, html)}) }

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

// refers are the attributes that load something or lead away; those that run something
// begin with "on".
var refers = []string{"src", "srcset", "poster", "data", "background", "imagesrcset", "ping", "action", "formaction"}

// still takes out of a page what would change it or load something: both sides are given
// the same, and nothing leaves the machine. It reads tags, since regular expressions over
// all of the pages take half a minute with the race detector.
func still(t testing.TB, page string) string {
	t.Helper()
	var kept strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	for z.Next() != html.ErrorToken {
		raw := string(z.Raw())
		tag := z.Token()
		opens := tag.Type == html.StartTagToken || tag.Type == html.SelfClosingTagToken
		switch {
		case tag.Type == html.CommentToken:
			raw = "<!---->" // it may hold a script
		case opens && tag.DataAtom == atom.Style:
			text := ""
			if z.Next() == html.TextToken {
				text = string(z.Raw())
				z.Next()
			}
			if !strings.Contains(text, "@import") && !strings.Contains(text, "url(") {
				kept.WriteString(raw + text + string(z.Raw()))
			}
			continue
		case tag.DataAtom == atom.Script:
			if opens && z.Next() == html.TextToken {
				z.Next()
			}
			continue
		case tag.DataAtom == atom.Link, tag.DataAtom == atom.Base, tag.DataAtom == atom.Meta && has(tag, "http-equiv"):
			continue
		}
		if all := len(tag.Attr); all > 0 {
			if tag.Attr = slices.DeleteFunc(tag.Attr, active); len(tag.Attr) < all {
				raw = tag.String()
			}
		}
		kept.WriteString(raw)
	}
	if strings.Contains(strings.ToLower(kept.String()), "<script") {
		t.Fatal("a script is left in a page of the corpus")
	}
	return kept.String()
}

func has(tag html.Token, name string) bool {
	return slices.ContainsFunc(tag.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// active reports whether an attribute loads something, runs something or leads away. onclick
// stays: it makes an element clickable.
func active(a html.Attribute) bool {
	return slices.Contains(refers, a.Key) || a.Key == "style" && strings.Contains(a.Val, "url(") ||
		strings.HasPrefix(a.Key, "on") && a.Key != "onclick"
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
