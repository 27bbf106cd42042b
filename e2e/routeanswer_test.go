package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
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
	w, other := newWitness(t), newWitness(t)
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
