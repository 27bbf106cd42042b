package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// A key that was allowed for the document with the focus is pressed there or nowhere: the
// page gives the focus to a frame of another origin, or takes it from there, while the
// operator thinks. Shortcuts and keys that are held or released are keys as well.
func TestAKeyIsPressedWhereItWasAllowed(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "press"})
	shop, bank := newPageServer(t), newPageServer(t)
	var keys atomic.Int64
	focused := make(chan string, 100)
	focuses := make(chan string) // the name of the frame that gets the focus
	for _, w := range []*pageServer{shop, bank} {
		origin := w.URL
		w.mux.HandleFunc("/focused", func(http.ResponseWriter, *http.Request) { focused <- origin })
		w.mux.HandleFunc("/key", func(http.ResponseWriter, *http.Request) { keys.Add(1) })
	}
	const field = `<input aria-label="Field" value="secret"><script>onfocus=()=>{document.querySelector('input').focus();fetch('/focused')};` +
		`for(const e of ['keydown','keyup','paste','copy','cut','beforeinput'])addEventListener(e,()=>fetch('/key'),true)</script>`
	bank.serve("/in", page("bank", field), "")
	shop.serve("/in", page("own", field), "")
	shop.mux.HandleFunc("/focus", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		for {
			http.NewResponseController(rw).Flush()
			select {
			case name := <-focuses:
				fmt.Fprintf(rw, "data: %s\n\n", name)
			case <-r.Context().Done():
				return
			}
		}
	})
	shop.serve("/page", page("shop", `<script>new EventSource('/focus').onmessage=e=>document.getElementsByName(e.data)[0].focus()</script><input aria-label="Own"><iframe name=bank src="`+bank.URL+`/in"></iframe><iframe name=own src="/in"></iframe>`), "")
	a, o := as(t, d, ann), as(t, d, olga)
	a.open(shop.URL + "/page")
	v := a.snapshot()
	own := v.ref(t, "textbox", "Own")
	tried := 0
	for _, key := range []string{"a", "Control+v", "Control+c", "Control+z", "Enter"} {
		for _, action := range []string{"press", "down", "up"} {
			for frame, moved := range map[string]bool{"bank": true, "own": false} {
				a.do("click", params{"ref": own})
				for len(focused) > 0 {
					<-focused
				}
				before := keys.Load()
				tried++
				sent := a.send("press", params{"key": key, "action": action})
				q := o.asked()
				if q["origin"] != shop.URL {
					t.Fatalf("the operator is told %v", q)
				}
				focuses <- frame
				select {
				case <-focused:
				case <-time.After(20 * time.Second):
					t.Fatalf("%s: the frame never got the focus", frame)
				}
				o.do("confirm", params{"id": q["id"], "allow": true})
				_, err := a.wait(sent)
				var e *protocol.Error
				if moved && (!errors.As(err, &e) || e.Code != protocol.ConfirmationDenied || e.Details["reason"] != "moved") {
					t.Errorf("%s %s, focus to the bank: %v, want confirmation_denied, moved", action, key, err)
				}
				if !moved && err != nil {
					t.Errorf("%s %s, focus to a frame of the same origin: %v", action, key, err)
				}
				if got := keys.Load() - before; moved && got > 0 {
					t.Errorf("%s %s: the bank received %d events", action, key, got)
				}
			}
		}
	}
	t.Logf("%d keys, and the focus moved before each", tried)
}
