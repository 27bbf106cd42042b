package fallback

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
)

// cdpCookie is CDP's Network.Cookie, the form in which cookies pass between Chromium and
// this package (protocol.Restore).
type cdpCookie struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	Domain   string  `json:"domain"` // begins with a dot if the cookie is for subdomains too
	Path     string  `json:"path"`
	Expires  float64 `json:"expires"` // seconds since 1970; -1 for a session cookie
	Size     int     `json:"size"`
	HTTPOnly bool    `json:"httpOnly"`
	Secure   bool    `json:"secure"`
	Session  bool    `json:"session"`
	SameSite string  `json:"sameSite,omitempty"`
}

// export returns the jar's cookies as JSON for protocol.Restore, and how many they are.
func (j *Jar) export() (cookies []byte, count int) {
	list := []cdpCookie{}
	for _, c := range j.All() {
		o := cdpCookie{
			Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Expires: -1, Size: len(c.Name) + len(c.Value),
			HTTPOnly: c.HTTPOnly, Secure: c.Secure, Session: c.Expires.IsZero(), SameSite: c.SameSite,
		}
		if !c.HostOnly {
			o.Domain = "." + c.Domain
		}
		if !o.Session {
			o.Expires = float64(c.Expires.UnixMilli()) / 1000
		}
		list = append(list, o)
	}
	b, err := json.Marshal(list)
	if err != nil {
		return nil, 0
	}
	return b, len(list)
}

// restore puts the cookies of another page into the jar. It ignores what is not a list of
// cookies, because another process wrote it.
func (j *Jar) restore(r *protocol.Restore) {
	if r == nil {
		return
	}
	var list []cdpCookie
	if json.Unmarshal(r.Cookies, &list) != nil {
		return
	}
	for _, c := range list {
		n := Cookie{
			Name: c.Name, Value: c.Value, Domain: strings.TrimPrefix(c.Domain, "."), HostOnly: !strings.HasPrefix(c.Domain, "."), Path: c.Path,
			Secure: c.Secure, HTTPOnly: c.HTTPOnly, SameSite: c.SameSite,
		}
		if !c.Session && c.Expires > 0 {
			n.Expires = time.UnixMilli(int64(c.Expires * 1000))
		}
		j.Put(n)
	}
}
