package browser

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/person"
)

const watchedPage = `<!doctype html><meta charset=utf-8><style>body{margin:0;font:16px sans-serif}button{position:absolute;left:40px;top:40px;width:200px;height:80px}
#box{position:absolute;left:400px;top:0;width:400px;height:720px;background:#fff}</style>
<button onclick="n=(window.n||0)+1;window.n=n;box.style.background=n%2?'#000':'#fff'">Press</button><div id=box></div>
<script>window.moves=0;addEventListener('mousemove',()=>moves++)</script>`

// dark reports whether the box of watchedPage is dark on a frame.
func dark(t *testing.T, f *person.Frame) bool {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(f.JPEG))
	if err != nil {
		t.Fatal(err)
	}
	scale := float64(img.Bounds().Dx()) / f.Width
	r, _, _, _ := img.At(int(600*scale), int(300*scale)).RGBA()
	return r < 0x8000
}

func watched(t *testing.T, html string) (*testPage, *person.Tab) {
	p := openTestPage(t, html)
	tab, err := p.c.Surface("")
	if err != nil {
		t.Fatal(err)
	}
	return p, tab
}

func next(t *testing.T, v *person.Viewer) *person.Frame {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	f, err := v.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// noFrame reports that no frame comes for a while.
func noFrame(t *testing.T, v *person.Viewer, d time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	_, err := v.Next(ctx)
	return err != nil
}

func p95(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*95/100]
}

// The first frame comes at once, a change at once, and nothing where nothing changes.
func TestWatch(t *testing.T) {
	_, tab := watched(t, watchedPage)
	var first []time.Duration
	for range 10 {
		began := time.Now()
		v := tab.Watch(person.Card)
		f := next(t, v)
		first = append(first, time.Since(began))
		if f.Width != 1280 || f.Height != 720 || dark(t, f) {
			t.Errorf("%v×%v, dark: %v", f.Width, f.Height, dark(t, f))
		}
		v.Close()
	}
	v := tab.Watch(person.Card)
	defer v.Close()
	next(t, v)
	for !noFrame(t, v, time.Second) {
	}
	ctx := t.Context()
	at := person.Act{X: 100, Y: 80, Clicks: 1}
	act := func(do string) {
		a := at
		a.Do = do
		if do == "down" {
			a.Buttons = 1
		}
		if _, err := tab.Input(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	act("move")
	for !noFrame(t, v, 300*time.Millisecond) {
	}
	var clicks []time.Duration
	for i := range 40 {
		began := time.Now()
		act("down")
		act("up")
		for dark(t, next(t, v)) != (i%2 == 0) {
		}
		clicks = append(clicks, time.Since(began))
	}
	late := tab.Watch(person.Card)
	defer late.Close()
	began := time.Now()
	next(t, late)
	t.Logf("first frame: %v; of another viewer: %v; click to picture, 95th percentile: %v, median %v", p95(first), time.Since(began), p95(clicks), clicks[len(clicks)/2])
}

// A click behind 300 moves does not wait for them.
func TestMovesAreMerged(t *testing.T) {
	p, tab := watched(t, watchedPage)
	var times []time.Duration
	for range 10 {
		queue := person.NewQueue(t.Context(), tab, func(ctx context.Context, _ *person.Act) (context.Context, func(), bool) { return ctx, func() {}, true }, func(error) {}, func(person.Asks) {})
		for i := range 300 {
			queue.Put(person.Act{Do: "move", X: float64(i), Y: 80})
		}
		before := p.page(`window.n || 0`)
		began := time.Now()
		queue.Put(person.Act{Do: "down", X: 100, Y: 80, Clicks: 1, Buttons: 1})
		queue.Put(person.Act{Do: "up", X: 100, Y: 80, Clicks: 1})
		for p.page(`window.n || 0`) == before {
		}
		times = append(times, time.Since(began))
		queue.Close()
	}
	t.Logf("a click behind 300 moves: %v, median %v", p95(times), times[len(times)/2])
}

// Frames of 640×360 are small; ten viewers cost what one costs.
func TestFrameSizes(t *testing.T) {
	for name, html := range map[string]string{
		"text":   `<body style="font:16px/1.4 serif">` + strings.Repeat("<p>Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or twice she had peeped into the book her sister was reading", 30),
		"table":  "<table border=1>" + strings.Repeat("<tr><td>1,234.50<td>Rotterdam<td>delivered<td><button>Open</button><td>2026-11-27 09:14", 60) + "</table>",
		"colour": `<body style="margin:0;background:repeating-conic-gradient(from 20deg,#c33,#39c 10deg,#fc0 20deg);height:100vh">`,
	} {
		_, tab := watched(t, html)
		v := tab.Watch(person.Card)
		f := next(t, v)
		img, _, err := image.DecodeConfig(bytes.NewReader(f.JPEG))
		t.Logf("%s: %d×%d, %d bytes %v", name, img.Width, img.Height, len(f.JPEG), err)
		if name != "colour" && len(f.JPEG) > 9<<10 {
			t.Errorf("%s: a frame has %d bytes", name, len(f.JPEG))
		}
		v.Close()
	}
}

// A viewer that reads nothing has the newest frame when it reads, and others all of theirs.
func TestSlowViewer(t *testing.T) {
	p, tab := watched(t, watchedPage)
	slow, fast := tab.Watch(person.Card), tab.Watch(person.Card)
	defer slow.Close()
	defer fast.Close()
	next(t, fast)
	for i := range 20 {
		p.page(fmt.Sprintf(`box.style.background='%s'`, map[bool]string{true: "#000", false: "#fff"}[i%2 == 0]))
		for dark(t, next(t, fast)) != (i%2 == 0) {
		}
	}
	if dark(t, next(t, slow)) {
		t.Error("the slow viewer has an old frame")
	}
}

// All viewers share one screencast: ten cost Chromium what one does. Where nobody looks, and
// where nothing changes, nothing is sent.
func TestTenViewersCostOne(t *testing.T) {
	p, tab := watched(t, watchedPage)
	cost := func(viewers int) int64 {
		var list []*person.Viewer
		for range viewers {
			list = append(list, tab.Watch(person.Card))
		}
		for _, v := range list {
			next(t, v)
		}
		for !noFrame(t, list[0], 500*time.Millisecond) {
		}
		before := p.c.host.conn.Sent()
		for i := range 20 {
			p.page(fmt.Sprintf(`box.style.background='%s'`, map[bool]string{true: "#000", false: "#fff"}[i%2 == 0]))
			for _, v := range list {
				for dark(t, next(t, v)) != (i%2 == 0) {
				}
			}
		}
		sent := p.c.host.conn.Sent() - before
		if !noFrame(t, list[0], 500*time.Millisecond) {
			t.Error("a frame comes, and nothing has changed")
		}
		for _, v := range list {
			v.Close()
		}
		return sent
	}
	one, ten := cost(1), cost(10)
	t.Logf("CDP messages for 20 changes: %d for one viewer, %d for ten", one, ten)
	if float64(ten) > 1.2*float64(one) {
		t.Errorf("ten viewers take %d messages, one %d", ten, one)
	}
	before := p.c.host.conn.Sent()
	p.page(`box.style.background='#000'`)
	if sent := p.c.host.conn.Sent() - before; sent != 2 && sent != 1 { // the expression, and the end of the screencast
		t.Errorf("with nobody who looks %d messages were sent", sent)
	}
}

// page evaluates an expression in the page's own world, and returns it as text.
func (p *testPage) page(expression string) string {
	p.t.Helper()
	var got struct {
		Result struct{ Value any }
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &got)
	return fmt.Sprint(got.Result.Value)
}
