package fallback

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// The limits of a jar, which are at least those of RFC 6265 6.1.
const (
	maxCookies     = 3000
	maxPerDomain   = 180
	maxCookieBytes = 4096 // of name and value (RFC 6265bis 5.6)
)

// Cookie is one cookie of a jar (RFC 6265 5.3).
type Cookie struct {
	Name, Value  string
	Domain, Path string
	HostOnly     bool // for Domain only, not for its subdomains
	Secure       bool
	HTTPOnly     bool
	SameSite     string    // Strict, Lax, None, or empty if not set
	Expires      time.Time // zero for a session cookie
	created      time.Time
	order        int
}

// Jar has a session's cookies (RFC 6265). Any goroutine may use it.
type Jar struct {
	mu    sync.Mutex
	list  []Cookie
	count int
	now   func() time.Time
}

// NewJar returns an empty jar.
func NewJar() *Jar { return &Jar{now: time.Now} }

// Receive stores the cookies that a response from u sets.
func (j *Jar) Receive(u address, header http.Header) {
	for _, line := range header["Set-Cookie"] {
		if c, ok := parseSetCookie(line, u, j.now()); ok {
			j.Put(c)
		}
	}
}

// Put stores a cookie and replaces the one with the same name, domain and path. An expired
// cookie removes that one.
func (j *Jar) Put(n Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	if n.created.IsZero() {
		n.created = now
	}
	for i, o := range j.list {
		if o.Name == n.Name && o.Domain == n.Domain && o.Path == n.Path {
			n.created, n.order = o.created, o.order
			j.list = slices.Delete(j.list, i, i+1)
			break
		}
	}
	if !n.Expires.IsZero() && !n.Expires.After(now) {
		return
	}
	if n.order == 0 {
		j.count++
		n.order = j.count
	}
	j.list = append(j.list, n)
	j.shrink(n.Domain)
}

// shrink removes the oldest cookies above the limits.
func (j *Jar) shrink(domain string) {
	of := 0
	for _, c := range j.list {
		if c.Domain == domain {
			of++
		}
	}
	drop := func(fits func(Cookie) bool) {
		oldest := -1
		for i, c := range j.list {
			if fits(c) && (oldest < 0 || c.order < j.list[oldest].order) {
				oldest = i
			}
		}
		if oldest >= 0 {
			j.list = slices.Delete(j.list, oldest, oldest+1)
		}
	}
	if of > maxPerDomain {
		drop(func(c Cookie) bool { return c.Domain == domain })
	}
	if len(j.list) > maxCookies {
		drop(func(Cookie) bool { return true })
	}
}

// Header returns the Cookie header of a request to u, empty if there is none
// (RFC 6265 5.4).
func (j *Jar) Header(u address) string { return header(j.For(u)) }

// laxPost is how long after it was set a cookie without SameSite goes along with
// what another site posts (RFC 6265bis 5.7.1, Lax-allowing-unsafe).
const laxPost = 2 * time.Minute

// Across is Header for a navigation to u that a document of another site began,
// with that method: without what SameSite keeps from it (RFC 6265bis 5.7.3).
// Redirects on the way are not counted, as Chromium does not.
func (j *Jar) Across(u address, method string) string {
	return header(slices.DeleteFunc(j.For(u), func(c Cookie) bool {
		switch c.SameSite {
		case "Strict":
			return true
		case "Lax":
			return method != http.MethodGet
		case "None":
			return false
		}
		return method != http.MethodGet && j.now().Sub(c.created) >= laxPost
	}))
}

func header(list []Cookie) string {
	var pairs []string
	for _, c := range list {
		if c.Name == "" {
			pairs = append(pairs, c.Value)
			continue
		}
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
}

// For lists the cookies that are sent to u: longer paths first, then the older.
func (j *Jar) For(u address) []Cookie {
	host := hostOf(u.authority)
	var fit []Cookie
	for _, c := range j.All() {
		domain := c.Domain == host || !c.HostOnly && strings.HasSuffix(host, "."+c.Domain)
		path := u.path == c.Path || strings.HasPrefix(u.path, c.Path) && (strings.HasSuffix(c.Path, "/") || u.path[len(c.Path)] == '/')
		if domain && path && (!c.Secure || u.scheme == "https" || isLoopback(host)) {
			fit = append(fit, c)
		}
	}
	slices.SortStableFunc(fit, func(a, b Cookie) int { return len(b.Path) - len(a.Path) })
	return fit
}

// All lists the cookies that have not expired, the oldest first.
func (j *Jar) All() []Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	list := slices.DeleteFunc(slices.Clone(j.list), func(c Cookie) bool { return !c.Expires.IsZero() && !c.Expires.After(now) })
	slices.SortStableFunc(list, func(a, b Cookie) int { return a.order - b.order })
	return list
}

// Remove removes the cookies of a list and returns how many there were.
func (j *Jar) Remove(list []Cookie) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := len(j.list)
	j.list = slices.DeleteFunc(j.list, func(c Cookie) bool {
		return slices.ContainsFunc(list, func(o Cookie) bool { return o.Name == c.Name && o.Domain == c.Domain && o.Path == c.Path })
	})
	return before - len(j.list)
}

// hostOf returns the host of a canonical authority, brackets and port off.
func hostOf(authority string) string {
	if inner, ok := strings.CutPrefix(authority, "["); ok {
		inner, _, _ = strings.Cut(inner, "]")
		return inner
	}
	host, _, _ := strings.Cut(authority, ":")
	return host
}

// isLoopback reports whether plain HTTP to the host is as good as HTTPS (Secure
// Contexts 3.1), as Chromium has it for cookies.
func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
