package session

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// fakePage is a page of a server that is up or down.
type fakePage struct {
	Page
	of   *fakeChromium
	done chan struct{}
	url  string
	from string // source
}

func (p *fakePage) State() protocol.Page      { return protocol.Page{URL: p.url, Source: p.from} }
func (p *fakePage) Restore() protocol.Restore { return protocol.Restore{URL: p.url} }
func (p *fakePage) Done() <-chan struct{}     { return p.done }

func (p *fakePage) Close(context.Context) error { return nil }

func (p *fakePage) Open(_ context.Context, url, _ string) (protocol.Effect, error) {
	p.of.asked++
	if p.of.late {
		p.url = url
	}
	if p.of.fails == nil {
		p.url = url
	}
	return protocol.Effect{}, p.of.fails
}

// fakeChromium makes such pages.
type fakeChromium struct {
	fails error // of every Open; nil: they load
	late  bool  // what fails is there all the same
	asked int   // Opens
	gone  bool  // it does not start: pages come from http
	with  *protocol.Restore
}

func (c *fakeChromium) NewPage(_ context.Context, o Options, _ func(string, map[string]any)) (Page, error) {
	c.with = o.Restore
	from := SourceChromium
	if c.gone {
		from = "http"
	}
	return &fakePage{of: c, done: make(chan struct{}), url: "about:blank", from: from}, nil
}

const cart = "https://shop.example/cart"

// lostAt is a session whose Chromium died with the page at cart, and which a command
// was told so.
func lostAt(t *testing.T, c *fakeChromium) *Session {
	t.Helper()
	s, err := NewManager(Config{Max: 1, MaxPerAgent: 1, IdleTimeout: time.Hour}, c, slog.New(slog.DiscardHandler)).Open("agent", Options{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := s.Ensure(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	page.(*fakePage).url = cart
	die(s)
	told := s.Lost(protocol.Errorf(protocol.BrowserLost, "Chromium died"))
	if got := restoredURL(told); got != cart {
		t.Fatalf("told that %q comes back", got)
	}
	return s
}

func die(s *Session) { close(s.Page().(*fakePage).done) }

func restoredURL(err error) any {
	e, ok := err.(*protocol.Error)
	if !ok || e.Code != protocol.BrowserLost {
		return err
	}
	back, _ := e.Details["restored"].(map[string]any)
	return back["url"]
}

// at checks that the next command works on the page of that URL.
func at(t *testing.T, s *Session, url string) {
	t.Helper()
	page, err := s.Ensure(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if got := page.State().URL; got != url {
		t.Errorf("it works on %s, want %s", got, url)
	}
}

var refused = protocol.Errorf(protocol.NavigationFailed, "the page did not load: net::ERR_CONNECTION_REFUSED")

// A URL that cannot be loaded again after a loss is not forgotten, and no command works
// on the empty page in its place, however often it fails: not even through another loss.
func TestALostPageThatCannotBeLoadedAgain(t *testing.T) {
	c := &fakeChromium{}
	s := lostAt(t, c)
	c.fails = refused
	for try := range 4 {
		page, err := s.Ensure(t.Context(), false)
		if page != nil || restoredURL(err) != "" {
			t.Fatalf("command %d: %v, %v", try, page, err)
		}
		if e := err.(*protocol.Error); e.Details["url"] != cart || e.Details["reason"] != "navigation_failed" {
			t.Errorf("command %d: details %v", try, e.Details)
		}
		if c.asked != try+1 {
			t.Errorf("the URL was tried %d times by %d commands", c.asked, try+1)
		}
		if try == 2 {
			die(s)
		}
	}
	if c.with.URL != cart {
		t.Errorf("the second page was made from what remained of %s", c.with.URL)
	}
	c.fails = nil
	at(t, s, cart)
	c.asked = 0
	at(t, s, cart)
	if c.asked != 0 {
		t.Error("a page that is back is loaded again")
	}
	// The next loss is one of its own, of which nobody was told.
	die(s)
	if _, err := s.Ensure(t.Context(), false); restoredURL(err) != cart {
		t.Errorf("the next loss: %v", err)
	}
	at(t, s, cart)
}

// A command that was told of the loss was told that Chromium starts again. Where it does
// not, the next one says so, once: its refs and what it may do are those of a static
// document from now on.
func TestALostPageThatGoesOnWithoutChromium(t *testing.T) {
	for name, fails := range map[string]error{"it loads": nil, "it does not load at first": refused} {
		t.Run(name, func(t *testing.T) {
			c := &fakeChromium{}
			s := lostAt(t, c)
			c.gone, c.fails = true, fails
			_, err := s.Ensure(t.Context(), false)
			e, ok := err.(*protocol.Error)
			if !ok || e.Code != protocol.BrowserLost {
				t.Fatalf("the command after the loss: %v, want browser_lost", err)
			}
			if back, _ := e.Details["restored"].(map[string]any); back["source"] != "http" {
				t.Errorf("details.restored: %v, want the source http", back)
			}
			c.fails = nil
			at(t, s, cart)
		})
	}
}

// Who opens another URL needs the lost one no more.
func TestOpenInPlaceOfALostPage(t *testing.T) {
	for name, again := range map[string]bool{"the first command": false, "after one that failed": true} {
		t.Run(name, func(t *testing.T) {
			c := &fakeChromium{}
			s := lostAt(t, c)
			c.fails = refused
			if again {
				if _, err := s.Ensure(t.Context(), false); restoredURL(err) != "" {
					t.Fatal(err)
				}
			}
			page, _, err := s.For(t.Context(), SourceAuto)
			if err != nil {
				t.Fatal(err)
			}
			c.fails = nil
			page.Open(t.Context(), "https://other.example/", protocol.WaitAuto)
			at(t, s, "https://other.example/")
			die(s)
			if _, err := s.Ensure(t.Context(), false); restoredURL(err) != "https://other.example/" {
				t.Errorf("the next loss: %v", err)
			}
		})
	}
}

// What ends the load of a lost page's URL without its being refused.
func TestALostPageIsNotTriedForEver(t *testing.T) {
	t.Run("there, and slow", func(t *testing.T) {
		c := &fakeChromium{}
		s := lostAt(t, c)
		c.fails, c.late = protocol.Errorf(protocol.Timeout, "waited in vain"), true
		at(t, s, cart)
		at(t, s, cart)
		if c.asked != 1 {
			t.Errorf("it was loaded %d times", c.asked)
		}
	})
	t.Run("it kills its page", func(t *testing.T) {
		c := &fakeChromium{}
		s := lostAt(t, c)
		c.fails = protocol.Errorf(protocol.PageCrashed, "the page died")
		if _, err := s.Ensure(t.Context(), false); protocol.CodeOf(err) != protocol.PageCrashed {
			t.Errorf("%v, want page_crashed", err)
		}
		at(t, s, "about:blank")
	})
	t.Run("the command was over", func(t *testing.T) {
		c := &fakeChromium{}
		s := lostAt(t, c)
		c.fails = protocol.Errorf(protocol.Timeout, "waited in vain")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Ensure(ctx, false); err != c.fails {
			t.Errorf("%v, want the command's own", err)
		}
		c.fails = nil
		at(t, s, cart)
	})
}
