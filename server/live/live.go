// Package live is the live view: the page at GET / that lists the sessions, and the view that
// a person opens by a link, which shows them live and takes a person's input. It owns the
// pages, their style, script and Content-Security-Policy, the tickets and cookies, and the
// socket of a view. Everything that comes from a page is shown as text. What a person types
// goes to the page and nowhere else. It does not authenticate: package server does.
//
// All functions may be called from any goroutine.
package live

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// The page reloads itself every refreshSeconds. It shows at most these many characters of a
// title, a URL and a reason.
const (
	refreshSeconds = 3
	maxTitle       = 160
	maxURL         = 300
	maxWhy         = 300
)

var (
	//go:embed live.html
	pageHTML string
	//go:embed live.css
	pageCSS string
)

// pageTemplate is parsed at the first request, so that it does not slow down the start.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("live").Parse(pageHTML))
})

// contentPolicy is the page's Content-Security-Policy. It allows nothing but the page's own
// style sheet, by its hash.
var contentPolicy = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
})

// Daemon is what the page shows about the daemon.
type Daemon struct {
	Version   string
	Began     time.Time
	Open, Max int    // sessions
	NotReady  string // why it is not ready; empty if it is
	Sources   []Source
}

// Source is one source of pages.
type Source struct {
	Name string
	OK   bool
	Why  string // why it does not work
}

// Viewer is the person who looks at the page.
type Viewer struct {
	Agent     string
	Everybody bool // sees the sessions of all agents
}

// Page returns the page for the viewer; sessions and elsewhere are those that the viewer may see.
func Page(now time.Time, d Daemon, viewer Viewer, sessions []session.Overview, elsewhere []NodeOverview) ([]byte, error) {
	v := page{
		Style: template.CSS(pageCSS), Refresh: refreshSeconds, Daemon: d, Viewer: viewer,
		Up: span(now.Sub(d.Began)), Now: now.UTC().Format("15:04:05 UTC"),
	}
	v.Sources = nil
	for _, source := range d.Sources {
		source.Why = snapshot.Cut(source.Why, maxWhy)
		v.Sources = append(v.Sources, source)
	}
	for _, s := range sessions {
		v.Sessions = append(v.Sessions, rowOf(s, now))
	}
	for _, other := range elsewhere {
		if other.Silent {
			v.Silent = append(v.Silent, other.Node)
		}
		v.Open, v.Max = v.Open+other.Open, v.Max+other.Max
		for _, s := range other.Sessions {
			r := rowOf(s, now)
			r.Node = other.Node
			v.Sessions = append(v.Sessions, r)
		}
	}
	var out bytes.Buffer
	err := pageTemplate().Execute(&out, v)
	return out.Bytes(), err
}

// SetHeader sets the header fields of the response with the page.
func SetHeader(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", contentPolicy())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Notice is a page that says one thing, and may have a button that opens the same address
// with POST.
type Notice struct {
	Title, Text string
	Button      string // empty: none
}

//go:embed notice.html
var noticeHTML string

var noticeTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("notice").Parse(noticeHTML))
})

// HTML returns the page.
func (n Notice) HTML() ([]byte, error) {
	var out bytes.Buffer
	err := noticeTemplate().Execute(&out, struct {
		Notice
		Style template.CSS
	}{n, template.CSS(pageCSS)})
	return out.Bytes(), err
}

// page is the data of the template. All of it is text. Text from web pages is cut and quoted,
// so that it contains no invisible or reordering characters.
type page struct {
	Daemon
	Viewer
	Style    template.CSS
	Refresh  int
	Up, Now  string
	Sessions []row
	Silent   []string // nodes of the fleet that do not answer
}

// row is one session.
type row struct {
	Name, Agent, Source string
	Node                string // of the fleet; empty: this one
	Lost                bool
	Command, For        string // empty: none
	Waiting             int
	Used, Expires       string // idle for, and expires in; empty while a command runs
	Tabs                []tab
}

type tab struct {
	Name, Title, URL string
	Selected         bool
	Person           bool // in the person's own browser
}

func rowOf(seen session.Overview, now time.Time) row {
	v := row{
		Name: seen.Session, Agent: seen.Agent, Source: seen.Source, Lost: seen.Lost, Waiting: seen.Waiting,
		Used: span(seconds(seen.IdleFor)), Expires: span(seconds(seen.ExpiresIn)),
	}
	if seen.Command != "" {
		v.Command, v.For, v.Used, v.Expires = seen.Command, span(now.Sub(seen.Since)), "", ""
	}
	for _, t := range seen.Tabs {
		address := snapshot.Quote(snapshot.Cut(ledger.MaskURL(t.URL), maxURL))
		shown := tab{Name: t.Tab, URL: address[1 : len(address)-1], Selected: t.Selected, Person: t.Person}
		if t.Title != "" {
			shown.Title = snapshot.Quote(snapshot.Cut(t.Title, maxTitle))
		}
		v.Tabs = append(v.Tabs, shown)
	}
	return v
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// span formats a duration with suitable precision: 1.2s, 14m5s, 49h3m0s.
func span(d time.Duration) string {
	d = max(d, 0)
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
