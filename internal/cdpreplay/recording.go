package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// recording is what a real Chromium said.
type recording struct {
	root  map[string]*exchange // of the browser itself, by key
	lives []*life
}

// life is one browser context, from the request that made it to the one that disposed of it.
type life struct {
	ids      map[string]bool // its own, its target's and its cdp session's: the same in all stages
	stages   []*stage        // the first up to the first navigation, then one for each
	disposed bool
}

// stage is what was said until the next navigation.
type stage struct {
	exchanges []*exchange
	byKey     map[string][]*exchange // in the order in which they were asked
}

// exchange is a request with what came of it.
type exchange struct {
	key    string
	at     time.Duration
	causes bool
	answer said
	events []said
}

// said is a message, and how long after the request it came.
type said struct {
	after time.Duration
	parts []string // every other one is an id
}

type message struct {
	ID        int64  `json:"id"`
	Method    string `json:"method"`
	SessionID string `json:"sessionId"`
	Params    struct {
		BrowserContextID    string `json:"browserContextId"`
		SessionID           string `json:"sessionId"`
		TargetID            string `json:"targetId"`
		Type                string `json:"type"`
		Name                string `json:"name"`
		Expression          string `json:"expression"`
		FunctionDeclaration string `json:"functionDeclaration"`
		StorageID           struct {
			IsLocalStorage bool `json:"isLocalStorage"`
		} `json:"storageId"`
		TargetInfo struct {
			BrowserContextID string `json:"browserContextId"`
		} `json:"targetInfo"`
	} `json:"params"`
	Result struct {
		BrowserContextID string `json:"browserContextId"`
	} `json:"result"`
}

// key says which requests are answered alike: the method, and what tells its uses apart.
func (m message) key() string {
	p := m.Params
	expression, _, _ := strings.Cut(p.Expression, "({")
	return fmt.Sprint(m.Method, " ", p.Type, " ", p.Name, " ", expression, " ", p.FunctionDeclaration, " ", p.StorageID.IsLocalStorage)
}

const navigate = "Page.navigate"

// causes reports whether events are due to such a request; those after any other are not: it is asked at
// whatever time.
func (m message) causes() bool {
	switch m.Method {
	case "Target.createTarget", "Runtime.runIfWaitingForDebugger", navigate, "Input.dispatchMouseEvent",
		"Fetch.continueRequest", "Fetch.continueWithAuth", "Target.disposeBrowserContext":
		return true
	}
	return strings.HasPrefix(m.Params.Expression, "fetch(")
}

// idPattern is what Chromium makes anew for each context, target, cdp session, document and world.
var idPattern = regexp.MustCompile(`\b[0-9A-F]{32}\b|-?\b[0-9]{15,20}\.-?[0-9]{15,20}\b`)

// split takes a message apart at its ids.
func split(text string) (parts []string) {
	end := 0
	for _, at := range idPattern.FindAllStringIndex(text, -1) {
		parts = append(parts, text[end:at[0]], text[at[0]:at[1]])
		end = at[1]
	}
	return append(parts, text[end:])
}

// load reads a recording. Of the lives it has those that were whole and navigated twice or more, without the
// first, which began with the browser.
func load(path string) (*recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &recording{root: map[string]*exchange{}}
	asked := map[int64]*exchange{}
	owner := map[int64]*life{} // of the requests that make a context
	byID := map[string]*life{} // of contexts, targets and cdp sessions
	var all []*life
	for in := json.NewDecoder(f); in.More(); {
		var e entry
		var m message
		if err := in.Decode(&e); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(e.Text, &m); err != nil {
			return nil, err
		}
		l := byID[m.SessionID]
		for _, id := range []string{m.Params.BrowserContextID, m.Params.TargetInfo.BrowserContextID, m.Params.SessionID, m.Params.TargetID} {
			if l == nil {
				l = byID[id]
			}
		}
		switch {
		case e.Sent && m.Method == "Target.createBrowserContext":
			l = &life{ids: map[string]bool{}}
			all = append(all, l)
			owner[m.ID] = l
			asked[m.ID] = l.ask(m, e.At)
		case e.Sent && l != nil:
			asked[m.ID] = l.ask(m, e.At)
			l.disposed = l.disposed || m.Method == "Target.disposeBrowserContext"
		case e.Sent:
			x := &exchange{key: m.key(), at: e.At}
			asked[m.ID], r.root[x.key] = x, x
		case m.ID != 0:
			x := asked[m.ID]
			if made := owner[m.ID]; made != nil {
				byID[m.Result.BrowserContextID], made.ids[m.Result.BrowserContextID] = made, true
			}
			_, rest, _ := strings.Cut(string(e.Text), ",") // Chromium writes the id first
			x.answer = said{e.At - x.at, split(rest)}
		case l != nil:
			for _, id := range []string{m.Params.SessionID, m.Params.TargetID} {
				if id != "" {
					byID[id], l.ids[id] = l, true
				}
			}
			if m.Method == "Target.attachedToTarget" {
				for _, id := range idPattern.FindAllString(string(e.Text), -1) {
					byID[id], l.ids[id] = l, true
				}
			}
			if x := l.cause(); x != nil {
				x.events = append(x.events, said{e.At - x.at, split(string(e.Text))})
			}
		}
	}
	for i, l := range all {
		if i > 0 && l.disposed && len(l.stages) > 3 {
			r.lives = append(r.lives, l)
		}
	}
	if len(r.lives) == 0 {
		return nil, fmt.Errorf("%s: no browser context was recorded from its beginning to its end", path)
	}
	return r, nil
}

// ask adds a request.
func (l *life) ask(m message, at time.Duration) *exchange {
	if len(l.stages) == 0 || m.Method == navigate {
		l.stages = append(l.stages, &stage{byKey: map[string][]*exchange{}})
	}
	x := &exchange{key: m.key(), at: at, causes: m.causes()}
	s := l.stages[len(l.stages)-1]
	s.exchanges = append(s.exchanges, x)
	s.byKey[x.key] = append(s.byKey[x.key], x)
	return x
}

// cause returns the last request that causes events.
func (l *life) cause() *exchange {
	for i := len(l.stages) - 1; i >= 0; i-- {
		list := l.stages[i].exchanges
		for j := len(list) - 1; j >= 0; j-- {
			if list[j].causes {
				return list[j]
			}
		}
	}
	return nil
}
