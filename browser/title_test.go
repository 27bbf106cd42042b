package browser

import (
	"context"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// tabsOf are the tabs of a context, without who is selected.
func tabsOf(c *Context) (list []protocol.Tab) {
	for _, t := range c.Tabs() {
		list = append(list, protocol.Tab{Tab: t.Tab, URL: t.URL, Title: t.Title})
	}
	return list
}

// awaitTab waits until the nth tab says that URL and title.
func (v *visit) awaitTab(n int, url, title string) {
	v.t.Helper()
	v.c.mu.Lock()
	t := v.c.tabs[n]
	v.c.mu.Unlock()
	if err := t.until(limit(v.t, 10*time.Second), func() bool { return t.nav.url == url && t.nav.title == title }); err != nil {
		v.t.Errorf("%v: %+v, want %s %q", err, v.c.Tabs(), url, title)
	}
}

// A page is named by its document's title, however far it was waited for.
func TestTitle(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.pages["/b"] = `<title> Title
	B </title><img name=title><form name=title></form>`
	url := s.srv.URL + "/b"
	for _, wait := range []string{protocol.WaitAuto, protocol.WaitDOMContentLoaded, protocol.WaitLoad, protocol.WaitNetworkIdle, protocol.WaitNone} {
		t.Run(wait, func(t *testing.T) {
			v := s.open(t, `<title>One</title>`)
			if _, err := v.c.Open(limit(t, 10*time.Second), url, wait); err != nil {
				t.Fatal(err)
			}
			if wait == protocol.WaitNone {
				v.awaitTab(0, url, "Title B")
			}
			equal(t, "title", v.c.State().Title, "Title B")
			equal(t, "tabs", tabsOf(v.c), []protocol.Tab{{Tab: "t1", URL: url, Title: "Title B"}})
		})
	}
}

// An empty page has an address and no title.
func TestTitleOfAnEmptyPage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c, err := s.b.NewContext(limit(t, 20*time.Second), ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	if _, err := c.TabNew(limit(t, 10*time.Second), ""); err != nil {
		t.Fatal(err)
	}
	equal(t, "tabs", tabsOf(c), []protocol.Tab{{Tab: "t1", URL: "about:blank"}, {Tab: "t2", URL: "about:blank"}})
}

// A tab that a page opens has its title when it is loaded, although nobody looks
// at it.
func TestTitleOfAPopup(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<title>One</title><button onclick="window.open('/b')">Go</button>`, "/b", "<title>TitleB</title>")
	v.click(v.ref("button", "Go"))
	v.awaitTab(1, s.srv.URL+"/b", "TitleB")
	if _, err := v.c.TabSelect(limit(t, 5*time.Second), "t2"); err != nil {
		t.Fatal(err)
	}
	equal(t, "title", v.c.State().Title, "TitleB")
}

// A title is taken as far as it is shown: a page may make it as long as it likes.
func TestATitleWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<title>One</title><button onclick="document.title = 'x'.repeat(1e6)">Go</button>`)
	v.eval(`document.title = 'x'.repeat(1e6); 0`)
	for range 5 { // an answer waits for the title no longer than titleWait
		if v.c.State().Title == "One" {
			v.eval("0")
		}
	}
	equal(t, "title after eval", len(v.c.State().Title), 2000)
	v.click(v.ref("button", "Go"))
	equal(t, "title after a click", len(v.c.State().Title), 2000)
}

// A title that a script changes is the page's at the next answer.
func TestTitleThatChanges(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<title>One</title>`)
	v.eval(`document.title = 'Two'`)
	equal(t, "after eval", v.c.State().Title, "Two")
	v.eval(`new Promise(done => setTimeout(() => { document.title = 'Three'; done() }))`)
	equal(t, "after a promise", v.c.State().Title, "Three")
	v.eval(`history.pushState(0, '', '/there')`)
	equal(t, "in another address", tabsOf(v.c), []protocol.Tab{{Tab: "t1", URL: s.srv.URL + "/there", Title: "Three"}})
	v.eval(`setTimeout(() => { document.title = 'Four'; window.four = true }); 0`)
	if _, err := v.c.Wait(limit(t, 5*time.Second), v.refs, protocol.Wait{Expression: "window.four"}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := v.c.Read(limit(t, 5*time.Second), v.refs, "", "", ""); err != nil {
		t.Fatal(err)
	}
	equal(t, "after a read", v.c.State().Title, "Four")
}

// A page that holds itself once it is loaded does not hold the answer for its
// title.
func TestTitleOfAPageThatHangs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<title>One</title>`, "/b", `<title>TitleB</title><script>addEventListener('load', () => setTimeout(() => { for (;;); }))</script>`)
	begun := time.Now()
	if _, err := v.c.Open(limit(t, 15*time.Second), s.srv.URL+"/b", protocol.WaitLoad); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
