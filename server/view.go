package server

import (
	"crypto/sha256"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/live"
	"github.com/browserd/browserd/session"
)

// viewPath is the prefix of the paths of the live view, for people's browsers, which have no token.
// /view/TICKET opens a view with a ticket. /view/ID/… are the pages of a view and need its cookie. No other
// path accepts a cookie, and these accept no token.
const viewPath = "/view/"

// viewCookie is the cookie of a view.
const viewCookie = "browserd_view"

// view is the live view's part of the Server.
type view struct {
	access     *live.Access
	timeline   *live.Timeline
	recordings *live.Recordings
	others     overviewCache

	mu   sync.Mutex
	base string // the origin at which browsers reach the daemon; empty: none does
}

func isView(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, viewPath) }

// hostOf returns the host of an origin, with its port if it names one.
func hostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return u.Host
}

// setBaseURL sets base from the listeners' addresses, unless it is configured.
func (v *view) setBaseURL(cfg Config, listeners []net.Listener) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range listeners {
		at, err := netip.ParseAddrPort(l.Addr().String())
		if v.base != "" || err != nil { // a Unix socket, which no browser speaks to
			continue
		}
		host, scheme := at.Addr().String(), "http://"
		if at.Addr().IsUnspecified() {
			host = "127.0.0.1"
		}
		if cfg.TLS() {
			scheme = "https://"
		}
		v.base = scheme + net.JoinHostPort(host, strconv.Itoa(int(at.Port())))
	}
}

// ViewLink makes a link to the live view. It is the value of command.Runtime.View. The link is empty if no
// browser reaches the daemon.
func (s *Server) ViewLink(of command.Viewing) (link string, expires time.Time) {
	s.view.mu.Lock()
	base := s.view.base
	s.view.mu.Unlock()
	if base == "" {
		return "", time.Time{}
	}
	s.view.timeline.Begin()
	ticket, expires := s.view.access.Ticket(of, time.Now())
	return base + viewPath + ticket, expires
}

// serveView answers the requests below viewPath. The gate has checked Host, and that the
// Origin, if there is one, is the daemon's own.
func (s *Server) serveView(w http.ResponseWriter, r *http.Request) {
	live.SetHeader(w.Header())
	if r.URL.RawPath != "" { // an escape that no page of the view has
		s.denyView(w, r, http.StatusNotFound)
		return
	}
	id, page, below := strings.Cut(strings.TrimPrefix(r.URL.Path, viewPath), "/")
	if !below {
		s.serveTicket(w, r, id)
		return
	}
	// Refuse requests that another site, another port of this host or a frame has caused, whatever cookie they
	// carry (Fetch Metadata Request Headers). Browsers that do not send these headers do not send the cookie
	// either (SameSite).
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		s.denyView(w, r, http.StatusForbidden)
		return
	}
	if slices.Contains([]string{"iframe", "frame", "embed", "object", "fencedframe"}, r.Header.Get("Sec-Fetch-Dest")) {
		s.denyView(w, r, http.StatusForbidden)
		return
	}
	view, err := s.viewOf(r, id)
	if err != nil {
		s.denyView(w, r, err.Code.Row().HTTP)
		return
	}
	from, err := s.admit(r, view.Token)
	if err != nil {
		w.Header().Set("Connection", "close")
		writeError(w, s.connections.known.status(err), err)
		return
	}
	maps.Copy(w.Header(), tokenHeaderFor(r, view.Token))
	s.serveViewPage(w, r, view, from, page)
}

// maxCookies is how many cookies of the view's name a request may have.
const maxCookies = 8

// viewOf returns the view of that ID, if the request has its cookie. Wrong cookies count as
// wrong tokens do.
func (s *Server) viewOf(r *http.Request, id string) (*live.View, *protocol.Error) {
	// Another server of this host may have set one of that name for all paths.
	cookies := r.CookiesNamed(viewCookie)
	if len(cookies) == 0 || len(cookies) > maxCookies {
		return nil, protocol.Errorf(protocol.Unauthorized, "the request carries no cookie of this view")
	}
	for _, c := range cookies {
		if v := s.view.access.View(id, c.Value, time.Now()); v != nil {
			return v, nil
		}
	}
	return nil, s.wrongKey(r, cookies[0].Value)
}

// wrongKey counts a wrong ticket or cookie as a guess, and returns the error for it.
func (s *Server) wrongKey(r *http.Request, key string) *protocol.Error {
	from, now := remoteNet(r.RemoteAddr), time.Now()
	if wait := s.keys.failures.locked(from, now); wait > 0 {
		return tooManyFailures(wait)
	}
	s.keys.failures.add(from, sha256.Sum256([]byte(key)), now)
	return protocol.Errorf(protocol.Unauthorized, "the link has been used, or its time is over")
}

// serveTicket opens a view with a ticket. If a person has opened the link directly, it does so at once.
// Otherwise it answers with a button, since programs that fetch links (a chat's preview, a browser's prefetch)
// would use the ticket up. The button is also needed if the link is on another site: a browser would not send
// the SameSite=Strict cookie when it follows the redirect.
func (s *Server) serveTicket(w http.ResponseWriter, r *http.Request, text string) {
	opened := r.Method == http.MethodPost && s.gate.ownOrigin(r) ||
		r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "none" && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
			r.Header.Get("Sec-Fetch-Dest") == "document" && r.Header.Get("Sec-Purpose") == "" && r.Header.Get("Purpose") == ""
	switch {
	case !allow(w, r, http.MethodGet, http.MethodHead, http.MethodPost):
	case !opened && r.Method == http.MethodPost:
		s.denyView(w, r, http.StatusForbidden)
	case !opened && s.view.access.IsRedeemable(text, time.Now()):
		s.writeHTML(w, r, http.StatusOK, live.Notice{Title: "Open the live view", Text: "The link works once.", Button: "Open"})
	case !opened:
		s.denyView(w, r, s.wrongKey(r, text).Code.Row().HTTP)
	default:
		v, cookie := s.view.access.Redeem(text, time.Now())
		if v == nil {
			s.denyView(w, r, s.wrongKey(r, text).Code.Row().HTTP)
			return
		}
		s.log.Info("a live view was opened", "agent", v.Agent, "session", nameOf(v), "remote", r.RemoteAddr, "drives", v.Drives)
		setViewCookie(s, w, r, v.ID, cookie, v.Expires)
		// 303: the ticket does not stay in the history.
		w.Header().Set("Location", viewPath+v.ID+"/")
		w.WriteHeader(http.StatusSeeOther)
	}
}

// setViewCookie gives a browser the cookie of a view.
func setViewCookie(s *Server, w http.ResponseWriter, r *http.Request, id, cookie string, expires time.Time) {
	s.view.mu.Lock()
	secure := r.TLS != nil || strings.HasPrefix(s.view.base, "https://") && hostOf(s.view.base) == r.Host
	s.view.mu.Unlock()
	http.SetCookie(w, &http.Cookie{
		Name: viewCookie, Value: cookie, Path: viewPath + id + "/", Expires: expires,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
	})
}

func nameOf(v *live.View) string {
	if v.Session == nil {
		return ""
	}
	return v.Session.Name()
}

// serveViewPage answers a request of a view's own viewer.
func (s *Server) serveViewPage(w http.ResponseWriter, r *http.Request, v *live.View, from peer, page string) {
	switch page {
	case "":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			serveApp(s, w, r, v)
		}
	case "live":
		if allow(w, r, http.MethodGet) {
			serveViewSocket(s, w, r, v)
		}
	case "recording":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			serveViewRecording(s, w, r, v)
		}
	case "files":
		if allow(w, r, http.MethodPost) {
			serveViewFiles(s, w, r, v, from)
		}
	case "elsewhere":
		if allow(w, r, http.MethodPost) {
			openRemoteView(s, w, r, v)
		}
	default:
		switch {
		case viewForms[page] == nil:
			s.denyView(w, r, http.StatusNotFound)
		case allow(w, r, http.MethodPost):
			serveViewForm(s, w, r, v, page)
		}
	}
}

// viewOverviews returns the sessions that a view shows, and records for each that the viewer is there.
func (s *Server) viewOverviews(v *live.View) []session.Overview {
	list := []session.Overview{}
	if v.Session != nil {
		list = append(list, v.Session.Overview())
	} else {
		list = s.runtime.Sessions.Overviews("", true)
	}
	for _, o := range list {
		if of, err := s.runtime.Sessions.Get(o.Agent, o.Session); err == nil {
			session.Control(of).MarkActive(v.Person(), false)
		}
	}
	return list
}

// denyView answers a person who may not see a view. The answer does not say whether the view exists.
func (s *Server) denyView(w http.ResponseWriter, r *http.Request, status int) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		s.refused.log(r.Context(), s.log, time.Now(), slog.LevelWarn, "remote", r.RemoteAddr, "reason", "view")
	}
	n := live.Notice{Title: "The live view is not open here", Text: "This link has been used, or its time is over. Ask for another one: browserd view."}
	switch status {
	case http.StatusTooManyRequests:
		n.Text = "Too many wrong links came from this address. Try again in a minute."
	case http.StatusForbidden:
		n.Text = "Another page asked for it. Open the link itself."
	}
	s.writeHTML(w, r, status, n)
}

func (s *Server) writeHTML(w http.ResponseWriter, r *http.Request, status int, n live.Notice) {
	body, err := n.HTML()
	if err != nil {
		s.log.Error("the live view", "error", err)
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
