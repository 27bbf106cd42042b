package e2e_test

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/contain"
	"github.com/browserd/browserd/internal/testdaemon"
)

// looks has a viewer watch a session, as a card or whole, and acknowledge what it is sent, as the view's
// page does. It counts the frames.
func (v *viewer) looks(session string, whole bool, frames *atomic.Int64) *websocket.Conn {
	v.t.Helper()
	c, status := v.dials()
	if c == nil {
		v.t.Fatal(status)
	}
	c.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "ann", "session": session, "whole": whole})
	go func() {
		for {
			kind, data, err := c.ReadMessage()
			if err != nil {
				return
			}
			if kind == websocket.BinaryMessage {
				frames.Add(1)
				c.WriteJSON(map[string]any{"t": "ack", "id": binary.BigEndian.Uint32(data)})
			}
		}
	}()
	return c
}

// Ten people who look at a session cost at most 1.2 times what one does: processor time of daemon and
// Chromium together, on a page that changes ten times a second, by turns.
func TestTenViewersCostLittleMoreThanOne(t *testing.T) {
	plain, err := testdaemon.PlainBinary()
	if err != nil {
		t.Fatal(err)
	}
	d := testdaemon.Start(t, testdaemon.Options{Binary: plain, Env: map[string]string{
		"BROWSERD_AUTH__TOKENS": fmt.Sprintf(`[{"agent":"ann","token":%q},{"agent":"olga","token":%q,"role":"operator"}]`, ann, olga)}})
	w := newPageServer(t)
	w.serve("/", page("page", `<h1>Page</h1><p id=p></p><script>let n = 0; setInterval(() => { p.textContent = 'changed ' + n++ }, 100)</script>`), "")
	a, o := as(t, d, ann), as(t, d, olga)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL})
	used := func() time.Duration {
		sum := contain.ProcessorTime(d.PID)
		for _, p := range testdaemon.Descendants(d.PID) {
			sum += contain.ProcessorTime(p.PID)
		}
		return sum
	}
	cost := map[int]time.Duration{}
	for round := range 2 {
		for _, viewers := range []int{1, 10} {
			var frames atomic.Int64
			var list []*websocket.Conn
			for range viewers {
				list = append(list, opens(t, d, ask[struct{ URL string }](o, "view", nil).URL).looks("shop", round == 1, &frames))
			}
			until(t, 30*time.Second, "each viewer has two frames", func() bool { return frames.Load() >= int64(2*viewers) })
			before, seen, began := used(), frames.Load(), time.Now()
			time.Sleep(3 * time.Second) // what is measured
			now := used() - before
			cost[viewers] += now
			t.Logf("round %d, %d viewers: %v of processor time in %v, %d frames", round, viewers, now, time.Since(began), frames.Load()-seen)
			for _, c := range list {
				c.Close()
			}
		}
	}
	t.Logf("ten viewers cost %.2f times one", float64(cost[10])/float64(cost[1]))
	if float64(cost[10]) > 1.2*float64(cost[1]) {
		t.Errorf("ten viewers cost %v, one %v", cost[10], cost[1])
	}
}
