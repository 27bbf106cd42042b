package actions

import (
	"io"
	"net/http"
	"testing"
)

// What the reader finds odd is told to the agent; the page is whole all the same.
func TestTheReadersWarningIsPassedOn(t *testing.T) {
	w := newWorld(t)
	w.serve("site.example.com", func(http.ResponseWriter, *http.Request) { t.Error("the site was asked") })
	w.reader(func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `{"code":200,"data":{"url":"http://site.example.com/","content":"words","text":"words","warning":"This page maybe requiring CAPTCHA"}}`)
	})
	r := fetched(t, w, map[string]any{"url": "http://site.example.com/", "source": "jina"})
	if r.Note != "the reader says: This page maybe requiring CAPTCHA" || r.Truncated || r.Content != "words" {
		t.Errorf("%+v", r)
	}
}
