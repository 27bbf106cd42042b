package actions

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/browser/storage"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// StateImport is the command state_import.
var StateImport = command.Define(command.Row{
	Name: "state_import", Summary: "Saves under a name, for state_load, the cookies and local storage of Playwright's storageState or of a cookies.txt.", Main: "name",
	Flags:      command.Unqueued | command.NoSession | command.SessionWide,
	LocalFiles: "content",
	Implied:    []command.Implied{{Parameter: "content", As: StateSave}},
	Examples: []command.Example{
		{For: "Takes over a login that Playwright has saved", Params: `{"name": "shop", "content": "{\"cookies\": [{\"name\": \"sid\", \"value\": \"1\", \"domain\": \"shop.example\", \"path\": \"/\", \"expires\": -1, \"httpOnly\": true, \"secure\": true, \"sameSite\": \"Lax\"}], \"origins\": [{\"origin\": \"https://shop.example\", \"localStorage\": [{\"name\": \"theme\", \"value\": \"dark\"}]}]}"}`},
	},
}, stateImport)

// StateImportParams are the parameters of state_import.
type StateImportParams struct {
	Name    string `json:"name" required:"true" doc:"your name for the state: small letters, digits, '.', '_' and '-'"`
	Content string `json:"content" code:"true" required:"true" doc:"the JSON that Playwright's context.storageState() gives, or the text of a cookies.txt (Netscape's format)"`
}

// StateImportResult is the answer of state_import.
type StateImportResult struct {
	Name    string   `json:"name"`
	Cookies int      `json:"cookies"` // how many
	Origins []string `json:"origins"` // whose local storage is in it
	// LeftOut are the origins that have databases (IndexedDB), which a state does not keep.
	LeftOut []string `json:"left_out,omitempty"`
}

func stateImport(_ context.Context, c *command.Call, p *StateImportParams) (StateImportResult, error) {
	s := protocol.State{Version: protocol.StateVersion, Saved: time.Now().UTC(), Cookies: []protocol.Cookie{}, Origins: []protocol.Origin{}}
	r := StateImportResult{Name: p.Name, Origins: []string{}}
	var err error
	if strings.HasPrefix(strings.TrimSpace(p.Content), "{") {
		r.LeftOut, err = storageState(p.Content, &s)
	} else {
		s.Cookies, err = cookiesTxt(p.Content)
	}
	if err != nil {
		return StateImportResult{}, err
	}
	if len(s.Cookies)+len(s.Origins) == 0 {
		return StateImportResult{}, badContent("it holds no cookies and no local storage")
	}
	for _, o := range s.Origins { // sites run what they find in their storage
		s.Ran = append(s.Ran, o.Origin)
	}
	if err := c.Runtime.States.WithHold(c.Caller.Agent, p.Name, func() error { return c.Runtime.States.Save(c.Caller.Agent, p.Name, s) }); err != nil {
		return StateImportResult{}, err
	}
	r.Cookies = len(s.Cookies)
	for _, o := range s.Origins {
		r.Origins = append(r.Origins, o.Origin)
	}
	return r, nil
}

// badContent returns the error of a content that is not one.
func badContent(format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.InvalidParams, "content: "+format, args...).With("parameter", "content").
		Then("pass what Playwright's context.storageState({path}) writes, or a cookies.txt with seven fields and tabs between them")
}

// storageState reads https://playwright.dev/docs/api/class-browsercontext#browser-context-storage-state.
func storageState(content string, s *protocol.State) (leftOut []string, err error) {
	var from struct {
		Cookies []struct {
			Name, Value, Domain, Path, SameSite, PartitionKey string
			Expires                                           float64
			HTTPOnly, Secure                                  bool
		}
		Origins []struct {
			Origin       string
			LocalStorage []struct{ Name, Value string }
			IndexedDB    []json.RawMessage
		}
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(content))).Decode(&from); err != nil {
		return nil, badContent("it is no storageState of Playwright: %v", err)
	}
	for i, k := range from.Cookies {
		switch {
		case k.Name == "" && k.Value == "" || k.Domain == "":
			return nil, badContent("cookies[%d]: needs a name and a domain", i)
		case !slices.Contains([]string{"", "Strict", "Lax", "None"}, k.SameSite):
			return nil, badContent("cookies[%d].sameSite: accepts Strict, Lax or None, not %q", i, protocol.Cut(k.SameSite, 60))
		case k.PartitionKey != "":
			leftOut = append(leftOut, k.PartitionKey)
			continue
		}
		s.Cookies = append(s.Cookies, protocol.Cookie{
			Name: k.Name, Value: k.Value, Domain: k.Domain, Path: k.Path, Expires: math.Max(0, k.Expires), HTTPOnly: k.HTTPOnly, Secure: k.Secure, SameSite: k.SameSite,
		})
	}
	if len(from.Origins) > storage.MaxOrigins {
		return nil, protocol.Errorf(protocol.TooLarge, "content: it has %d origins", len(from.Origins)).With("limit", storage.MaxOrigins).With("size", len(from.Origins))
	}
	for i, o := range from.Origins {
		origin := policy.ParseOrigin(o.Origin)
		if origin == "" {
			return nil, badContent("origins[%d].origin: accepts an origin such as https://shop.example, not %q", i, protocol.Cut(o.Origin, 60))
		}
		if len(o.IndexedDB) > 0 {
			leftOut = append(leftOut, origin)
		}
		to := protocol.Origin{Origin: origin}
		for _, item := range o.LocalStorage {
			to.LocalStorage = append(to.LocalStorage, [2]string{item.Name, item.Value})
		}
		if to.LocalStorage != nil {
			s.Origins = append(s.Origins, to)
		}
	}
	return leftOut, nil
}

// cookiesTxt returns the cookies of a cookies.txt as a session holds them.
func cookiesTxt(content string) ([]protocol.Cookie, error) {
	list, err := netscapeCookies("content", content)
	for i := range list {
		if k := &list[i]; k.URL != "" { // for this host alone
			k.Domain, _, _ = strings.Cut(strings.SplitN(k.URL, "://", 2)[1], "/")
			k.URL = ""
		}
	}
	return list, err
}
