package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/browserd/browserd/protocol"
)

// countedShop is a site where users buy things one by one. It counts what each has bought, and numbers
// the documents that it gives to each.
type countedShop struct {
	*pageServer
	mu                sync.Mutex
	bought, documents map[string]int
}

// seenByPage is what a page of the shop says of itself.
type seenByPage struct {
	User     string `json:"user"`
	Bought   int    `json:"bought"`
	Document int    `json:"document"`
}

func newCountedShop(t *testing.T) *countedShop {
	s := &countedShop{pageServer: newPageServer(t), bought: map[string]int{}, documents: map[string]int{}}
	user := func(r *http.Request) string {
		if c, err := r.Cookie("user"); err == nil {
			return c.Value
		}
		return "nobody"
	}
	s.mux.HandleFunc("GET /login", func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "user", Value: r.URL.Query().Get("as"), Path: "/", MaxAge: 36000})
		http.Redirect(rw, r, "/shop", http.StatusFound)
	})
	s.mux.HandleFunc("GET /shop", func(rw http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.documents[user(r)]++
		document := s.documents[user(r)]
		s.mu.Unlock()
		fmt.Fprintf(rw, `<!doctype html><title>Shop</title><h1>%s</h1><form method=post action=/buy><button>Buy</button></form>
<script>const ask = async (method) => (await fetch("/count?document=%d", {method})).json()</script>`, user(r), document)
	})
	count := func(rw http.ResponseWriter, r *http.Request) {
		document, _ := strconv.Atoi(r.URL.Query().Get("document"))
		s.mu.Lock()
		if r.Method == http.MethodPost {
			s.bought[user(r)]++
		}
		seen := seenByPage{user(r), s.bought[user(r)], document}
		s.mu.Unlock()
		json.NewEncoder(rw).Encode(seen)
	}
	s.mux.HandleFunc("GET /count", count)
	s.mux.HandleFunc("POST /count", count)
	s.mux.HandleFunc("POST /buy", func(rw http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.bought[user(r)]++
		s.mu.Unlock()
		http.Redirect(rw, r, "/shop", http.StatusSeeOther)
	})
	return s
}

func (s *countedShop) boughtBy(user string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bought[user]
}

// buyer is an agent with a session of its own, which sends each command to any node that is up,
// on a connection of its own.
type buyer struct {
	f                *faultyFleet
	name             string // of the session, and of the user
	rand             *rand.Rand
	began            time.Time
	history          []porcupine.Operation
	codes            map[string]int
	losses, restored int
	lost             bool // and not seen again yet
}

func newBuyer(f *faultyFleet, name string, seed uint64) *buyer {
	return &buyer{f: f, name: name, rand: rand.New(rand.NewPCG(seed, uint64(len(f.all)+1))), began: time.Now(), codes: map[string]int{}}
}

// What a command does, and what is known of it afterwards.
type (
	errand  string
	outcome struct {
		kind fate
		page *seenByPage // nil: it says nothing of the page
	}
	fate string
)

const (
	byRequest  errand = "buys by a request of the page"
	byClick    errand = "buys by a click"
	countAsked errand = "asks how much was bought"
	shopOpened errand = "opens the shop"

	wasDone     fate = "done"
	notDone     fate = "not done"
	unknownFate fate = "nobody knows"
)

// begin opens the session and logs in.
func (s *buyer) begin() error {
	for _, c := range []struct {
		method string
		p      params
	}{{"session_open", params{"name": s.name}}, {"open", params{"session": s.name, "url": s.f.shop.URL + "/login?as=" + s.name}}} {
		if _, err := s.send(c.method, c.p, nil); err != nil {
			return fmt.Errorf("%s: %w", c.method, err)
		}
	}
	return nil
}

// work acts until it is told to stop, as an agent that thinks between two commands.
func (s *buyer) work(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			for range 20 { // what the last fault cost it comes back, or does not
				if s.lost {
					s.do(countAsked, "eval", params{"expression": `ask("GET")`})
				}
			}
			return
		case <-time.After(time.Duration(200+s.rand.IntN(600)) * time.Millisecond):
		}
		switch n := s.rand.IntN(10); {
		case n < 5:
			s.do(byRequest, "eval", params{"expression": `ask("POST")`})
		case n < 7:
			s.do(byClick, "click", params{"ref": `role=button[name="Buy"]`})
		case n < 9:
			s.do(countAsked, "eval", params{"expression": `ask("GET")`})
		default:
			s.do(shopOpened, "open", params{"url": s.f.shop.URL + "/shop"})
		}
	}
}

// stillActs is how long after its answer was lost a command may act: the time that it has, and a
// node that was stopped meanwhile.
const stillActs = 60 * time.Second

// do sends a command and notes it in the history.
func (s *buyer) do(what errand, method string, p params) {
	p["session"] = s.name
	op := porcupine.Operation{Input: what, Call: time.Since(s.began).Nanoseconds()}
	sent := time.Now()
	var r struct{ Value *seenByPage }
	code, err := s.send(method, p, &r)
	out := outcome{kind: wasDone, page: r.Value}
	op.Return = time.Since(s.began).Nanoseconds()
	switch {
	case err == nil && r.Value != nil && r.Value.User != s.name:
		s.f.t.Logf("session %s is %s", s.name, r.Value.User)
		out = outcome{kind: notDone}
		s.lost = false // and not restored
		s.send("open", params{"session": s.name, "url": s.f.shop.URL + "/login?as=" + s.name}, nil)
	case err == nil:
		s.f.seen(s.name, sent)
		if s.lost && r.Value != nil {
			s.lost = false
			s.restored++
		}
	case code == protocol.BrowserLost:
		s.f.seen(s.name, sent)
		if !s.lost {
			s.losses++
		}
		s.lost = true
		out.kind = notDone
	case code == protocol.OutcomeUnknown || code == protocol.Timeout || code == "":
		out.kind = unknownFate
		op.Return += stillActs.Nanoseconds()
	default:
		out.kind = notDone
		if code == protocol.SessionNotFound {
			s.losses++
			s.f.t.Logf("session %s is gone: %v; begun again: %v", s.name, err, s.begin())
		}
	}
	op.Output = out
	s.history = append(s.history, op)
}

// send sends a command to a node that is up. code is that of its error, empty where there is none
// or the answer was lost.
func (s *buyer) send(method string, p params, into any) (code protocol.Code, err error) {
	body, _ := json.Marshal(p)
	for {
		n := s.f.nodes[s.rand.IntN(len(s.f.nodes))]
		if !n.up.Load() {
			time.Sleep(time.Millisecond)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), stillActs)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.options.Addr+"/v1/"+method, bytes.NewReader(body))
		if err != nil {
			return "", err
		}
		req.Header.Set("Authorization", "Bearer "+n.token)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
			continue
		}
		if err != nil {
			s.codes["no answer"]++
			return "", err
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			s.codes["no answer"]++
			return "", err
		}
		if resp.StatusCode == http.StatusOK {
			s.codes["ok"]++
			if into == nil {
				return "", nil
			}
			return "", json.Unmarshal(text, into)
		}
		var failed struct{ Error protocol.ErrorData }
		if err := json.Unmarshal(text, &failed); err != nil {
			return "", fmt.Errorf("%s: status %d: %s", method, resp.StatusCode, text)
		}
		s.codes[string(failed.Error.Code)]++
		return failed.Error.Code, fmt.Errorf("%s: %s", method, text)
	}
}

// violations returns where the history contradicts what a session may do.
func (s *buyer) violations(bought int) (list []string) {
	least, most := 0, 0
	for _, op := range s.history {
		if op.Input == byRequest || op.Input == byClick {
			switch op.Output.(outcome).kind {
			case wasDone:
				least, most = least+1, most+1
			case unknownFate:
				most++
			}
		}
	}
	if bought < least || bought > most {
		list = append(list, fmt.Sprintf("session %s bought %d, and %d to %d were answered", s.name, bought, least, most))
	}
	if porcupine.CheckOperationsTimeout(buyersModel.ToModel(), s.history, time.Minute) == porcupine.Illegal {
		list = append(list, fmt.Sprintf("the history of session %s is not one of a session:\n%s", s.name, s.tail()))
	}
	return list
}

func (s *buyer) tail() (text string) {
	for _, op := range s.history {
		out := op.Output.(outcome)
		text += fmt.Sprintf("%8d ms to %8d ms: %s: %s", op.Call/1e6, op.Return/1e6, op.Input, out.kind)
		if out.page != nil {
			text += fmt.Sprintf(" %+v", *out.page)
		}
		text += "\n"
	}
	return text
}

// buyersModel is a session as its client may see it: what is wasDone is wasDone once, what is answered
// stays, and its page is never one that was left before. The state is the last seenByPage.
var buyersModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{seenByPage{}} },
	Step: func(state, in, out any) []any {
		was, o := state.(seenByPage), out.(outcome)
		next := was
		if in == byRequest || in == byClick {
			next.Bought++
		}
		if o.page != nil {
			next.Document = o.page.Document
		}
		switch {
		case o.kind == notDone:
			return []any{was}
		case o.kind == unknownFate:
			return []any{was, next}
		case o.page != nil && (o.page.Bought != next.Bought || o.page.Document < was.Document):
			return nil
		}
		return []any{next}
	},
	Equal: func(a, b any) bool { return a == b },
}
