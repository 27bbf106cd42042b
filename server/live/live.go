package server

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// The live view is loaded again every viewEvery seconds, and shows so many
// characters of a title, an address and a reason.
const (
	viewEvery = 3
	viewTitle = 160
	viewURL   = 300
	viewWhy   = 300
)

var (
	//go:embed view.html
	viewHTML string
	//go:embed view.css
	viewCSS string
)

// viewTemplate is parsed when somebody looks for the first time: every start of
// the program would wait for it.
var viewTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("view").Parse(viewHTML))
})

// viewPolicy is the page's Content-Security-Policy: nothing but its own style,
// by its hash.
var viewPolicy = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(viewCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})

// view is what the live view shows. All of it is text: what a page chose is
// cut, and has no character that shows nothing or moves what is shown.
type view struct {
	Style              template.CSS
	Refresh, Open, Max int
	Version, Up, Now   string
	NotReady           string // why; empty: it is
	Sources            []Source
	Agent              string
	Everybody          bool // whose sessions are shown: the agent's, or everybody's
	Sessions           []viewSession
}

type viewSession struct {
	Name, Agent, Source string
	Lost                bool
	Command, For        string // empty: none
	Waiting             int
	Used, Expires       string // for how long not, and in how long; empty: a command runs
	Tabs                []viewTab
}

type viewTab struct {
	Name, Title, URL string
	Selected         bool
}

// serveView answers with the live view: the sessions of who asks, or for an
// operator those of every agent, from what the daemon knows. No page is asked,
// and no session is used by it.
func (s *Server) serveView(w http.ResponseWriter, who holder) {
	now := time.Now()
	sources := s.sources()
	v := view{
		Style: template.CSS(viewCSS), Refresh: viewEvery,
		Open: s.house.Sessions.Count(), Max: s.house.Sessions.Max(),
		Version: s.house.Version, Up: span(now.Sub(s.began)), Now: now.UTC().Format("15:04:05 UTC"),
		NotReady: s.notReady(sources),
		Agent:    who.agent, Everybody: who.role == RoleOperator,
	}
	for _, source := range sources {
		source.Why = snapshot.Cut(source.Why, viewWhy)
		v.Sources = append(v.Sources, source)
	}
	for _, seen := range s.house.Sessions.Look(who.agent, v.Everybody) {
		v.Sessions = append(v.Sessions, viewOf(seen, now))
	}
	var page bytes.Buffer
	if err := viewTemplate().Execute(&page, v); err != nil {
		s.log.Error("the live view", "error", err)
		writeError(w, http.StatusInternalServerError, protocol.Errorf(protocol.Internal, "the live view failed for a reason of browserd's own"))
		return
	}
	http.NewResponseController(w).SetWriteDeadline(now.Add(writeTime(s.cfg.WriteTimeout, page.Len())))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(page.Len()))
	h.Set("Content-Security-Policy", viewPolicy())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	w.Write(page.Bytes())
}

func viewOf(seen session.Sight, now time.Time) viewSession {
	v := viewSession{
		Name: seen.Session, Agent: seen.Agent, Source: seen.Source, Lost: seen.Lost, Waiting: seen.Waiting,
		Used: span(seconds(seen.IdleFor)), Expires: span(seconds(seen.ExpiresIn)),
	}
	if seen.Command != "" {
		v.Command, v.For, v.Used, v.Expires = seen.Command, span(now.Sub(seen.Since)), "", ""
	}
	for _, t := range seen.Tabs {
		address := snapshot.Quote(snapshot.Cut(ledger.MaskURL(t.URL), viewURL))
		shown := viewTab{Name: t.Tab, URL: address[1 : len(address)-1], Selected: t.Selected}
		if t.Title != "" {
			shown.Title = snapshot.Quote(snapshot.Cut(t.Title, viewTitle))
		}
		v.Tabs = append(v.Tabs, shown)
	}
	return v
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// span writes a duration as long as it matters: 1.2s, 14m5s, 49h3m0s.
func span(d time.Duration) string {
	d = max(d, 0)
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
