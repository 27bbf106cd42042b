package e2e_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// cardView is the socket of a live view, which draws what it is sent at once, as the view's page does.
type cardView struct {
	t *testing.T
	v *viewer
	c *websocket.Conn

	mu     sync.Mutex // of what it has heard, and of writing
	states int
	state  string
	lines  string // what the last snapshot of its page said
	cards  map[uint32]*cardSeen
}

// cardSeen is what a picture of the view shows.
type cardSeen struct {
	pictures      int
	bytes         int // of the last one
	width, height int // of the page
	last          image.Image
	dark          string // why there is no picture now
	refused       string
}

// viewsCards opens a link at a node, and the view's socket.
func viewsCards(t *testing.T, d *testdaemon.Daemon, a *agent, p params) *cardView {
	t.Helper()
	link, err := url.Parse(ask[struct{ URL string }](a, "view", p).URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &cardView{t: t, v: opens(t, d, d.URL()+link.Path), cards: map[uint32]*cardSeen{}}
	w.dials()
	return w
}

func (w *cardView) dials() {
	w.t.Helper()
	c, status := w.v.dials()
	if c == nil {
		w.t.Fatalf("the view's socket: %d", status)
	}
	w.mu.Lock()
	w.c = c
	w.mu.Unlock()
	go func() {
		for {
			kind, data, err := c.ReadMessage()
			if err != nil {
				return
			}
			w.heard(kind, data)
		}
	}()
}

func (w *cardView) heard(kind int, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kind != websocket.BinaryMessage {
		var m struct {
			T, Text string
			ID      uint32
		}
		if json.Unmarshal(data, &m) != nil {
			return
		}
		switch seen := w.seen(m.ID); m.T {
		case "state":
			w.states, w.state = w.states+1, string(data)
		case "snapshot":
			w.lines = string(data)
		case "dark":
			seen.dark, seen.last = m.Text, nil
		case "error":
			seen.refused = m.Text
		}
		return
	}
	id := binary.BigEndian.Uint32(data)
	seen := w.seen(id)
	picture, err := jpeg.Decode(bytes.NewReader(data[8:]))
	if err != nil {
		w.t.Errorf("picture of card %d: %v", id, err)
		return
	}
	seen.pictures, seen.bytes, seen.last, seen.dark = seen.pictures+1, len(data)-8, picture, ""
	seen.width, seen.height = int(binary.BigEndian.Uint16(data[4:])), int(binary.BigEndian.Uint16(data[6:]))
	w.c.WriteJSON(map[string]any{"t": "ack", "id": id})
}

// seen is what is seen of a card. The caller holds mu.
func (w *cardView) seen(id uint32) *cardSeen {
	if w.cards[id] == nil {
		w.cards[id] = &cardSeen{}
	}
	return w.cards[id]
}

func (w *cardView) card(id uint32) cardSeen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.seen(id)
}

func (w *cardView) says(m map[string]any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.c.WriteJSON(m)
}

func (w *cardView) watch(id uint32, session string) {
	w.says(map[string]any{"t": "watch", "id": id, "agent": "ann", "session": session, "tab": "t1"})
}

// shows waits until the state of the view has all these words, or none of them.
func (w *cardView) shows(is bool, words ...string) {
	w.t.Helper()
	until(w.t, 20*time.Second, fmt.Sprint(is, " of the view's state: ", words), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, word := range words {
			if strings.Contains(w.state, word) != is {
				return false
			}
		}
		return w.state != ""
	})
}

// colour is what most of a picture is.
func (s cardSeen) colour() string {
	if s.last == nil {
		return "none"
	}
	b := s.last.Bounds()
	r, g, u, _ := s.last.At(b.Dx()/2, b.Dy()-b.Dy()/4).RGBA()
	name := ""
	for _, part := range []struct {
		name string
		of   uint32
	}{{"red", r}, {"lime", g}, {"blue", u}} {
		if part.of > 0xc000 {
			name += part.name
		}
	}
	return name
}

// coloured waits until a card is of a colour.
func (w *cardView) coloured(id uint32, colour string) {
	w.t.Helper()
	until(w.t, 20*time.Second, fmt.Sprintf("card %d is %s", id, colour), func() bool { return w.card(id).colour() == colour })
}

// colours is a page of a colour. /ticking changes ten times a second, whoever looks.
func colours(w *pageServer) {
	w.mux.HandleFunc("/colour", func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, `<!doctype html><title>Colour</title><body style="background:%s"><h1>Colour</h1>`, r.FormValue("is"))
	})
	w.serve("/ticking", page("Ticking", `<body style="background:lime"><h1 id=p>0</h1><script>let n = 0; setInterval(() => { p.textContent = n++ }, 100)</script>`), "")
}

const annAndOlga = `[{"agent":"ann","token":"` + ann + `"},{"agent":"olga","token":"` + olga + `","role":"operator"}]`

// A view of all sessions has a picture of each, as that of the session at its own node: it follows the page, a field
// with a secret is of dots, and it ends with the session or goes on where that moves to. Whoever sees one session
// alone is shown no other's.
func TestCardsOfSessionsAtOtherNodes(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_AUTH__TOKENS": annAndOlga, "BROWSERD_SESSION__MAX": "1"})
	w := newPageServer(t)
	colours(w)
	set := secretSetter(t, f.nodes[1]) // where s1 is
	fields := newPageServer(t)         // of another origin: none of the agent's JavaScript runs there
	fields.serve("/field", page("Field", `<body style="margin:0"><label>Field <input style="font:60px monospace;width:900px"></label><button>Other</button>`), "")
	set("hunter2 and more", "one", "--origin", fields.URL)
	set("WWWWWWW iii MMMM", "two", "--origin", fields.URL)
	a := as(t, f.nodes[0], ann)
	for n, colour := range []string{"red", "lime", "blue"} { // each at another node
		a.do("session_open", params{"name": fmt.Sprint("s", n)})
		a.do("open", params{"url": w.URL + "/colour?is=" + colour})
	}
	all := viewsCards(t, f.nodes[0], as(t, f.nodes[0], olga), nil)
	all.shows(true, `"name":"s0"`, `"name":"s1"`, `"name":"s2"`, `"node":"two"`, `"node":"three"`)
	for n, colour := range []string{"red", "lime", "blue"} {
		all.watch(uint32(n), fmt.Sprint("s", n))
		all.coloured(uint32(n), colour)
	}
	own := all.card(0)
	for id := range uint32(3) {
		if c := all.card(id); c.last.Bounds() != own.last.Bounds() || c.bytes > 9<<10 || c.width != own.width || c.height != own.height {
			t.Errorf("card %d is %v, %d bytes, of %d by %d pixels; the node's own %v, of %d by %d", id, c.last.Bounds(), c.bytes, c.width, c.height, own.last.Bounds(), own.width, own.height)
		}
	}
	for n, colour := range []string{"blue", "red", "lime"} {
		a.do("eval", params{"session": fmt.Sprint("s", n), "expression": fmt.Sprintf("document.body.style.background = %q", colour)})
		all.coloured(uint32(n), colour)
	}

	// What is typed into the field is seen, and a secret is not.
	settled := func() image.Image {
		t.Helper()
		last, since := all.card(1).pictures, time.Now()
		until(t, 20*time.Second, "the picture rests", func() bool {
			if now := all.card(1).pictures; now != last {
				last, since = now, time.Now()
			}
			return time.Since(since) > time.Second
		})
		return all.card(1).last
	}
	pictures := map[string]image.Image{}
	for what, text := range map[string]string{"one": "{{secret:one}}", "two": "{{secret:two}}", "text": "WWWWWWW iii MMMM"} {
		a.do("open", params{"session": "s1", "url": fields.URL + "/field"})
		a.do("type", params{"session": "s1", "ref": "label=Field", "text": text})
		a.do("focus", params{"session": "s1", "ref": "css=button"})
		pictures[what] = settled()
	}
	if n := differing(pictures["one"], pictures["two"]); n > 0 {
		t.Errorf("two secrets make pictures that differ in %d places", n)
	}
	if n := differing(pictures["one"], pictures["text"]); n < 20 {
		t.Errorf("what is no secret differs in %d places from one", n)
	}

	// Who sees one session is shown no other, whatever their page asks for.
	ones := viewsCards(t, f.nodes[0], a, params{"session": "s0"})
	ones.watch(1, "s1")
	ones.watch(2, "s2")
	until(t, 10*time.Second, "both are refused", func() bool { return ones.card(1).refused != "" && ones.card(2).refused != "" })
	for id := range uint32(2) {
		if c := ones.card(id + 1); c.pictures > 0 || !strings.Contains(c.refused, "no such session") {
			t.Errorf("a view of s0 is shown %+v", c)
		}
	}
	for _, m := range []map[string]any{{"t": "act", "act": map[string]any{"do": "down", "x": 10, "y": 10}}, {"t": "reload"}, {"t": "snapshot"}} {
		m["id"] = 2
		all.says(m)
		until(t, 10*time.Second, "refused", func() bool { return strings.Contains(all.card(2).refused, "Look there") })
	}
	if all.card(2).colour() != "lime" {
		t.Errorf("the card is %s", all.card(2).colour())
	}

	// While a person drives nobody watches them, and what they did is not seen at once afterwards.
	form := url.Values{"csrf": {all.v.csrf}, "agent": {"ann"}, "session": {"s2"}}
	answer, body := all.v.asks("POST", all.v.path+"elsewhere", form)
	var there struct{ Path string }
	if json.Unmarshal([]byte(body), &there) != nil || len(answer.Cookies()) != 1 {
		t.Fatalf("the view of s2: %d %s", answer.StatusCode, body)
	}
	drives := &viewer{t: t, d: f.nodes[0], path: there.Path, cookie: answer.Cookies()[0].Name + "=" + answer.Cookies()[0].Value}
	drives.csrf = csrfOf.FindStringSubmatch(drives.sees())[1]
	if status := drives.presses("take", "ann", "s2"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	until(t, 10*time.Second, "the card says that a person drives", func() bool { return all.card(2).dark == "a person drives" })
	driven := all.card(2).pictures
	d, _ := drives.dials()
	d.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "ann", "session": "s2", "whole": true})
	heard(t, d, "frame")
	d.WriteJSON(map[string]any{"t": "ack", "id": 1})
	d.WriteJSON(map[string]any{"t": "open", "id": 1, "url": w.URL + "/ticking"})
	heard(t, d, "frame")
	time.Sleep(1500 * time.Millisecond) // it is asked for again meanwhile
	if now := all.card(2); now.pictures != driven || now.dark != "a person drives" {
		t.Errorf("while a person drives: %d pictures, %q", now.pictures-driven, now.dark)
	}
	if status := drives.presses("back", "ann", "s2"); status != http.StatusNoContent {
		t.Fatal(status)
	}
	until(t, 10*time.Second, "pictures again", func() bool { return all.card(2).pictures > driven+3 })
	// Somebody looks at the session large all the while.
	if c := all.card(2); c.last.Bounds() != own.last.Bounds() || c.bytes > 9<<10 || c.width != own.width || c.height != own.height {
		t.Errorf("the card is %v, %d bytes, of %d by %d pixels", c.last.Bounds(), c.bytes, c.width, c.height)
	}

	// A session ends, and one moves to the node that has room now.
	a.do("session_close", params{"session": "s1"})
	until(t, 10*time.Second, "the card has no picture", func() bool { return all.card(1).dark != "" })
	all.shows(false, `"name":"s1"`)
	ended := all.card(1).pictures
	if out, err := f.nodes[2].Command("drain"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	until(t, 10*time.Second, "the card has no picture", func() bool { return all.card(2).dark != "" })
	moved := all.card(2).pictures
	until(t, 10*time.Second, "node two is known to have room", func() bool {
		_, err := a.try("open", params{"session": "s2", "url": w.URL + "/colour?is=red"})
		if err != nil && protocol.CodeOf(err) != protocol.SessionLimit {
			t.Fatal(err)
		}
		return err == nil
	})
	if r := fleetOf(t, f.nodes[0]); len(r.Sessions) != 2 || r.Sessions[0].Node+r.Sessions[1].Node != 3 {
		t.Errorf("the sessions lie at %+v", r.Sessions)
	}
	all.coloured(2, "red")
	if now := all.card(1).pictures; now != ended || all.card(2).pictures == moved {
		t.Errorf("%d and %d pictures more", now-ended, all.card(2).pictures-moved)
	}
}

// differing counts the pixels in which two pictures differ much.
func differing(a, b image.Image) (n int) {
	if a == nil || b == nil || a.Bounds() != b.Bounds() {
		return 1 << 20
	}
	apart := func(x, y uint32) bool { return max(x, y)-min(x, y) > 0x4000 }
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			r, g, u, _ := a.At(x, y).RGBA()
			r2, g2, u2, _ := b.At(x, y).RGBA()
			if apart(r, r2) || apart(g, g2) || apart(u, u2) {
				n++
			}
		}
	}
	return n
}

// The page of the view, in a real Chromium: the cards of all nodes have pictures. A node is stopped: its card says so,
// those of the others go on, and so do the leases of their nodes. It comes back, and so does its picture.
func TestANodeIsStoppedWhoseCardsAreSeen(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_AUTH__TOKENS": annAndOlga, "BROWSERD_SESSION__MAX": "1"})
	w := newPageServer(t)
	colours(w)
	a, c := as(t, f.nodes[0], ann), as(t, f.nodes[2], ann)
	for n := range 3 {
		a.do("session_open", params{"name": fmt.Sprint("s", n)})
		a.do("open", params{"url": w.URL + "/colour?is=red"})
	}
	p := newDesk(t)
	link := ask[struct{ URL string }](as(t, f.nodes[0], olga), "view", nil).URL
	p.do("open", params{"url": strings.Replace(link, "http://"+f.Addr, f.nodes[0].URL(), 1)})
	card := func(name string) string { return fmt.Sprintf(`document.querySelector('article[aria-label=%s]')`, name) }
	paint := func(a *agent, name, colour string) {
		t.Helper()
		a.do("eval", params{"session": name, "expression": fmt.Sprintf("document.body.style.background = %q", colour)})
		rgb := map[string]string{"red": "255,0,0", "lime": "0,255,0", "blue": "0,0,255"}[colour]
		p.shows(fmt.Sprintf(`(() => { const c = %s?.querySelector('canvas'); if (!c) return false; const d = c.getContext('2d').getImageData(c.width / 2, c.height * 3 / 4, 1, 1).data;
			return [%s].every((v, i) => Math.abs(v - d[i]) < 40) && !%s.querySelector('.none') })()`, card(name), rgb, card(name)))
	}
	for n, colour := range []string{"lime", "blue", "lime"} {
		paint(a, fmt.Sprint("s", n), colour)
	}
	syscall.Kill(f.nodes[1].PID, syscall.SIGSTOP)
	began := time.Now()
	running := true
	defer func() {
		if running {
			syscall.Kill(f.nodes[1].PID, syscall.SIGCONT)
		}
	}()
	p.shows(fmt.Sprintf(`%s?.querySelector('.none')?.textContent === 'no word of node two' && !%[1]s.querySelector('canvas')`, card("s1")))
	said := time.Since(began)
	var longest time.Duration
	for round := range 3 {
		colour := []string{"blue", "red", "lime"}[round]
		for _, of := range []struct {
			a    *agent
			name string
		}{{a, "s0"}, {c, "s2"}} {
			painted := time.Now()
			paint(of.a, of.name, colour)
			longest = max(longest, time.Since(painted))
		}
	}
	until(t, 10*time.Second, "the others extend their leases", func() bool {
		return !slices.ContainsFunc(fleetOf(t, f.nodes[0]).Nodes, func(n fleet.NodeReport) bool { return n.Node != 2 && (n.State != "up" || n.Lease < 6) })
	})
	stopped := time.Since(began)
	syscall.Kill(f.nodes[1].PID, syscall.SIGCONT)
	running = false
	p.shows(fmt.Sprintf(`%s?.querySelector('canvas') && !%[1]s.querySelector('.none')`, card("s1"))) // also where its lease was over
	paint(a, "s1", "red")
	t.Logf("stopped for %v; the card said so after %v; the others followed within %v", stopped, said, longest)
	if errors := ask[struct {
		Messages []struct{ Level, Text string }
	}](p.agent, "console", nil).Messages; len(errors) > 0 {
		t.Errorf("the console says %v", errors)
	}
}

// casts counts what a recording of a Chromium's protocol has of screencasts.
type casts struct{ starts, stops, pictures int }

func castsOf(t *testing.T, recording string) (c casts) {
	t.Helper()
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	return casts{bytes.Count(text, []byte(`"Page.startScreencast"`)), bytes.Count(text, []byte(`"Page.stopScreencast"`)), bytes.Count(text, []byte(`"Page.screencastFrame"`))}
}

// No picture of a session is taken, and none is sent, while no viewer at another node has its card: not before
// somebody looks, nor when they look elsewhere, close the view, or their node is killed or stopped.
func TestNoPictureOfACardThatNobodySees(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	w := newPageServer(t)
	colours(w)
	dir := t.TempDir()
	recording := filepath.Join(dir, "recording")
	program := filepath.Join(dir, "cdpreplay")
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, "./internal/cdpreplay")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, d := range []string{filepath.Dir(dir), dir} { // Chromium's user writes there
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"BROWSERD_AUTH__TOKENS": annAndOlga, "BROWSERD_SESSION__MAX": "1"}
	one := startNode(t, pg, "one", env)
	env["BROWSERD_BROWSER__PATH"], env["BROWSERD_BROWSER__JAIL"] = program, "off"
	env["BROWSERD_BROWSER__ARGS"] = "--cdp-record=" + recording + ",--cdp-chromium=" + realChromium(t)
	two := startNode(t, pg, "two", env)
	delete(env, "BROWSERD_BROWSER__PATH")
	delete(env, "BROWSERD_BROWSER__ARGS")
	three := startNode(t, pg, "three", env)
	a := as(t, two, ann)
	a.do("session_open", params{"name": "near"})
	a.do("session_open", params{"name": "far"})
	a.do("open", params{"session": "far", "url": w.URL + "/ticking"})
	if r := fleetOf(t, two); len(r.Sessions) != 2 || r.Sessions[1].Node != 2 {
		t.Fatalf("the sessions lie at %+v", r.Sessions)
	}
	rests := func(what string, within time.Duration) {
		t.Helper()
		until(t, within, what+": the screencast ends", func() bool { c := castsOf(t, recording); return c.starts == c.stops })
		before := castsOf(t, recording)
		until(t, 5*time.Second, what+": what was on its way has come", func() bool {
			last := before
			time.Sleep(100 * time.Millisecond) // the time in which nothing may come
			before = castsOf(t, recording)
			return before == last
		})
		time.Sleep(1500 * time.Millisecond) // the page changes 15 times
		if now := castsOf(t, recording); now != before {
			t.Errorf("%s: %+v, then %+v", what, before, now)
		}
	}
	view := func(d *testdaemon.Daemon) *cardView {
		t.Helper()
		v := viewsCards(t, d, as(t, d, olga), nil)
		v.shows(true, `"name":"far"`)
		return v
	}
	seen := func(v *cardView) {
		t.Helper()
		v.watch(1, "far")
		before := v.card(1).pictures
		until(t, 20*time.Second, "pictures", func() bool { return v.card(1).pictures > before+3 })
	}
	at := view(one)
	rests("before anybody looks", time.Second)
	if c := castsOf(t, recording); c != (casts{}) {
		t.Errorf("before anybody looks: %+v", c)
	}
	seen(at)
	began, pictures := time.Now(), at.card(1).pictures
	time.Sleep(2 * time.Second) // what is counted
	if rate := float64(at.card(1).pictures-pictures) / time.Since(began).Seconds(); rate > 5.5 || rate < 1 {
		t.Errorf("%.1f pictures a second", rate)
	} else {
		t.Logf("%.1f pictures a second", rate)
	}
	at.says(map[string]any{"t": "unwatch", "id": 1})
	rests("the viewer looks elsewhere", 5*time.Second)
	seen(at)
	at.c.Close()
	rests("the view is closed", 5*time.Second)
	again := view(three)
	seen(again)
	three.Kill()
	rests("the viewer's node is killed", 5*time.Second)
	at.dials()
	seen(at)
	syscall.Kill(one.PID, syscall.SIGSTOP)
	defer syscall.Kill(one.PID, syscall.SIGCONT)
	rests("the viewer's node is stopped", 25*time.Second)
}

// A node without a lease sends no pictures, even to one that would show them, and when it has its lease again it does.
func TestNoCardOfANodeWithoutALease(t *testing.T) {
	t.Parallel()
	shows := edited(t, []edit{{"fleet/cards.go", "err := w.node.CheckLease(); err != nil", "err := error(nil); err != nil"}})
	pg := testpostgres.Start(t)
	w := newPageServer(t)
	colours(w)
	env := map[string]string{"BROWSERD_AUTH__TOKENS": annAndOlga, "BROWSERD_SESSION__MAX": "1"}
	o := nodeOptions(t, pg, "one", "", env)
	o.Binary = shows
	one := testdaemon.Start(t, o)
	two := startNode(t, pg, "two", env)
	a := as(t, one, ann)
	for _, name := range []string{"near", "far"} {
		a.do("session_open", params{"name": name})
		a.do("open", params{"session": name, "url": w.URL + "/ticking"})
	}
	all := viewsCards(t, one, as(t, one, olga), nil)
	all.shows(true, `"name":"far"`, `"node":"two"`)
	all.watch(1, "far")
	until(t, 20*time.Second, "pictures", func() bool { return all.card(1).pictures > 3 })
	pg.Freeze(t)
	until(t, 20*time.Second, "the lease is over", func() bool { return strings.Contains(ready(t, two), "lease") })
	until(t, 5*time.Second, "the card says so", func() bool { return all.card(1).dark == "its node has no lease" })
	before := all.card(1)
	time.Sleep(3 * time.Second) // the page changes 30 times, and the card is asked for again
	if now := all.card(1); now.pictures != before.pictures || now.dark != before.dark {
		t.Errorf("without a lease: %d pictures, %q", now.pictures-before.pictures, now.dark)
	}
	pg.Thaw(t)
	until(t, 20*time.Second, "pictures again", func() bool { return all.card(1).pictures > before.pictures+3 })
}

// A node of a version that knows no cards: theirs have no picture, those of the others have, and all else goes on.
func TestANodeThatKnowsNoCards(t *testing.T) {
	t.Parallel()
	before := edited(t, []edit{{"fleet/wire.go", "`json:\"card,omitempty\"`", "`json:\"-\"`"}, {"session/overview.go", "Live    bool ", "Live    bool `json:\"-\"`"}})
	pg := testpostgres.Start(t)
	w := newPageServer(t)
	colours(w)
	env := map[string]string{"BROWSERD_AUTH__TOKENS": annAndOlga, "BROWSERD_SESSION__MAX": "1"}
	var nodes []*testdaemon.Daemon
	for _, name := range []string{"one", "two", "three"} {
		o := nodeOptions(t, pg, name, "", env)
		if name == "two" {
			o.Binary = before
		}
		nodes = append(nodes, testdaemon.Start(t, o))
	}
	a := as(t, nodes[0], ann)
	for n, colour := range []string{"red", "lime", "blue"} {
		a.do("session_open", params{"name": fmt.Sprint("s", n)})
		a.do("open", params{"url": w.URL + "/colour?is=" + colour})
	}
	all := viewsCards(t, nodes[0], as(t, nodes[0], olga), nil)
	all.shows(true, `"name":"s0"`, `"name":"s1"`, `"name":"s2"`)
	all.mu.Lock()
	if n := strings.Count(all.state, `"live":true`); n != 2 { // for the other one the view's page asks for none
		t.Errorf("%d of the sessions have a picture: %s", n, all.state)
	}
	all.mu.Unlock()
	for n := range 3 { // and if one did
		all.watch(uint32(n), fmt.Sprint("s", n))
	}
	all.coloured(0, "red")
	all.coloured(2, "blue")
	for n := range 3 {
		a.do("eval", params{"session": fmt.Sprint("s", n), "expression": "document.body.style.background = 'lime'"})
	}
	all.coloured(0, "lime")
	all.coloured(2, "lime")
	if c := all.card(1); c.pictures > 0 || c.refused != "" || c.dark != "" {
		t.Errorf("the card of the node that knows none: %+v", c)
	}
	all.says(map[string]any{"t": "unwatch", "id": 1})
	if r := a.do("read", params{"session": "s1"}); !strings.Contains(r.Content, "Colour") {
		t.Errorf("its session is %q", r.Content)
	}
	b := viewsCards(t, nodes[1], as(t, nodes[1], olga), nil) // nor has it any of others
	b.shows(true, `"name":"s0"`, `"name":"s1"`, `"name":"s2"`)
	b.watch(1, "s1")
	b.coloured(1, "lime")
}
