package e2e_test

import (
	"errors"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/protocol"
)

// confirming returns asks, which sends a command of agent a in a tab of origin tabOrigin
// and answers the question that operator o is asked, and answered, which waits for the
// command's result.
func confirming(t *testing.T, a, o *agent, tabOrigin string) (asks func(method string, p params, origin string, allow bool, remember string) *client.Pending, answered func(sent *client.Pending, want protocol.Code)) {
	asks = func(method string, p params, origin string, allow bool, remember string) *client.Pending {
		t.Helper()
		sent := a.send(method, p)
		q := o.asked()
		tab := any(tabOrigin)
		if origin == tabOrigin {
			tab = nil
		}
		if q["command"] != method || q["origin"] != origin || q["tab_origin"] != tab {
			t.Errorf("%s %v: the operator is told origin %v, tab %v, want %s, %v", method, p, q["origin"], q["tab_origin"], origin, tab)
		}
		o.do("confirm", params{"id": q["id"], "allow": allow, "remember": remember})
		return sent
	}
	answered = func(sent *client.Pending, want protocol.Code) {
		t.Helper()
		if _, err := a.wait(sent); protocol.CodeOf(err) != want && !(want == "" && err == nil) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	return asks, answered
}

// An operator is told the origin of the frame in which a command will run, and the
// tab's where that is another; the answer is remembered for the frame's alone.
func TestAConfirmationNamesTheFramesOrigin(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval,click,fill,upload,drag"})
	shop, bank := newPageServer(t), newPageServer(t)
	const fields = `<input aria-label="PIN"><input type=file aria-label="Proof"><button>Pay</button>`
	bank.serve("/in", page("bank", fields), "")
	for _, w := range []*pageServer{shop, bank} {
		w.serve("/next", page("next", "<h1>Next</h1><script>report('here')</script>"), "")
	}
	shop.serve("/page", page("shop", `<button>Buy</button><iframe src="`+bank.URL+`/in"></iframe><iframe sandbox=allow-scripts srcdoc="<button>Sandboxed</button>"></iframe>`+
		`<iframe srcdoc="<button>Own</button>"></iframe>`), "")
	a, o := as(t, d, ann), as(t, d, olga)
	a.open(shop.URL + "/page")
	v := a.snapshot()
	pay, buy := v.ref(t, "button", "Pay"), v.ref(t, "button", "Buy")

	asks, answered := confirming(t, a, o, shop.URL)
	where := params{"ref": pay, "expression": "location.href"}
	answered(asks("eval", params{"ref": buy, "expression": "1"}, shop.URL, true, "session"), "")
	// Remembered for the shop: not for the bank's frame in it.
	answered(asks("eval", where, bank.URL, true, "session"), "")
	if r := ask[struct{ Value string }](a, "eval", where); r.Value != bank.URL+"/in" {
		t.Errorf("remembered, it ran in %s", r.Value)
	}
	answered(asks("click", params{"ref": pay}, bank.URL, false, "no"), protocol.ConfirmationDenied)
	answered(asks("upload", params{"ref": v.ref(t, "button", "Proof"), "files": []params{{"name": "a", "base64": ""}}}, bank.URL, false, "no"), protocol.ConfirmationDenied)
	answered(asks("fill", params{"fields": []params{{"ref": v.ref(t, "textbox", "PIN"), "value": "1"}}}, bank.URL, false, "no"), protocol.ConfirmationDenied)
	answered(asks("click", params{"ref": v.ref(t, "button", "Own")}, shop.URL, false, "no"), protocol.ConfirmationDenied)
	sent := a.send("drag", params{"ref": buy, "to": pay})
	if q := o.asked(); q["origin"] != min(shop.URL, bank.URL)+" "+max(shop.URL, bank.URL) {
		t.Errorf("drag from one frame to another: %v", q)
	} else {
		o.do("confirm", params{"id": q["id"], "allow": false})
	}
	answered(sent, protocol.ConfirmationDenied)
	// An opaque origin is equal to no other: nothing is remembered for it.
	boxed := params{"ref": v.ref(t, "button", "Sandboxed"), "expression": "1"}
	answered(asks("eval", boxed, "null", true, "always"), "")
	answered(asks("eval", boxed, "null", false, "session"), protocol.ConfirmationDenied)

	// The frame, and then the tab, goes elsewhere while the operator thinks.
	moves := func(method string, p params, leave string, arrives *pageServer) {
		t.Helper()
		a.do("eval", params{"ref": buy, "expression": "()=>{setTimeout(()=>{" + leave + "}, 1000)}"})
		sent := a.send(method, p)
		q := o.asked()
		until(t, 20*time.Second, "the page goes on", func() bool { return len(arrives.said("next")) > 0 })
		o.do("confirm", params{"id": q["id"], "allow": true})
		_, err := a.wait(sent)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != protocol.ConfirmationDenied || e.Details["reason"] != "moved" {
			t.Errorf("%s where the page went on: %v, want confirmation_denied, moved", method, err)
		}
	}
	moves("click", params{"ref": pay}, "frames[0].location='"+shop.URL+"/next'", shop)
	moves("click", params{"ref": buy}, "location='"+bank.URL+"/next'", bank)
	a.open(shop.URL + "/page")
	// What was allowed at the shop does not go on at the bank.
	waiting := a.send("wait", params{"expression": "(setTimeout(()=>{location='" + bank.URL + "/next'},500), location.pathname=='/next')", "timeout_ms": 10000})
	_, err := a.wait(waiting)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.ConfirmationDenied || e.Details["reason"] != "moved" || e.Details["command"] != "wait" {
		t.Errorf("an expression that is waited for from one origin into another: %v", err)
	}
}
