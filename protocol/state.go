package protocol

import "time"

// Cookie is a cookie as a session holds it (RFC 6265, 4.1).
type Cookie struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// URL is for setting alone: domain, path and secure are taken from it where
	// they are not given.
	URL    string `json:"url,omitempty"`
	Domain string `json:"domain,omitempty"` // with a dot before it: its subdomains too
	Path   string `json:"path,omitempty"`
	// Expires is in seconds since 1970; 0: the cookie ends with the session.
	Expires  float64 `json:"expires,omitempty"`
	HTTPOnly bool    `json:"http_only,omitempty"`
	Secure   bool    `json:"secure,omitempty"`
	SameSite string  `json:"same_site,omitempty"` // Strict, Lax, None; empty: none was said
	// Partition is the site in whose pages a partitioned cookie lives (CHIPS);
	// nil: it is an ordinary one.
	Partition *CookiePartition `json:"partition,omitempty"`
}

// CookiePartition is where a partitioned cookie lives.
type CookiePartition struct {
	TopLevelSite string `json:"top_level_site"`
	CrossSite    bool   `json:"cross_site,omitempty"` // a frame of another site is around it
}

// State is what makes a session logged in, as state_save keeps it.
type State struct {
	Version int       `json:"version"` // StateVersion
	Saved   time.Time `json:"saved"`
	Cookies []Cookie  `json:"cookies"`
	Origins []Origin  `json:"origins"`
	// Ran are the origins whose storage may have code of the agent's: its JavaScript has run there, or it wrote
	// the storage itself. Everywhere stands for all origins.
	Ran        []string `json:"ran,omitempty"`
	Everywhere bool     `json:"everywhere,omitempty"`
}

// StateVersion is the version of State's own form.
const StateVersion = 1

// Origin is what one origin keeps in a session.
type Origin struct {
	Origin       string      `json:"origin"`        // such as https://example.com
	LocalStorage [][2]string `json:"local_storage"` // key and value; null: left as it is
	// SessionStorage is that of the tab in which the origin was shown last.
	SessionStorage [][2]string `json:"session_storage,omitempty"`
}
