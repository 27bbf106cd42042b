package fallback

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/corpus"
	"github.com/browserd/browserd/snapshot"
	snaphtml "github.com/browserd/browserd/snapshot/html"
)

// TestTheLibraryShowsWhatASessionShows compares html.Snapshot and its Query with a session
// without Chromium that has opened the same HTML.
func TestTheLibraryShowsWhatASessionShows(t *testing.T) {
	t.Run("own", func(t *testing.T) {
		var pages []corpus.Page
		for _, dir := range []string{"../snapshot/html/testdata", "../browser/testdata/walk"} {
			files, err := filepath.Glob(dir + "/*.html")
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %d pages, %v", dir, len(files), err)
			}
			for _, file := range files {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				pages = append(pages, corpus.Page{ID: file, HTML: string(raw)})
			}
		}
		compareWithLibrary(t, pages, 50)
	})
	t.Run("corpus", func(t *testing.T) { compareWithLibrary(t, corpus.Pages(t, ".."), 2000) })
}

// compareWithLibrary compares the pages, with at least so many elements read.
func compareWithLibrary(t *testing.T, pages []corpus.Page, least int) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || n >= len(pages) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		io.WriteString(w, pages[n].HTML)
	}))
	defer site.Close()
	s := newSite(t, HTTP)
	elements := 0
	for i, page := range pages {
		p, url := s.page(t), site.URL+"/"+strconv.Itoa(i)
		if _, err := p.OpenFrom(t.Context(), HTTP, url); err != nil {
			t.Fatalf("%s: %v", page.ID, err)
		}
		for _, all := range []bool{false, true} {
			o := snapshot.DefaultOptions()
			o.InteractiveOnly = !all
			refs := snapshot.NewRefs()
			c, err := p.Capture(t.Context(), o, refs)
			if err != nil {
				t.Fatalf("%s: %v", page.ID, err)
			}
			want, _ := snapshot.Render(c, o, refs)
			got, err := snaphtml.Snapshot(page.HTML, snaphtml.Options{URL: url, AllElements: all, JSON: true})
			if err != nil {
				t.Fatalf("%s: %v", page.ID, err)
			}
			if d := cmp.Diff(want.Text, got.Text); d != "" {
				t.Errorf("%s: -session +library\n%s", page.ID, d)
				continue
			}
			read := []string{""}
			for _, n := range got.Nodes {
				if n.Ref != "" && len(read) < 10 {
					read = append(read, n.Ref)
				}
			}
			elements += len(read) - 1
			for _, ref := range read {
				for kind, query := range map[string]string{"text": "text", "html": "html", "attrs": "attr"} {
					if ref == "" && kind == "attrs" {
						continue
					}
					want, err := p.Read(t.Context(), refs, ref, kind, "")
					if err != nil {
						t.Fatalf("%s: %s of %s: %v", page.ID, kind, ref, err)
					}
					if got, err := got.Query(ref, query, 1<<30); err != nil || got != want {
						t.Errorf("%s: %s of %s: %v -session +library\n%s", page.ID, kind, ref, err, cmp.Diff(want, got))
					}
				}
			}
		}
	}
	t.Logf("%d pages, %d elements", len(pages), elements)
	if elements < least {
		t.Errorf("%d elements are too few", elements)
	}
}
