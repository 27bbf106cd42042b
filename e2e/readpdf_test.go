package e2e_test

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// letter is a page that Chromium prints to two pages.
const letter = `<h1>Quarterly report</h1><p>Revenue rose by 12&nbsp;%, says the office of the chair.</p>
<p lang=he dir=rtl>שלום עולם</p><p lang=ru>Годовой отчёт</p>
<div style="break-before:page"><p>The second page ends it.</p></div>`

// A PDF is read as a page of its text, whoever fetches it; its bytes stay to be had.
func TestPDF(t *testing.T) {
	t.Parallel()
	// With the race detector PDFium would be compiled for a minute.
	bin, err := testdaemon.PlainBinary()
	if err != nil {
		t.Fatal(err)
	}
	d := testdaemon.Start(t, testdaemon.Options{Binary: bin})
	w := newPageServer(t)
	w.serve("/letter", page("A letter", letter), "")
	w.serve("/links", page("Links", `<a href="/letter.pdf">The letter</a>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/letter")
	var printed struct {
		PDF []byte `json:"pdf"`
	}
	if err := a.c.Call(t.Context(), "pdf", params{}, &printed); err != nil {
		t.Fatal(err)
	}
	serve := func(path, disposition string, body []byte) {
		w.mux.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "application/pdf")
			if disposition != "" {
				rw.Header().Set("Content-Disposition", disposition)
			}
			rw.Write(body)
		})
	}
	serve("/letter.pdf", "", printed.PDF)
	serve("/attached", `attachment; filename="letter.pdf"`, printed.PDF)
	serve("/damaged.pdf", "", []byte("%PDF-1.7\nnothing"))
	var shown []string
	for _, source := range []string{"chromium", "http"} {
		a := newAgent(t, d)
		a.do("session_open", params{"source": source})
		for _, path := range []string{"/letter.pdf", "/attached"} {
			got := a.do("open", params{"url": w.URL + path})
			if got.Page.Type != protocol.TypePDF || got.Page.URL != w.URL+path || got.Page.Source != source || got.Page.Status != 200 || got.Page.Title != "A letter" {
				t.Errorf("%s: the page of %s is %+v", source, path, got.Page)
			}
			text := got.Snapshot.Text
			for _, want := range []string{`"[page 1]"`, "Quarterly report", "Revenue rose by 12", "שלום עולם", "Годовой отчёт", `"[page 2]"`, "The second page ends it."} {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %s: no %s in\n%s", source, path, want, text)
				}
			}
			if e := got.Effect; len(e.DownloadsDenied) > 0 || len(e.RequestsFailed) > 0 || len(e.ConsoleErrors) > 0 {
				t.Errorf("%s: %s: the effect is %+v", source, path, e)
			}
			_, lines, _ := strings.Cut(text, "\n")
			shown = append(shown, regexp.MustCompile(`@e\d+ `).ReplaceAllString(lines, ""))
		}
		var read struct {
			Content string `json:"content"`
		}
		if err := a.c.Call(t.Context(), "read", params{"pages": "2"}, &read); err != nil || strings.Join(strings.Fields(read.Content), " ") != "[page 2] The second page ends it." {
			t.Errorf("%s: read of page 2: %q, %v", source, read.Content, err)
		}
		a.refused("read", params{"pages": "3"}, protocol.InvalidParams)
		a.refused("open", params{"url": w.URL + "/damaged.pdf"}, protocol.Unsupported)
		// The page before is there, and a page after it is an ordinary one.
		if got := a.do("snapshot", params{}); got.Page.Type != protocol.TypePDF {
			t.Errorf("%s: after a PDF that cannot be read: %+v", source, got.Page)
		}
		if got := a.do("open", params{"url": w.URL + "/links"}); got.Page.Type != "" {
			t.Errorf("%s: an ordinary page is %+v", source, got.Page)
		}
		a.refused("read", params{"pages": "1"}, protocol.InvalidParams)
		if got := a.do("back", params{}); got.Page.Type != protocol.TypePDF || got.Page.URL != w.URL+"/attached" {
			t.Errorf("%s: back to a PDF: %+v", source, got.Page)
		}
		if got := a.do("reload", params{}); got.Page.Type != protocol.TypePDF {
			t.Errorf("%s: a PDF loaded again: %+v", source, got.Page)
		}
	}
	for _, lines := range shown[1:] {
		if diff := cmp.Diff(shown[0], lines); diff != "" {
			t.Errorf("the same PDF gives other lines:\n%s", diff)
		}
	}
	t.Run("web_fetch", func(t *testing.T) {
		type fetched struct {
			Title, Content, Encoding string
			ContentType              string `json:"content_type"`
		}
		fetch := func(p params) (f fetched) {
			p["url"] = w.URL + "/letter.pdf"
			if err := a.c.Call(t.Context(), "web_fetch", p, &f); err != nil {
				t.Errorf("%v: %v", p, err)
			}
			return f
		}
		for _, source := range []string{"auto", "http", "chromium"} {
			if f := fetch(params{"source": source}); !strings.HasPrefix(f.Content, "[page 1]\n") || !strings.Contains(f.Content, "\n[page 2]\n") || f.ContentType != "application/pdf" {
				t.Errorf("from %s: %+v", source, f)
			}
		}
		if f := fetch(params{"pages": "2-"}); f.Content != "[page 2]\nThe second page ends it." || f.Title != "A letter" {
			t.Errorf("page 2: %+v", f)
		}
		f := fetch(params{"format": "raw", "max_chars": 1048576})
		if got, err := base64.StdEncoding.DecodeString(f.Content); err != nil || string(got) != string(printed.PDF) || f.Encoding != "base64" {
			t.Errorf("raw: %d bytes (%v), %s, want %d", len(got), err, f.Encoding, len(printed.PDF))
		}
		a.refused("web_fetch", params{"url": w.URL + "/damaged.pdf"}, protocol.Unsupported)
		a.refused("web_fetch", params{"url": w.URL + "/letter", "pages": "1"}, protocol.InvalidParams)
	})
	t.Run("download", func(t *testing.T) {
		a := newAgent(t, d)
		a.do("session_open", params{"downloads": true})
		got := a.do("open", params{"url": w.URL + "/letter.pdf"})
		if got.Page.Type != protocol.TypePDF || !strings.Contains(got.Snapshot.Text, "Quarterly report") {
			t.Errorf("where downloads are allowed, the PDF is %+v\n%s", got.Page, got.Snapshot.Text)
		}
		a.open(w.URL + "/attached")
		var list struct {
			Entries []protocol.Download `json:"entries"`
		}
		if err := a.c.Call(t.Context(), "downloads", params{"wait": true, "name": "letter.pdf"}, &list); err != nil || len(list.Entries) == 0 || list.Entries[0].Bytes != int64(len(printed.PDF)) {
			t.Errorf("the bytes: %+v, %v", list, err)
		}
	})
}
