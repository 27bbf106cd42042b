package session

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// fakePage is a page of a fakeChromium.
type fakePage struct {
	Page
	chromium *fakeChromium
	done     chan struct{}
	url      string
	from     string // source
}

func (p *fakePage) State() protocol.Page      { return protocol.Page{URL: p.url, Source: p.from} }
func (p *fakePage) Restore() protocol.Restore { return protocol.Restore{URL: p.url} }
func (p *fakePage) Done() <-chan struct{}     { return p.done }

func (p *fakePage) Close(context.Context) error { return nil }

func (p *fakePage) Open(_ context.Context, url, _ string) (protocol.Effect, error) {
	p.chromium.asked++
	if p.chromium.loadsLate {
		p.url = url
	}
	if p.chromium.openErr == nil {
		p.url = url
	}
	return protocol.Effect{}, p.chromium.openErr
}

// fakeChromium makes such pages.
type fakeChromium struct {
	openErr    error // error of every Open; nil: pages load
	loadsLate  bool  // after an error the page has the URL nevertheless
	asked      int   // number of calls of Open
	noChromium bool  // Chromium does not start: pages have the source http
	with       *protocol.Restore
}

func (c *fakeChromium) NewPage(_ context.Context, o Options, _ func(string, map[string]any)) (Page, error) {
	c.with = o.Restore
	from := SourceChromium
	if c.noChromium {
		from = "http"
	}
	return &fakePage{chromium: c, done: make(chan struct{}), url: "about:blank", from: from}, nil
}

const cart = "https://shop.example/cart"

// newLostSession returns a session whose Chromium died while its page was at cart. A command has reported the
// loss.
func newLostSession(t *testing.T, c *fakeChromium) *Session {
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
	killChromium(s)
	told := s.DescribeLoss(protocol.Errorf(protocol.BrowserLost, "Chromium died"))
	if got := restoredURL(told); got != cart {
		t.Fatalf("told that %q comes back", got)
	}
	return s
}

func killChromium(s *Session) { close(s.Page().(*fakePage).done) }

func restoredURL(err error) any {
	e, ok := err.(*protocol.Error)
	if !ok || e.Code != protocol.BrowserLost {
		return err
	}
	back, _ := e.Details["restored"].(map[string]any)
	return back["url"]
}

// wantURL checks that the next command gets a page at that URL.
func wantURL(t *testing.T, s *Session, url string) {
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

// If the URL of a lost page cannot be loaded again, no command runs on the empty page, however often loading
// fails, and the URL is not forgotten, not even by another loss.
func TestALostPageThatCannotBeLoadedAgain(t *testing.T) {
	c := &fakeChromium{}
	s := newLostSession(t, c)
	c.openErr = refused
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
			killChromium(s)
		}
	}
	if c.with.URL != cart {
		t.Errorf("the second page was made from what remained of %s", c.with.URL)
	}
	c.openErr = nil
	wantURL(t, s, cart)
	c.asked = 0
	wantURL(t, s, cart)
	if c.asked != 0 {
		t.Error("a page that is back is loaded again")
	}
	// The next loss has not been reported yet.
	killChromium(s)
	if _, err := s.Ensure(t.Context(), false); restoredURL(err) != cart {
		t.Errorf("the next loss: %v", err)
	}
	wantURL(t, s, cart)
}

// The error browser_lost says that Chromium starts again. If it does not, the next command reports that once:
// the session continues with static documents.
func TestALostPageThatGoesOnWithoutChromium(t *testing.T) {
	for name, openErr := range map[string]error{"it loads": nil, "it does not load at first": refused} {
		t.Run(name, func(t *testing.T) {
			c := &fakeChromium{}
			s := newLostSession(t, c)
			c.noChromium, c.openErr = true, openErr
			_, err := s.Ensure(t.Context(), false)
			e, ok := err.(*protocol.Error)
			if !ok || e.Code != protocol.BrowserLost {
				t.Fatalf("the command after the loss: %v, want browser_lost", err)
			}
			if back, _ := e.Details["restored"].(map[string]any); back["source"] != "http" {
				t.Errorf("details.restored: %v, want the source http", back)
			}
			c.openErr = nil
			wantURL(t, s, cart)
		})
	}
}

// A command that opens another URL replaces the lost page.
func TestOpenInPlaceOfALostPage(t *testing.T) {
	for name, again := range map[string]bool{"the first command": false, "after one that failed": true} {
		t.Run(name, func(t *testing.T) {
			c := &fakeChromium{}
			s := newLostSession(t, c)
			c.openErr = refused
			if again {
				if _, err := s.Ensure(t.Context(), false); restoredURL(err) != "" {
					t.Fatal(err)
				}
			}
			page, _, err := s.PageForOpen(t.Context(), SourceAuto)
			if err != nil {
				t.Fatal(err)
			}
			c.openErr = nil
			page.Open(t.Context(), "https://other.example/", protocol.WaitAuto)
			wantURL(t, s, "https://other.example/")
			killChromium(s)
			if _, err := s.Ensure(t.Context(), false); restoredURL(err) != "https://other.example/" {
				t.Errorf("the next loss: %v", err)
			}
		})
	}
}

// Cases in which the URL of a lost page is not tried again.
func TestALostPageIsNotTriedForEver(t *testing.T) {
	t.Run("there, and slow", func(t *testing.T) {
		c := &fakeChromium{}
		s := newLostSession(t, c)
		c.openErr, c.loadsLate = protocol.Errorf(protocol.Timeout, "waited in vain"), true
		wantURL(t, s, cart)
		wantURL(t, s, cart)
		if c.asked != 1 {
			t.Errorf("it was loaded %d times", c.asked)
		}
	})
	t.Run("it kills its page", func(t *testing.T) {
		c := &fakeChromium{}
		s := newLostSession(t, c)
		c.openErr = protocol.Errorf(protocol.PageCrashed, "the page died")
		if _, err := s.Ensure(t.Context(), false); protocol.CodeOf(err) != protocol.PageCrashed {
			t.Errorf("%v, want page_crashed", err)
		}
		wantURL(t, s, "about:blank")
	})
	t.Run("the command was over", func(t *testing.T) {
		c := &fakeChromium{}
		s := newLostSession(t, c)
		c.openErr = protocol.Errorf(protocol.Timeout, "waited in vain")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Ensure(ctx, false); err != c.openErr {
			t.Errorf("%v, want the command's own", err)
		}
		c.openErr = nil
		wantURL(t, s, cart)
	})
}
