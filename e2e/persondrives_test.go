package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/internal/testdaemon"
)

// hands are a person's at a Chromium that a test started itself: their keys, mouse, fingers, input
// method and clipboard, which no command of a daemon has.
type hands struct {
	t  *testing.T
	c  *websocket.Conn
	id int
}

// newHands opens an address in a Chromium of that path.
func newHands(t *testing.T, path, address string) *hands {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--user-data-dir="+dir, "--remote-debugging-port=0", "--window-size=1400,1000", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		all := testdaemon.Descendants(cmd.Process.Pid)
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		for _, left := range testdaemon.AwaitGone(all, 3*time.Second) {
			left.Kill()
		}
	})
	var pages []struct {
		Type   string `json:"type"`
		Socket string `json:"webSocketDebuggerUrl"`
	}
	for end := time.Now().Add(30 * time.Second); len(pages) == 0 || pages[0].Type != "page"; time.Sleep(20 * time.Millisecond) { // nothing tells when it is there
		if time.Now().After(end) {
			t.Fatal("the Chromium does not start")
		}
		port, err := os.ReadFile(filepath.Join(dir, "DevToolsActivePort"))
		if err != nil {
			continue
		}
		number, _, _ := bytes.Cut(port, []byte("\n"))
		r, err := http.Get("http://127.0.0.1:" + string(number) + "/json/list")
		if err != nil {
			continue
		}
		json.NewDecoder(r.Body).Decode(&pages)
		r.Body.Close()
	}
	c, _, err := websocket.DefaultDialer.DialContext(t.Context(), pages[0].Socket, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	h := &hands{t: t, c: c}
	h.call("Page.navigate", params{"url": address})
	return h
}

// call sends a command of CDP and returns its answer.
func (h *hands) call(method string, p params) json.RawMessage {
	h.t.Helper()
	h.id++
	if p == nil {
		p = params{}
	}
	if err := h.c.WriteJSON(params{"id": h.id, "method": method, "params": p}); err != nil {
		h.t.Fatal(err)
	}
	h.c.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := h.c.ReadJSON(&answer); err != nil || answer.Error != nil {
			h.t.Fatalf("%s: %v %+v", method, err, answer.Error)
		}
		if answer.ID == h.id {
			return answer.Result
		}
	}
}

// eval evaluates an expression in the view's page, as a user's gesture, and awaits it.
func (h *hands) eval(expression string, value any) {
	h.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	said := h.call("Runtime.evaluate", params{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true})
	if err := json.Unmarshal(said, &got); err != nil || got.ExceptionDetails != nil {
		h.t.Fatalf("%s: %s", expression, said)
	}
	if value != nil {
		if err := json.Unmarshal(got.Result.Value, value); err != nil {
			h.t.Fatalf("%s: %v: %s", expression, err, said)
		}
	}
}

// see waits until an expression is true in the view's page.
func (h *hands) see(expression string) {
	h.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		var is bool
		h.eval("!!("+expression+")", &is)
		if is {
			return
		}
		if time.Now().After(end) {
			var shows string
			h.eval("document.body.innerText", &shows)
			h.t.Fatalf("the view does not show %s; it shows\n%s", expression, shows)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// button presses a button of the view itself.
func (h *hands) button(name string) {
	h.t.Helper()
	is := fmt.Sprintf("[...document.querySelectorAll('button')].find((b) => b.textContent === %q && b.checkVisibility() && (!document.querySelector('dialog:modal') || b.closest('dialog')))", name)
	h.see(is)
	var at [2]float64
	h.eval("(() => { "+is+".scrollIntoView({ block: 'nearest' }); const r = "+is+".getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })()", &at)
	h.mouse(at, 1, "mousePressed", "mouseReleased")
}

// at is where the view shows a point of the page.
func (h *hands) at(x, y float64) (at [2]float64) {
	h.t.Helper()
	h.eval(fmt.Sprintf("(() => { const r = document.querySelector('#live canvas').getBoundingClientRect(); return [r.left + %v * r.width / 1280, r.top + %v * r.width / 1280] })()", x, y), &at)
	return at
}

func (h *hands) mouse(at [2]float64, clicks int, kinds ...string) {
	h.t.Helper()
	for _, kind := range kinds {
		p := params{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": clicks}
		if kind == "mouseMoved" {
			p["button"], p["clickCount"] = "none", 0
		}
		h.call("Input.dispatchMouseEvent", p)
	}
}

// click clicks a point of the page, where the view shows it.
func (h *hands) click(x, y float64) {
	h.t.Helper()
	h.mouse(h.at(x, y), 1, "mouseMoved", "mousePressed", "mouseReleased")
}

// wheel turns the wheel over a point of the page, with modifiers.
func (h *hands) wheel(x, y, dy float64, modifiers int) {
	h.t.Helper()
	at := h.at(x, y)
	h.call("Input.dispatchMouseEvent", params{"type": "mouseWheel", "x": at[0], "y": at[1], "deltaX": 0, "deltaY": dy, "modifiers": modifiers})
}

// touch puts fingers where the view shows these points of the page.
func (h *hands) touch(kind string, points ...[2]float64) {
	h.t.Helper()
	list := []params{}
	for i, p := range points {
		at := h.at(p[0], p[1])
		list = append(list, params{"x": at[0], "y": at[1], "id": i})
	}
	h.call("Input.dispatchTouchEvent", params{"type": kind, "touchPoints": list})
}

// keys presses keys, "Control+a" for two at once. What Chromium does itself with a shortcut is in commands.
func (h *hands) keys(keys ...string) {
	h.t.Helper()
	for _, name := range keys {
		modifiers, key := 0, name
		for prefix, bit := range map[string]int{"Alt+": 1, "Control+": 2, "Shift+": 8} {
			if rest, ok := strings.CutPrefix(key, prefix); ok {
				modifiers, key = modifiers|bit, rest
			}
		}
		p := params{"type": "keyDown", "key": key, "code": key, "modifiers": modifiers}
		if code, ok := map[string]int{"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Delete": 46, "F6": 117}[key]; ok {
			p["windowsVirtualKeyCode"] = code
		} else if len(key) == 1 && (key[0]|0x20 >= 'a' && key[0]|0x20 <= 'z') {
			p["windowsVirtualKeyCode"], p["code"] = int(strings.ToUpper(key)[0]), "Key"+strings.ToUpper(key)
		}
		if modifiers&^8 == 0 && len([]rune(key)) == 1 {
			p["text"] = key
		}
		if name == "Control+v" {
			p["commands"] = []string{"paste"}
		}
		h.call("Input.dispatchKeyEvent", p)
		p["type"], p["text"], p["commands"] = "keyUp", "", []string{}
		h.call("Input.dispatchKeyEvent", p)
	}
}

// drivenPage has one of everything that a person may do something to. It reports what it hears.
const drivenPage = `<!doctype html><style>body{margin:0;font:16px sans-serif;height:3000px} .at{position:absolute;left:40px;width:300px;height:40px;box-sizing:border-box}
	#list{overflow:auto;border:1px solid} #pad{left:700px;top:40px;width:500px;height:500px;background:#eee;touch-action:pinch-zoom}</style>
	<input id=one class=at style="top:40px" aria-label=One><input id=two class=at style="top:100px" aria-label=Two>
	<div id=rich class=at style="top:160px" contenteditable></div>
	<select id=menu class=at style="top:220px" aria-label=Menu onchange="report('chose ' + value)"><option>Norway<option>Chad<option>Peru</select>
	<input id=file class=at style="top:280px" type=file multiple aria-label=File onchange="(async () => { for (const f of files) report('file ' + f.name + ' ' + await f.text()) })()">
	<button class=at style="top:340px" onclick="alert('Fire!'); report('alerted')">Alert</button>
	<button class=at style="top:400px" onclick="report('confirmed ' + confirm('Really?'))">Confirm</button>
	<button class=at style="top:460px" onclick="report('prompted ' + prompt('Your name?', 'nobody'))">Prompt</button>
	<div id=list class=at style="top:520px;height:100px"><div style="height:900px">long</div></div>
	<div id=pad class=at>pad</div>
	<script>
		const say = (e, what) => report(e + ' ' + what)
		for (const f of [one, two]) f.addEventListener('input', () => say(f.id, f.value))
		rich.addEventListener('input', () => say('rich', rich.textContent))
		one.addEventListener('compositionend', (e) => say('composed', e.data))
		one.addEventListener('paste', () => report('paste'))
		addEventListener('keydown', (e) => { if (e.ctrlKey && e.key === 'k') { e.preventDefault(); report('shortcut') } })
		document.addEventListener('focusin', (e) => say('focus', e.target.id))
		let t; addEventListener('scroll', () => { clearTimeout(t); t = setTimeout(() => say('scrolled', Math.round(scrollY)), 100) })
		let l; list.addEventListener('scroll', () => { clearTimeout(l); l = setTimeout(() => say('list', Math.round(list.scrollTop)), 100) })
		pad.addEventListener('click', (e) => say('click', e.pointerType))
		pad.addEventListener('dblclick', () => report('double'))
		pad.addEventListener('contextmenu', (e) => { e.preventDefault(); report('menu') })
		pad.addEventListener('touchstart', (e) => say('fingers', e.touches.length))
		pad.addEventListener('wheel', (e) => { if (e.ctrlKey) { e.preventDefault(); report('zoom') } }, { passive: false })
		// Where in the picture of 1280 by 720 a click was, as the page knows it.
		addEventListener('click', (e) => { const v = visualViewport, part = (at, of, all) => Math.round(at / of * all / 50) * 50; report(['at', part(e.clientX - v.offsetLeft, v.width, 1280), part(e.clientY - v.offsetTop, v.height, 720)].join(' ')) })
		let z; visualViewport.addEventListener('resize', () => { clearTimeout(z); z = setTimeout(() => say('scale', visualViewport.scale > 1.2), 100) })
	</script>`

// A person who drives does to the page what they do to any page, in the view, in a browser of their own:
// real keys, mouse, fingers, an input method, the clipboard.
func TestAPersonDrives(t *testing.T) {
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/", page("page", drivenPage), "")
	a := as(t, d, ann)
	a.do("session_open", params{"name": "shop", "dialogs": "dismiss"})
	a.do("open", params{"url": w.URL})
	h := newHands(t, executable(t, d), "about:blank")
	// A person opens the link, which no other page has.
	h.call("Page.navigate", params{"url": a.handsOff(nil).URL})
	h.see(`document.querySelector('#live canvas')?.dataset.frames > 0`)
	h.button("Take over")
	h.see(`document.querySelector('#live.driven #keys')`)

	heard := 0
	// says waits until the page reports that, after what it reported before.
	says := func(t *testing.T, want string) {
		t.Helper()
		for end := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			list := w.said("page")
			for i := heard; i < len(list); i++ {
				if list[i] == want {
					heard = i + 1
					return
				}
			}
			if time.Now().After(end) {
				t.Fatalf("the page says %v, want %q", list[heard:], want)
			}
		}
	}
	do := func(name string, what func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			before := h.t
			h.t, heard = t, len(w.said("page"))
			defer func() { h.t = before }()
			what(t)
		})
	}
	do("text", func(t *testing.T) {
		h.click(100, 60)
		says(t, "focus one")
		h.keys("H", "ä", "l", "l", "o")
		says(t, "one Hällo")
		h.keys("Backspace", "Shift+Tab", "Tab", "Tab")
		says(t, "focus two")
		h.keys("x")
		says(t, "two x")
		h.click(100, 180)
		h.keys("o", "k", "Enter", "!")
		says(t, "rich ok!")
	})
	do("shortcuts", func(t *testing.T) {
		h.click(100, 120)
		h.keys("Control+a", "n", "e", "w")
		says(t, "two new")
		h.keys("Home", "a", "Control+ArrowRight", "b", "Shift+Home", "Delete", "c")
		says(t, "two c")
		h.keys("Control+z")
		says(t, "two anewb")
		h.keys("Control+k")
		says(t, "shortcut")
	})
	do("input method", func(t *testing.T) {
		h.click(100, 60)
		h.keys("Control+a", "Delete")
		says(t, "one ")
		for _, text := range []string{"n", "に", "にほ", "にほん"} {
			h.call("Input.imeSetComposition", params{"text": text, "selectionStart": len([]rune(text)), "selectionEnd": len([]rune(text))})
		}
		says(t, "one にほん")
		h.call("Input.insertText", params{"text": "日本"})
		says(t, "composed 日本")
		h.keys("!")
		says(t, "one 日本!")
	})
	do("paste", func(t *testing.T) {
		h.click(100, 60)
		h.keys("Control+a", "Delete")
		says(t, "one ")
		h.call("Browser.grantPermissions", params{"permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}})
		h.eval(`navigator.clipboard.writeText('from elsewhere\tso')`, nil)
		h.keys("Control+v")
		says(t, "one from elsewhere\tso")
	})
	do("select", func(t *testing.T) {
		h.click(100, 240)
		h.button("Chad")
		says(t, "chose Chad")
		h.see(`!document.querySelector('dialog:modal') && document.activeElement.id === 'keys'`)
		h.keys(" ")
		h.see(`document.querySelector('dialog [aria-selected=true]')?.textContent === 'Chad'`)
		h.button("Peru")
		says(t, "chose Peru")
		h.keys("ArrowUp")
		says(t, "chose Chad")
	})
	do("file chooser", func(t *testing.T) {
		dir := t.TempDir()
		var files []string
		for _, name := range []string{"a.txt", "b.txt"} {
			files = append(files, filepath.Join(dir, name))
			if err := os.WriteFile(filepath.Join(dir, name), []byte("in "+name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h.click(100, 300)
		h.see(`document.querySelector('dialog input[type=file][multiple]')`)
		var input struct{ Result struct{ ObjectID string } }
		if err := json.Unmarshal(h.call("Runtime.evaluate", params{"expression": "document.querySelector('dialog input[type=file]')"}), &input); err != nil {
			t.Fatal(err)
		}
		h.call("DOM.setFileInputFiles", params{"files": files, "objectId": input.Result.ObjectID})
		h.button("Give")
		says(t, "file a.txt in a.txt")
		says(t, "file b.txt in b.txt")
	})
	do("dialogs", func(t *testing.T) { // whatever the session was opened with: they are for the person
		h.click(100, 360)
		h.see(`document.querySelector('dialog:modal')?.textContent.includes('Fire!')`)
		if said := w.said("page"); said[len(said)-1] == "alerted" {
			t.Error("the alert did not wait")
		}
		h.button("OK")
		says(t, "alerted")
		h.click(100, 420)
		h.see(`document.querySelector('dialog:modal')?.textContent.includes('Really?')`)
		h.button("Cancel")
		says(t, "confirmed false")
		h.click(100, 420)
		h.button("OK")
		says(t, "confirmed true")
		h.click(100, 480)
		h.see(`document.querySelector('dialog:modal input')?.value === 'nobody'`)
		h.eval(`document.querySelector('dialog:modal input').select()`, nil)
		h.keys("A", "n", "n")
		h.button("OK")
		says(t, "prompted Ann")
		h.see(`!document.querySelector('dialog:modal') && document.activeElement.id === 'keys'`)
	})
	do("scrolling", func(t *testing.T) {
		h.wheel(100, 560, 200, 0)
		says(t, "list 200")
		h.wheel(600, 300, 300, 0)
		says(t, "scrolled 300")
		h.wheel(600, 300, -300, 0)
		says(t, "scrolled 0")
	})
	do("mouse", func(t *testing.T) {
		at := h.at(900, 300)
		h.mouse(at, 1, "mouseMoved", "mousePressed", "mouseReleased")
		h.mouse(at, 2, "mousePressed", "mouseReleased")
		says(t, "double")
		for _, kind := range []string{"mousePressed", "mouseReleased"} {
			h.call("Input.dispatchMouseEvent", params{"type": kind, "x": at[0], "y": at[1], "button": "right", "clickCount": 1})
		}
		says(t, "menu")
	})
	do("touch", func(t *testing.T) {
		h.touch("touchStart", [2]float64{900, 300})
		h.touch("touchEnd")
		says(t, "fingers 1")
		says(t, "click touch")
		h.touch("touchStart", [2]float64{500, 600})
		for y := 590.0; y >= 300; y -= 10 {
			h.touch("touchMove", [2]float64{500, y})
		}
		h.touch("touchEnd")
		h.see(`true`)
		for end := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if list := w.said("page"); strings.HasPrefix(fmt.Sprint(list[len(list)-1]), "scrolled ") && list[len(list)-1] != "scrolled 0" {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("a finger scrolls nothing: %v", w.said("page")[heard:])
			}
		}
	})
	do("zoom", func(t *testing.T) {
		for end := time.Now().Add(15 * time.Second); ; time.Sleep(200 * time.Millisecond) { // what the finger began may go on for a while
			h.wheel(600, 100, -3000, 0)
			if list := w.said("page"); list[len(list)-1] == "scrolled 0" {
				heard = len(list)
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the page says %v", w.said("page")[heard:])
			}
		}
		h.wheel(900, 300, -100, 2)
		says(t, "zoom")
		h.touch("touchStart", [2]float64{900, 300}, [2]float64{920, 300})
		says(t, "fingers 2")
		for n := 1.0; n <= 10; n++ { // apart, and the middle stays where it is
			h.touch("touchMove", [2]float64{900 - 10*n, 300}, [2]float64{920 + 10*n, 300})
		}
		h.touch("touchEnd")
		says(t, "scale true")
		// A click hits what the picture shows: far from the middle another scale would be beside it.
		for end := time.Now().Add(15 * time.Second); ; time.Sleep(200 * time.Millisecond) { // nothing tells when the picture has come
			h.click(1100, 300)
			if list := w.said("page"); list[len(list)-1] == "at 1100 300" {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the page says %v", w.said("page")[heard:])
			}
		}
	})
	do("a view that is zoomed itself", func(t *testing.T) {
		h.call("Emulation.setDeviceMetricsOverride", params{"width": 930, "height": 700, "deviceScaleFactor": 1.5, "mobile": false})
		h.see(`innerWidth === 930`)
		h.eval(`document.querySelector('#live canvas').scrollIntoView({ block: 'center' })`, nil)
		h.click(1100, 300)
		says(t, "at 1100 300")
	})
	h.button("Done")
	if back := a.handsOff(nil); back.State != "done" {
		t.Errorf("%+v", back)
	}
}

// Where a person goes is decided as where an agent goes: what they click, submit and type into the bar.
func TestAPersonGoesNowhereElse(t *testing.T) {
	aboutOneProcess(t, "a view of all sessions drives those of its own node")
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	away := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	const at = `style="position:absolute;left:40px;width:300px;height:40px;top:`
	w.serve("/", page("page", `<body style="margin:0"><a href="`+away+`/link" `+at+`40px">Link</a>
		<form method=post action="`+away+`/form"><button `+at+`100px">Form</button></form>
		<button `+at+`160px" onclick="fetch('`+away+`/fetch')">Fetch</button>
		<button `+at+`220px" onclick="window.open('`+away+`/popup')">Popup</button>`), "")
	a, o := as(t, d, ann), as(t, d, olga)
	a.do("session_open", params{"name": "shop", "allowed_domains": []string{"127.0.0.1"}})
	a.do("open", params{"url": w.URL})
	v := opens(t, d, ask[struct{ URL string }](o, "view", nil).URL)
	c, _ := v.dials()
	c.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "ann", "session": "shop"})
	heard(t, c, "frame")
	if status := v.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	refusals := func() int {
		return strings.Count(v.first("actions"), "localhost is not among the session's allowed_domains")
	}
	for i, what := range []string{"the link", "the form", "fetch", "the popup"} {
		c.WriteJSON(map[string]any{"t": "open", "id": 1, "url": fmt.Sprint(w.URL, "/?", i)})
		for began := time.Now(); !strings.Contains(v.first("tabs"), fmt.Sprint("/?", i)) || !strings.Contains(v.first("tabs"), "title:page"); time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("%s: the page is not there: %s", what, v.first("tabs"))
			}
		}
		before := refusals()
		for _, kind := range []string{"down", "up"} {
			c.WriteJSON(map[string]any{"t": "act", "id": 1, "act": map[string]any{"do": kind, "x": 100, "y": 60 + 60*i, "clicks": 1}})
		}
		for began := time.Now(); refusals() == before; time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("nothing says that %s was refused: %s", what, v.first("actions"))
			}
		}
	}
	c.WriteJSON(map[string]any{"t": "open", "id": 1, "url": away + "/bar"})
	if e := heard(t, c, "error"); !strings.Contains(fmt.Sprint(e["text"]), "localhost") {
		t.Errorf("an address in the bar: %v", e)
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests came where the session may not go", n)
	}
}
