package loginform

import (
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/shelf"
)

// Recipe is how an agent logs in somewhere. It names secrets and holds none.
type Recipe struct {
	Version  int    `json:"version"` // RecipeVersion
	URL      string `json:"url,omitempty"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"` // the name of a secret
	Code     string `json:"code,omitempty"`     // the name of a secret
	Script   string `json:"script,omitempty"`   // the name of a script that run saved
}

// RecipeVersion is the version of Recipe's own form.
const RecipeVersion = 1

// NewStore keeps the recipes of agents on a shelf, as many as states, sealed if c has a key.
func NewStore(on shelf.Shelf, c session.StateConfig) *session.Store[Recipe] {
	return session.NewStore(on, session.Kind{
		Noun: "login", Key: c.Key, Count: c.Count, Bytes: c.Bytes, MaxBytes: 64 << 10, Config: "state", AdditionalData: "\x00login",
		SaveAgain: "save it again: login with name and url", SeeAll: "login_list lists yours; login with name and url keeps one",
		Free: "remove some with login_delete (login_list lists them), or save over one of them",
	}, func(r Recipe) bool { return r.Version == RecipeVersion })
}
