package browser

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/person"
	"github.com/browserd/browserd/internal/testtime"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
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
	at := person.Act{X: 100, Y: 80, Clicks: 1}
	act := func(do string) {
		a := at
		a.Do = do
		if do == "down" {
			a.Buttons = 1
		}
		if err := tab.Input(a); err != nil {
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

// queued is the queue of a person's input on a tab.
func queued(t *testing.T, tab *person.Tab) *person.Queue {
	q := person.NewQueue(t.Context(), tab, func(context.Context, *person.Act) (func(), bool) { return func() {}, true }, func(err error) { t.Error(err) })
	t.Cleanup(q.Close)
	return q
}

// clicks are the messages of the view's page for a click.
func clicks(q *person.Queue, x, y float64) {
	q.Put(person.Act{Do: "down", X: x, Y: y, Clicks: 1, Buttons: 1})
	q.Put(person.Act{Do: "up", X: x, Y: y, Clicks: 1})
}

// A click behind 300 moves does not wait for them: the page has it as soon as one without moves,
// by the page's own clock. The margin is for a machine that does other work; the 10 ms
// are what is logged where it does none.
func TestMovesAreMerged(t *testing.T) {
	p, tab := watched(t, watchedPage+`<script>
		window.heard = []
		addEventListener('click', () => heard.push(performance.timeOrigin + performance.now()))
		;(function draw() { box.textContent = performance.now(); requestAnimationFrame(draw) })()
	</script>`)
	v := tab.Watch(person.Whole)
	defer v.Close()
	go func() {
		for {
			if _, err := v.Next(t.Context()); err != nil {
				return
			}
		}
	}()
	q := queued(t, tab)
	testtime.OneOfThree(t, func() error { return clicksBehindMoves(t, p, q) })
}

func clicksBehindMoves(t *testing.T, p *testPage, q *person.Queue) error {
	t.Helper()
	p.page(`heard = []`)
	const rounds = 100
	var times [2][]time.Duration // without moves, and behind 300
	for n := range 2 * rounds {
		for i := range 300 * (n % 2) {
			q.Put(person.Act{Do: "move", X: float64(i), Y: 80})
		}
		began := time.Now()
		clicks(q, 100, 80)
		for p.page(`heard.length`) == strconv.Itoa(n) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("click %d does not reach the page", n)
			}
			time.Sleep(2 * time.Millisecond) // asking would hold the page up
		}
		at, err := strconv.ParseFloat(p.page(`heard.at(-1).toFixed(3)`), 64)
		if err != nil {
			t.Fatal(err)
		}
		times[n%2] = append(times[n%2], time.UnixMicro(int64(at*1000)).Sub(began))
	}
	alone, behind := p95(times[0]), p95(times[1])
	t.Logf("a click: 95th percentile %v, median %v; behind 300 moves: %v, %v", alone, times[0][rounds/2], behind, times[1][rounds/2])
	if behind > 2*alone+10*time.Millisecond {
		return fmt.Errorf("a click behind 300 moves reaches the page after %v, 95th percentile, one without moves after %v", behind, alone)
	}
	return nil
}

// What a person does is with Chromium at once, moves and a click behind them, also while the page
// answers nothing.
func TestInputWaitsForNoPage(t *testing.T) {
	p, tab := watched(t, watchedPage)
	q := queued(t, tab)
	conn := p.c.host.conn
	began := time.Now()
	const busy = 10 * time.Second
	p.frame.tab.cdp.Send("Runtime.evaluate", map[string]any{"expression": fmt.Sprintf(`console.log("busy"); for (const until = Date.now() + %d; Date.now() < until;);`, busy.Milliseconds())})
	eventually(t, busy/2, "the page is busy", func() bool { // before that it could still answer the first move
		said, _ := p.c.Console(protocol.Watching{})
		return slices.ContainsFunc(said, func(l protocol.Console) bool { return l.Text == "busy" })
	})
	sent := func(n int) { // and not answered
		t.Helper()
		eventually(t, busy-2*time.Second-time.Since(began), fmt.Sprint(n, " mouse events are with Chromium"), func() bool {
			return strings.Count(strings.Join(conn.Pending(), " "), "Input.dispatchMouseEvent") >= n
		})
	}
	before := conn.Sent()
	q.Put(person.Act{Do: "move", X: 300, Y: 80})
	sent(1)
	for i := range 300 {
		q.Put(person.Act{Do: "move", X: float64(i), Y: 80})
	}
	clicks(q, 100, 80)
	sent(4) // the last move, the press, the release
	asked := int64(0)
	page := func(expression string) string { asked++; return p.page(expression) }
	eventually(t, 20*time.Second, "the page was clicked", func() bool { return page(`window.n`) == "1" })
	if page(`moves`) == "0" {
		t.Error("the page saw no move")
	}
	// Four, and a move more wherever this machine did something else among the 300.
	if n := conn.Sent() - before - asked; n > 30 {
		t.Errorf("%d messages were sent for 301 moves and a click", n)
	}
}

// A select that a person opens, with the mouse, the keyboard or a finger, asks for an option: its
// list would be in no picture. In frames and in shadow trees too. The page has the press, and nobody
// is asked where no list opens, or by the agent's own clicks.
func TestASelectAsks(t *testing.T) {
	const at = `position:absolute;left:0;width:100px;height:40px;`
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, `<body style="margin:0"><select style="`+at+`top:0" onchange="parent.postMessage(value, '*')"><option>Near<option>Far</select>`)
	}))
	defer far.Close()
	p, tab := watched(t, `<!doctype html><meta charset=utf-8><body style="margin:0"><script>window.said=[];onmessage=(e)=>said.push(e.data)</script>
		<select id=one style="`+at+`top:0" onchange="said.push(value)" onmousedown="said.push('down')"><optgroup label=North><option>Norway<option disabled>Svalbard</optgroup><option>Chad</select>
		<iframe style="position:absolute;left:0;top:100px;width:300px;height:60px;border:0" srcdoc="<body style='margin:0'><select style='`+at+`top:0' onchange='parent.said.push(value)'><option>In<option>Out</select>"></iframe>
		<iframe style="position:absolute;left:0;top:200px;width:300px;height:60px;border:0" src="`+strings.Replace(far.URL, "127.0.0.1", "localhost", 1)+`"></iframe>
		<x-menu id=host style="position:absolute;left:0;top:300px"></x-menu>
		<select multiple style="`+at+`top:400px;height:80px"><option>A<option>B</select>
		<select disabled style="`+at+`top:500px"><option>A<option>B</select>
		<script>const root=host.attachShadow({mode:'closed'});root.innerHTML='<select style="width:100px;height:40px"><option>Shadow<option>Light</select>';root.firstChild.onchange=(e)=>said.push(e.target.value)</script>`)
	if _, err := p.c.Capture(t.Context(), snapshot.DefaultOptions(), snapshot.NewRefs()); err != nil { // the view reads the page too: from then on the script knows closed shadow trees
		t.Fatal(err)
	}
	if err := p.c.PersonDrives(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	asked := make(chan person.Asks, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go tab.Asking(ctx, func(a person.Asks) { asked <- a })
	q := queued(t, tab)
	key := func(name string, vk, modifiers int64, text string) {
		q.Put(person.Act{Do: "key", Key: name, Code: name, VK: vk, Modifiers: modifiers, Text: text})
		q.Put(person.Act{Do: "keyup", Key: name, Code: name, VK: vk, Modifiers: modifiers})
	}
	touch := func(x, y float64) {
		q.Put(person.Act{Do: "touch", Touch: "touchStart", Points: []person.TouchAt{{X: x, Y: y}}})
		q.Put(person.Act{Do: "touch", Touch: "touchEnd"})
	}
	north := "North/Norway. North/Svalbard! Chad"
	for _, test := range []struct {
		name, options string
		open          func()
		choose        int
		said          string // the last of it
	}{
		{"a click", north, func() { clicks(q, 50, 20) }, 2, "Chad"},
		{"Space", "North/Norway North/Svalbard! Chad.", func() { key(" ", 32, 0, " ") }, 0, "Norway"},
		{"Alt and Down", north, func() { key("ArrowDown", 40, 1, "") }, 2, "Chad"},
		{"a disabled option", "North/Norway North/Svalbard! Chad.", func() { key("F4", 115, 0, "") }, 1, "Chad"},
		{"in a frame", "In. Out", func() { clicks(q, 50, 120) }, 1, "Out"},
		{"in a frame of another site", "Near. Far", func() { clicks(q, 50, 220) }, 1, "Far"},
		{"in a closed shadow tree", "Shadow. Light", func() { clicks(q, 50, 320) }, 1, "Light"},
		{"a finger", "North/Norway North/Svalbard! Chad.", func() { touch(50, 20) }, 0, "Norway"},
	} {
		test.open()
		select {
		case a := <-asked:
			var options []string
			for _, o := range a.Options {
				text := strings.TrimPrefix(o.Group+"/"+o.Text, "/")
				options = append(options, text+map[bool]string{true: "."}[o.Selected]+map[bool]string{true: "!"}[o.Disabled])
			}
			if got := strings.Join(options, " "); got != test.options {
				t.Errorf("%s asks for %s, want %s", test.name, got, test.options)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s asks for nothing", test.name)
			continue
		}
		if err := tab.Choose(ctx, test.choose); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		for began := time.Now(); p.page(`said.filter((x) => x !== 'down').at(-1)`) != test.said; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > 10*time.Second {
				t.Errorf("%s: the page said %s, want %s", test.name, p.page(`said.join(' ')`), test.said)
				break
			}
		}
	}
	if downs := p.page(`said.filter((x) => x === 'down').length`); downs != "2" {
		t.Errorf("the page had %s presses, want 2", downs)
	}
	clicks(q, 50, 420)
	clicks(q, 50, 520)
	if err := p.c.PersonDrives(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	clicks(q, 50, 20)
	for p.page(`said.filter((x) => x === 'down').length`) != "3" {
		if t.Context().Err() != nil {
			t.Fatal("the page has no press")
		}
	}
	if len(asked) > 0 {
		t.Errorf("asked for %v", <-asked)
	}
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

// What a person has typed is not in the fields that Chromium fills in again where the page is gone back to.
func TestWhatAPersonTypedIsNotRestored(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const form = `<input aria-label=Name autofocus><textarea aria-label=Note></textarea><a href=/away>Away</a>
		<script>new WebSocket(location.origin.replace('http', 'ws') + '/none'); navigator.locks.request('held', () => new Promise(() => {}))</script>`
	v := s.open(t, form, "/away", `<p>elsewhere`)
	value := func() string {
		return v.eval(`[...document.querySelectorAll('input, textarea')].map((el) => el.value).join()`)
	}
	back := func() string {
		for _, by := range []string{"/away", ""} {
			var err error
			if by != "" {
				_, err = v.c.Open(limit(t, 20*time.Second), s.srv.URL+by, protocol.WaitAuto)
			} else {
				_, err = v.c.History(limit(t, 20*time.Second), -1)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return value()
	}
	tab, err := v.c.Surface("")
	if err != nil {
		t.Fatal(err)
	}
	write := func(where, text string) {
		v.eval(`document.querySelector('` + where + `').focus()`)
		q := queued(t, tab)
		q.Put(person.Act{Do: "text", Text: text})
		for end := time.Now().Add(10 * time.Second); !strings.Contains(value(), text); {
			if time.Now().After(end) {
				t.Fatal("nothing was typed: ", value())
			}
		}
	}
	write("input", "agent")
	if got := back(); got != `"agent,"` {
		t.Fatalf("what was typed before a person drove is %q: Chromium restores nothing here", got)
	}
	if err := v.c.PersonDrives(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	v.eval(`document.querySelector('input').value = ''`)
	write("input", "hunter2")
	write("textarea", "and more")
	if got := back(); got != `","` {
		t.Errorf("restored: %q", got)
	}
	if err := v.c.PersonDrives(t.Context(), false); err != nil {
		t.Fatal(err)
	}
}

// What a person typed is drawn as dots when they have ended, also in a field that the page put in its place meanwhile.
func TestWhatAPersonTypedIsDrawnAsDots(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct{ name, script string }{
		{"as it is", ``},
		{"a new field", `const n = document.createElement('input'); n.value = i.value; i.replaceWith(n)`},
		{"a field that was there", `j.value = i.value; i.remove()`},
		{"a new field, and something else in the field", `const n = document.createElement('input'), v = i.value; i.value = 'something'; document.body.append(n); n.value = v`},
		{"what is edited", `const n = document.createElement('p'); n.contentEditable = true; n.textContent = i.value; i.replaceWith(n)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, `<input id=i aria-label=Name><input id=j>`)
			tab, err := v.c.Surface("")
			if err != nil {
				t.Fatal(err)
			}
			if err := v.c.PersonDrives(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			v.eval(`void i.focus()`)
			queued(t, tab).Put(person.Act{Do: "text", Text: "hunter2xyz"})
			v.eval(`new Promise(done => { const typed = () => i.value === 'hunter2xyz' ? done() : setTimeout(typed); typed() })`)
			v.eval(`(() => { ` + c.script + ` })()`)
			if err := v.c.PersonDrives(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			drawn, err := v.c.DrawnText(limit(t, 20*time.Second), "")
			if err != nil || strings.Contains(drawn, "hunter2xyz") {
				t.Errorf("what is drawn is %q, %v", drawn, err)
			}
		})
	}
}
