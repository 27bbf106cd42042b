package fallback

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
)

// cdpCookie is a cookie as CDP's Network.Cookie has it: the form in which
// cookies pass between the sources (protocol.Restore).
type cdpCookie struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	Domain   string  `json:"domain"` // with a dot in front where it holds for what lies below
	Path     string  `json:"path"`
	Expires  float64 `json:"expires"` // seconds since 1970; -1: with the session
	Size     int     `json:"size"`
	HTTPOnly bool    `json:"httpOnly"`
	Secure   bool    `json:"secure"`
	Session  bool    `json:"session"`
	SameSite string  `json:"sameSite,omitempty"`
}

// export writes the jar's cookies as Restore carries them.
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

// restore puts what remains of another page into the jar. What is no list of
// cookies is left out: it came from another process.
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
