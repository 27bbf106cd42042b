package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// A command without a ref is confirmed for the origin of the document that it is for: a key
// for what has the focus, the mouse for what is at its point, an answer for what opened the
// dialog. A document of another origin that comes there afterwards gets nothing.
func TestAConfirmationWithoutARefNamesTheFramesOrigin(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "press,mouse,dialog"})
	shop, bank := newPageServer(t), newPageServer(t)
	bank.serve("/in", page("bank", `<style>body{margin:0}</style><input aria-label="PIN" style="height:60px;width:200px"><button onclick="setTimeout(()=>confirm('Pay?'))">Pay</button>`), "")
	shop.serve("/page", page("shop", `<style>body{margin:0}iframe{display:block;border:0;width:400px;height:100px}</style><iframe src="`+bank.URL+`/in"></iframe>`+
		`<button id=go style="display:block;width:400px;height:60px">Buy</button><iframe id=lure src="`+bank.URL+`/in" style="position:absolute;top:100px;visibility:hidden"></iframe>`+
		`<button onclick="go.onpointermove=()=>lure.style.visibility='visible'">Arm</button><button onclick="setTimeout(()=>confirm('Buy?'))">Ask</button><input aria-label="Count">`), "")
	a, o := as(t, d, ann), as(t, d, olga)
	a.open(shop.URL + "/page")
	v := a.snapshot()

	asks, answered := confirming(t, a, o, shop.URL)
	pin, count := v.ref(t, "textbox", "PIN"), v.ref(t, "textbox", "Count")
	a.do("click", params{"ref": count})
	answered(asks("press", params{"key": "1"}, shop.URL, true, "session"), "")
	a.do("press", params{"key": "2"}) // remembered for the shop
	a.do("click", params{"ref": pin})
	answered(asks("press", params{"key": "3"}, bank.URL, false, "no"), protocol.ConfirmationDenied)
	answered(asks("press", params{"key": "4"}, bank.URL, true, "no"), "")
	answered(asks("press", params{"key": "5", "ref": pin}, bank.URL, true, "no"), "")
	answered(asks("press", params{"key": "5", "ref": "label=PIN"}, bank.URL, true, "no"), "")
	if s := fmt.Sprintf("%+v", a.snapshot()); !strings.Contains(s, `value="12"`) {
		t.Errorf("the keys went elsewhere: %s", s)
	}
	click := func(x, y int) params { return params{"action": "click", "x": x, "y": y} }
	answered(asks("mouse", click(300, 50), bank.URL, false, "no"), protocol.ConfirmationDenied)
	answered(asks("mouse", click(100, 30), bank.URL, true, "no"), "")
	answered(asks("mouse", click(100, 130), shop.URL, true, "no"), "")
	for name, origin := range map[string]string{"Pay": bank.URL, "Ask": shop.URL} {
		a.do("click", params{"ref": v.ref(t, "button", name), "snapshot": "none"})
		answered(asks("dialog", params{"accept": false}, origin, true, "no"), "")
	}

	// The bank comes under the pointer of a click that was allowed for the shop.
	a.do("click", params{"ref": v.ref(t, "button", "Arm")})
	answered(asks("mouse", click(100, 130), shop.URL, true, "no"), protocol.ConfirmationDenied)
}
