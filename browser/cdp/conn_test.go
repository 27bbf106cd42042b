package cdp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/protocol"
)

// peer is the far end of a real pipe, for what Chromium cannot be made to do on
// demand: it sends exactly what the test tells it to.
type peer struct {
	t  *testing.T
	in *bufio.Reader
	r  *os.File
	w  *os.File
}

func newPeer(t *testing.T) (*Conn, *peer) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	r1, w1, err1 := os.Pipe()
	r2, w2, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	c := New(Pipe(r2, w1))
	p := &peer{t: t, in: bufio.NewReader(r1), r: r1, w: w2}
	t.Cleanup(func() {
		c.Close()
		r1.Close()
		w2.Close()
		goleak.VerifyNone(t, ignore)
	})
	return c, p
}

// receive returns the next message that was written to the peer.
func (p *peer) receive() string {
	p.t.Helper()
	b, err := p.in.ReadString(0)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSuffix(b, "\x00")
}

func (p *peer) send(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format+"\x00", args...); err != nil {
		p.t.Error(err)
	}
}

func TestCallsArePipelined(t *testing.T) {
	c, p := newPeer(t)
	s := c.Session("S")
	first := s.Send("A.one", map[string]int{"x": 1})
	second := c.Session("").Send("A.two", nil)
	for i, want := range []string{
		`{"id":1,"sessionId":"S","method":"A.one","params":{"x":1}}`,
		`{"id":2,"method":"A.two"}`,
	} {
		if got := p.receive(); got != want {
			t.Errorf("message %d: %s, want %s", i, got, want)
		}
	}
	p.send(`{"id":2,"error":{"code":-32000,"message":"no"}}`) // in the other order
	p.send(`{"id":1,"result":{"y":"\ud800","z":[1]},"sessionId":"S"}`)
	var r struct {
		Y string       `json:"y"`
		Z jsonv2.Value `json:"z"`
	}
	if err := first.Wait(t.Context(), &r); err != nil || r.Y != "\ufffd" || string(r.Z) != "[1]" {
		t.Errorf("%+v, %v", r, err)
	}
	err := second.Wait(t.Context(), nil)
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != -32000 || err.Error() != "A.two: no (-32000)" {
		t.Errorf("%v", err)
	}
}

func TestEventsInOrderAndNoneLost(t *testing.T) {
	c, p := newPeer(t)
	var mu sync.Mutex
	var got []string
	note := func(who string) EventFunc {
		return func(m string, params jsonv2.Value) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, who+" "+m+" "+string(params))
		}
	}
	child := note("child")
	c.Handle("P", func(m string, params jsonv2.Value) {
		note("parent")(m, params)
		if m == "Target.attachedToTarget" {
			c.Handle("C", child)
			c.Session("C").Send("Runtime.enable", nil) // allowed here
		}
	})
	p.send(`{"method":"Target.attachedToTarget","params":{"sessionId":"C","targetInfo":{"type":"a_type_of_tomorrow"}},"sessionId":"P"}`)
	p.send(`{"method":"Page.first","params":{"n":1},"sessionId":"C"}`)
	p.send(`{"method":"Other.event","params":{},"sessionId":"X"}`)
	waiting := c.Session("C").Send("Page.slow", nil)
	p.send(`{"method":"Target.detachedFromTarget","params":{"sessionId":"C"},"sessionId":"P"}`)
	p.send(`{"method":"Page.late","params":{},"sessionId":"C"}`)
	if err := waiting.Wait(t.Context(), nil); !errors.Is(err, ErrDetached) {
		t.Errorf("a call of a session that ended: %v", err)
	}
	sync := c.Session("").Send("Browser.getVersion", nil)
	for !strings.Contains(p.receive(), "getVersion") {
	}
	p.send(`{"id":%d,"result":{}}`, sync.id)
	if err := sync.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		`parent Target.attachedToTarget {"sessionId":"C","targetInfo":{"type":"a_type_of_tomorrow"}}`,
		`child Page.first {"n":1}`,
		`parent Target.detachedFromTarget {"sessionId":"C"}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestCancelledCallIsForgotten(t *testing.T) {
	c, p := newPeer(t)
	ctx, cancel := context.WithCancel(t.Context())
	call := c.Session("").Send("A.slow", nil)
	cancel()
	if err := call.Wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := len(c.pending); n != 0 {
		t.Errorf("%d calls are remembered", n)
	}
	if err := c.Session("").Call(ctx, "A.never", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	p.send(`{"id":%d,"result":{}}`, call.id) // a late answer harms nothing
	next := c.Session("").Send("A.next", nil)
	p.receive()
	if got := p.receive(); !strings.Contains(got, "A.next") {
		t.Errorf("a call whose ctx had ended was sent: %s", got)
	}
	p.send(`{"id":%d,"result":{}}`, next.id)
	if err := next.Wait(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// AnsweredWithin waits as long as it is told to, and takes nothing from Wait.
func TestAnsweredWithin(t *testing.T) {
	c, p := newPeer(t)
	call := c.Session("").Send("A.late", nil)
	if call.AnsweredWithin(t.Context(), time.Millisecond) {
		t.Error("an answer that was not sent has come")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if call.AnsweredWithin(gone, time.Hour) {
		t.Error("an answer that was not sent has come")
	}
	p.send(`{"id":%d,"result":{"n":7}}`, call.id)
	for range 2 {
		if !call.AnsweredWithin(t.Context(), time.Minute) {
			t.Fatal("the answer has not come")
		}
	}
	var got struct {
		N int `json:"n"`
	}
	if err := call.Wait(t.Context(), &got); err != nil || got.N != 7 {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestUnreadableMessageCostsOneCall(t *testing.T) {
	c, p := newPeer(t)
	bad, good := c.Session("").Send("A.bad", nil), c.Session("").Send("A.good", nil)
	p.send(`{"id":%d,"result":{"a":1,"a":2}}`, bad.id)
	p.send(`{not json`)
	p.send(`{"id":%d,"result":{}}`, good.id)
	if err := bad.Wait(t.Context(), nil); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("bad: %v", err)
	}
	if err := good.Wait(t.Context(), nil); err != nil {
		t.Errorf("good: %v", err)
	}
}

func TestGone(t *testing.T) {
	c, p := newPeer(t)
	events, cancel := c.Session("S").Subscribe("A.event")
	defer cancel()
	calls := []*Pending{c.Session("").Send("A.one", nil), c.Session("S").Send("A.two", nil)}
	p.send(`{"method":"A.event","params":{"n":1},"sessionId":"S"}`)
	p.w.Close()
	<-c.Done()
	for _, call := range append(calls, c.Session("S").Send("A.late", nil)) {
		err := call.Wait(t.Context(), nil)
		if !errors.Is(err, ErrGone) || !errors.Is(err, io.EOF) || !errors.Is(err, c.Err()) || protocol.CodeOf(err) != protocol.BrowserLost {
			t.Errorf("%v", err)
		}
	}
	if v := <-events; string(v) != `{"n":1}` {
		t.Errorf("event %s", v)
	}
	if _, open := <-events; open {
		t.Error("the subscription goes on")
	}
	late, cancel := c.Session("S").Subscribe("A.event")
	defer cancel()
	if _, open := <-late; open {
		t.Error("a subscription on a connection that is gone goes on")
	}
}

func TestStuckBrowserIsGone(t *testing.T) {
	c, _ := newPeer(t) // reads nothing
	c.writeTimeout = 100 * time.Millisecond
	begin := time.Now()
	big := strings.Repeat("x", 1<<20) // more than a pipe holds
	err := c.Session("").Send("A.big", map[string]string{"x": big}).Wait(t.Context(), nil)
	if took := time.Since(begin); !errors.Is(err, ErrGone) || took < c.writeTimeout || took > 5*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}

// Who sends to a browser that does not read is not held up by it.
func TestSendDoesNotWait(t *testing.T) {
	c, _ := newPeer(t) // reads nothing
	big := strings.Repeat("x", 1<<20)
	begin := time.Now()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := c.Session("").Send("A.big", map[string]string{"x": big}).Wait(ctx, nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the time is over", err)
		}
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("three calls of 50 ms took %v", took)
	}
}

// The watchdog calls a silent browser, counts any message as a sign of life, and ends
// the connection to a browser that sends nothing more.
func TestWatchdog(t *testing.T) {
	const limit = 400 * time.Millisecond
	c, p := newPeer(t)
	watched := make(chan struct{})
	go func() { c.Watch(limit); close(watched) }()
	for range 3 {
		if asked := p.receive(); !strings.Contains(asked, "Browser.getVersion") {
			t.Fatalf("it asks %s", asked)
		}
		p.send(`{"method":"Page.event","sessionId":"S","params":{}}`)
	}
	begin := time.Now()
	select {
	case <-watched:
	case <-time.After(10 * limit):
		t.Fatal("a browser that says nothing is not given up")
	}
	if took := time.Since(begin); took < limit {
		t.Errorf("it was given up after %v, want %v", took, limit)
	}
	if err := c.Err(); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "has not answered for 400ms") {
		t.Errorf("the connection ended with %v", err)
	}
}

// The network service is given up where the browser answers and it does not, and not where both
// answers wait behind what a page has said.
func TestNetworkServiceWatchdog(t *testing.T) {
	const limit = 200 * time.Millisecond
	c, p := newPeer(t)
	watched := make(chan struct{})
	go func() { c.WatchNetworkService(limit); close(watched) }()
	asked := func(method string) (id string) {
		t.Helper()
		message := p.receive()
		m := regexp.MustCompile(`"id":(\d+),"method":"([^"]+)"`).FindStringSubmatch(message)
		if m == nil || m[2] != method {
			t.Fatalf("it asks %s, want %s", message, method)
		}
		return m[1]
	}
	for range 2 {
		cookies, version := asked("Storage.getCookies"), asked("Browser.getVersion")
		select {
		case <-watched:
			t.Fatal("what a page says before the answers is held against the network service")
		case <-time.After(3 * limit):
		}
		p.send(`{"id":%s,"result":{}}`, version)
		p.send(`{"id":%s,"result":{"cookies":[]}}`, cookies)
	}
	begin := time.Now()
	for range 2 {
		asked("Storage.getCookies")
		p.send(`{"id":%s,"result":{}}`, asked("Browser.getVersion"))
	}
	select {
	case <-watched:
	case <-time.After(20 * limit):
		t.Fatal("a network service that does not answer is not given up")
	}
	if took := time.Since(begin); took < 2*limit {
		t.Errorf("it was given up after %v, want two calls of %v", took, limit)
	}
	if err := c.Err(); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "network service has not answered for 400ms") {
		t.Errorf("the connection ended with %v", err)
	}
}
