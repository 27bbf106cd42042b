package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// What a route answers a page with is code, whatever it is made of: a supervised agent's
// operator is asked as for eval, one that only reads is refused, and the trail has it. A
// redirect leads where open may go and nowhere else.
func TestWhatARouteAnswersIsCode(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{
		"BROWSERD_AUTH__TOKENS":     fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"bob","token":%q,"autonomy":"read_only"},{"agent":"olga","token":%q,"role":"operator","autonomy":"full"}]`, ann, bob, olga),
		"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval,cookies_set",
	})
	w, other := newPageServer(t), newPageServer(t)
	w.serve("/page", page("shop", `<script src="/app.js"></script>`), "")
	other.mux.HandleFunc("/app.js", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(rw, "document.title = 'foreign'")
	})
	a, o := as(t, d, ann), as(t, d, olga)
	redirect := params{"pattern": "*/app.js", "kind": "script", "action": "answer", "status": 302, "headers": params{"Location": other.URL + "/app.js"}}
	for _, answer := range []params{
		redirect,
		{"pattern": "*/app.js", "action": "answer"},
		{"pattern": "*/app.js", "action": "answer", "headers": params{"Link": "</x.js>; rel=preload"}},
		{"pattern": "*/app.js", "action": "answer", "headers": params{"set-cookie": "sid=1"}},
	} {
		sent := a.send("route", answer)
		q := o.asked()
		if q["command"] != "eval" || q["host"] != "*/app.js" {
			t.Errorf("%v: the operator is asked %v", answer, q)
		}
		o.do("confirm", params{"id": q["id"], "allow": false})
		if _, err := a.wait(sent); protocol.CodeOf(err) != protocol.ConfirmationDenied {
			t.Errorf("%v: %v", answer, err)
		}
	}
	a.open(w.URL + "/page")
	if title := a.do("snapshot", nil).Page.Title; title != "shop" {
		t.Errorf("a refused answer ran: the title is %q", title)
	}
	// Cookies are asked for as cookies are, after the script was allowed.
	sent := a.send("route", params{"pattern": "*/app.js", "action": "answer", "headers": params{"Set-Cookie": "sid=1"}})
	o.do("confirm", params{"id": o.asked()["id"], "allow": true})
	q := o.asked()
	if q["command"] != "cookies_set" {
		t.Errorf("the operator is asked %v", q)
	}
	o.do("confirm", params{"id": q["id"], "allow": false})
	if _, err := a.wait(sent); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("the refused cookie: %v", err)
	}
	// What blocks is asked about by nobody.
	a.do("route", params{"pattern": "*/none"})

	b := as(t, d, bob)
	if e := b.refused("route", redirect, protocol.PolicyDenied); e.Details["reason"] != "read_only" {
		t.Errorf("who only reads: %v", e.Details)
	}

	sent = a.send("route", redirect)
	o.do("confirm", params{"id": o.asked()["id"], "allow": true})
	if _, err := a.wait(sent); err != nil {
		t.Fatal(err)
	}
	var trail string
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(trail, "route"); {
		var err error
		if trail, err = d.Command("audit", "--agent", "ann"); err != nil || time.Now().After(deadline) {
			t.Fatalf("the route is not in the trail: %v\n%s", err, trail)
		}
	}

	// Where open is refused, a redirect is too.
	narrow := as(t, d, olga)
	narrow.do("session_open", params{"allowed_domains": []string{"a.test"}})
	for _, headers := range []params{
		{"Location": other.URL + "/app.js"}, {"Location": "//b.test/app.js"}, {"location": `/\b.test`}, {"Location": "file:///etc/passwd"},
		{"Refresh": "0;url=https://b.test/"}, {"Link": "<https://b.test/x.js>; rel=preload"},
		{"Content-Security-Policy": "report-uri https://b.test/r"},
	} {
		sent := narrow.send("route", params{"pattern": "*", "action": "answer", "status": 302, "headers": headers})
		if _, err := narrow.wait(sent); protocol.CodeOf(err) != protocol.PolicyDenied {
			t.Errorf("%v: %v, want policy_denied", headers, err)
		}
	}
	narrow.do("route", params{"pattern": "*", "action": "answer", "status": 302, "headers": params{"Location": "/own"}})
}

// The same holds for each step of a batch and of a script: every form of answer is asked
// about as eval, a cookie as a cookie after that, and after a no nothing is routed.
func TestWhatARouteAnswersIsCodeInABatchAndAScript(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{
		"BROWSERD_AUTH__TOKENS":     fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"bob","token":%q,"autonomy":"read_only"},{"agent":"olga","token":%q,"role":"operator","autonomy":"full"}]`, ann, bob, olga),
		"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval,cookies_set,cookies_clear",
	})
	w, served := newPageServer(t), &atomic.Int64{}
	w.serve("/page", page("shop", `<script src="/app.js"></script>`), "")
	w.mux.HandleFunc("GET /app.js", func(rw http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		rw.Header().Set("Content-Type", "text/javascript")
		rw.Header().Set("Cache-Control", "no-store")
	})
	a, b, o := as(t, d, ann), as(t, d, bob), as(t, d, olga)
	a.open(w.URL + "/page")
	b.open(w.URL + "/page")
	ways := map[string]func(route params) (method string, p params){
		"batch": func(route params) (string, params) {
			return "batch", params{"commands": []params{{"method": "route", "params": route}}}
		},
		"batch that goes on": func(route params) (string, params) {
			return "batch", params{"stop_on_error": false, "commands": []params{{"method": "route", "params": route}, {"method": "tab_list"}}}
		},
		"run": func(route params) (string, params) {
			return "run", params{"input": route, "code": "await browser.route(input)"}
		},
		"run that catches": func(route params) (string, params) {
			return "run", params{"input": route, "code": "try { await browser.route(input) } catch {}"}
		},
		"run of its own code": func(route params) (string, params) {
			return "run", params{"input": route, "code": "const { action, ...rest } = input; await browser.route({ ...rest, get action() { return action } })"}
		},
	}
	attempts := 0
	for way, call := range ways {
		for _, headers := range []params{
			nil, {}, {"Location": w.URL + "/other.js"}, {"lOCATION": "/other.js"}, {"Content-Security-Policy": "script-src *"}, {"Refresh": "0;url=/other"},
			{"Link": "</x.js>; rel=preload"}, {"Access-Control-Allow-Origin": "*"}, {"Set-Cookie": "sid=1"}, {"sEt-cOOKIE": "sid=1"}, {"clear-SITE-data": `"cookies"`},
		} {
			route := params{"pattern": "*/app.js", "action": "answer", "status": 302}
			if headers != nil {
				route["headers"] = headers
			}
			attempts += 2
			method, p := call(route)
			sent := a.send(method, p)
			asked := []string{"eval"}
			for name := range headers {
				switch {
				case strings.EqualFold(name, "Set-Cookie"):
					asked = append(asked, "cookies_set")
				case strings.EqualFold(name, "Clear-Site-Data"):
					asked = append(asked, "cookies_clear")
				}
			}
			for i, command := range asked {
				q := o.asked()
				if q["command"] != command || q["agent"] != "ann" {
					t.Errorf("%s, %v: the operator is asked %v, want %s", way, headers, q, command)
				}
				o.do("confirm", params{"id": q["id"], "allow": i+1 < len(asked)}) // the last is a no
			}
			a.wait(sent) // how it ends depends on the way
			method, p = call(route)
			b.try(method, p)
		}
	}
	var left struct{ Routes []protocol.Route }
	if err := a.c.Call(t.Context(), "route", params{"pattern": "*/none", "action": "remove"}, &left); err != nil || len(left.Routes) > 0 {
		t.Errorf("routed after a no: %v %v", left.Routes, err)
	}
	for _, agent := range []*agent{a, b} {
		before := served.Load()
		agent.open(w.URL + "/page")
		until(t, 10*time.Second, "the site to be asked for its own script", func() bool { return served.Load() > before })
	}
	if attempts != 110 { // docs/security.md says so
		t.Errorf("%d attempts", attempts)
	}
}
