package fallback

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/untested"
)

func TestIsEmptyPage(t *testing.T) {
	const script = `<script src=/app.js></script>`
	for page, want := range map[string]bool{
		`<div id=root></div>` + script:                                                   true,
		`<noscript>You need JavaScript</noscript><div>Loading…</div>` + script:           true,
		`<nav><a href=/>Home</a><a href=/in>Log in</a></nav><div id=app></div>` + script: true,
		`<div id=root></div>`: false,
		`<form><input name=user><button>Log in</button></form>` + script:        false,
		`<a href=1>1</a><a href=2>2</a><a href=3>3</a><a href=4>4</a>` + script: false,
		`<p>` + strings.Repeat("Text that is there. ", 40) + script:             false,
		`<frameset><frame src=a></frameset>`:                                    false,
		``:                                                                      false,
	} {
		if got := isEmptyPage(t.Context(), page); got != want {
			t.Errorf("%.70q: %v", page, got)
		}
	}
}

// No real page that has something to show is taken for a shell.
func TestRealPagesAreNoShells(t *testing.T) {
	pages, err := filepath.Glob("../../shared/cases/static/pages/*.html.gz")
	if err != nil || len(pages) == 0 {
		untested.Skip(t, "the cases are not here")
	}
	for _, path := range pages {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if isEmptyPage(t.Context(), string(text)) {
			t.Errorf("%s is taken for a shell", filepath.Base(path))
		}
	}
	t.Logf("%d pages", len(pages))
}
