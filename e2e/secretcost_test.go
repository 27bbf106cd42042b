package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// BenchmarkSecretCost is what it costs that an agent has used a secret: a read of a megabyte and a
// snapshot of it, of the same page, before and after; and a picture of that page and of a short one.
//
//	go test ./e2e -run xxx -bench SecretCost -benchtime 20x
func BenchmarkSecretCost(b *testing.B) {
	w := newPageServer(b)
	w.mux.HandleFunc("/long", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, "<!doctype html><title>Long</title><label>Field <input></label>")
		for i := range 1000 {
			fmt.Fprintf(rw, "<p>Line %d: %s</p>", i, strings.Repeat("the quick brown fox jumps over the \"lazy\" dog, and says what it has seen since 1998 (or so). ", 11))
		}
	})
	bin, err := testdaemon.PlainBinary()
	if err != nil {
		b.Fatal(err)
	}
	d := testdaemon.Start(b, testdaemon.Options{Binary: bin, Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	secretSetter(b, d)("correct horse battery staple", "shop", "--origin", w.URL)
	a := newAgent(b, d)
	a.open(w.URL + "/long")
	for _, when := range []string{"before", "after"} {
		for name, p := range map[string]params{
			"read": {"max_chars": 1000000}, "snapshot": {"interactive_only": false, "max_nodes": 20000, "max_chars": 1000000, "max_text": 100000},
		} {
			b.Run(name+"/"+when, func(b *testing.B) {
				size := 0
				for b.Loop() {
					var answer []byte
					if err := a.c.Call(b.Context(), name, p, (*rawAnswer)(&answer)); err != nil {
						b.Fatal(err)
					}
					size = len(answer)
				}
				b.SetBytes(int64(size))
			})
		}
		a.do("type", params{"ref": "label=Field", "text": "{{secret:shop}}", "snapshot": "none"})
	}
	if text := a.do("read", params{"ref": "label=Field", "kind": "value"}).Content; !strings.Contains(text, "••") {
		b.Error(text)
	}
	// A picture is made after the page was asked whether it shows a secret, which this agent's sessions pay.
	w.serve("/short", page("short", `<h1>Short</h1><button>Go</button>`), "")
	picture := func(when string) {
		for _, path := range []string{"/long", "/short"} {
			a.open(w.URL + path)
			b.Run("screenshot"+path+"/"+when, func(b *testing.B) {
				for b.Loop() {
					a.do("screenshot", params{"format": "jpeg"})
				}
			})
		}
	}
	picture("after")
	other := testdaemon.Start(b, testdaemon.Options{Binary: bin})
	a = newAgent(b, other)
	picture("before")
}

// rawAnswer is a result that is not decoded.
type rawAnswer []byte

func (r *rawAnswer) UnmarshalJSON(b []byte) error {
	*r = append((*r)[:0], b...)
	return nil
}
