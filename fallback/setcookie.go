package fallback

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

// longestLife is how long a cookie may live at most (RFC 6265bis 5.5).
const longestLife = 400 * 24 * time.Hour

// parseSetCookie reads a Set-Cookie line as user agents do (RFC 6265bis 5.5,
// 5.6), which is wider than what servers should send: a value may hold quotes,
// commas and braces. ok is false if the line sets nothing at u.
func parseSetCookie(line string, u address, now time.Time) (c Cookie, ok bool) {
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return Cookie{}, false
	}
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, named := strings.Cut(pair, "=")
	if !named {
		name, value = "", pair
	}
	host := hostOf(u.authority)
	c = Cookie{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value), Domain: host, HostOnly: true}
	if c.Name == "" && c.Value == "" || len(c.Name)+len(c.Value) > maxCookieBytes {
		return Cookie{}, false
	}
	domain, aged := "", false
	for attributes != "" {
		var one string
		one, attributes, _ = strings.Cut(attributes, ";")
		key, v, _ := strings.Cut(one, "=")
		v = strings.TrimSpace(v)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "domain":
			domain = strings.ToLower(strings.TrimPrefix(v, "."))
		case "path":
			c.Path = v
		case "secure":
			c.Secure = true
		case "httponly":
			c.HTTPOnly = true
		case "samesite":
			switch strings.ToLower(v) {
			case "strict":
				c.SameSite = "Strict"
			case "lax":
				c.SameSite = "Lax"
			case "none":
				c.SameSite = "None"
			default:
				c.SameSite = ""
			}
		case "max-age":
			if s, err := strconv.ParseInt(v, 10, 64); err == nil {
				aged = true
				c.Expires = now.Add(min(time.Duration(min(max(s, 0), 1<<31))*time.Second, longestLife))
			}
		case "expires":
			if t, ok := parseDate(v); ok && !aged {
				c.Expires = t
			}
		}
	}
	if !strings.HasPrefix(c.Path, "/") { // the default path (5.1.4)
		c.Path = u.path[:max(strings.LastIndexByte(u.path, '/'), 1)]
	}
	return c, c.claim(domain, host) && c.fits(u, host)
}

// claim applies a Domain attribute; false if the host may not set it.
func (c *Cookie) claim(domain, host string) bool {
	if domain == "" {
		return true
	}
	_, err := netip.ParseAddr(host)
	suffix, _ := publicsuffix.PublicSuffix(domain)
	switch {
	case domain == host:
		c.HostOnly = err == nil || suffix == domain
		return true
	case err == nil, !strings.HasSuffix(host, "."+domain), suffix == domain:
		return false // neither a foreign domain nor what belongs to a registry
	}
	c.Domain, c.HostOnly = domain, false
	return true
}

// fits reports whether a cookie like this may come from u (5.6, and 4.1.3 for the
// prefixes of names).
func (c *Cookie) fits(u address, host string) bool {
	name := strings.ToLower(c.Name)
	switch {
	case c.Secure && u.scheme != "https" && !isLoopback(host),
		c.SameSite == "None" && !c.Secure,
		strings.HasPrefix(name, "__secure-") && !c.Secure,
		strings.HasPrefix(name, "__host-") && (!c.Secure || !c.HostOnly || c.Path != "/"):
		return false
	}
	return true
}

// dateForms are the forms of dates that are met in cookies, weekdays off.
var dateForms = []string{
	"02 Jan 2006 15:04:05", "02 Jan 06 15:04:05", "2 Jan 2006 15:04:05", "Jan 02 15:04:05 2006", "Jan _2 15:04:05 2006", "02 Jan 2006 15:04",
}

func parseDate(s string) (time.Time, bool) {
	s = strings.ReplaceAll(s, "-", " ")
	if i := strings.IndexByte(s, ','); i >= 0 {
		s = s[i+1:]
	}
	s = strings.TrimSpace(s)
	for _, zone := range []string{" GMT", " UTC", " +0000", " Z"} {
		s = strings.TrimSuffix(s, zone)
	}
	for _, day := range []string{"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "} {
		s = strings.TrimPrefix(s, day)
	}
	for _, form := range dateForms {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
