package e2e_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
)

// turning is a page that is white, and of one colour with words in all places when told to be.
type turning struct {
	*pageServer
	told atomic.Bool
}

// heronWord is in what the page says, writes to its console and asks for when it is told to.
const heronWord = "heron-in-the-reeds"

func newTurning(t *testing.T) *turning {
	w := &turning{pageServer: newPageServer(t)}
	w.serve("/turning", page("Still", `<body style="background:white"><h1 id=h>Still</h1><script>
		let was = false;
		setInterval(async () => {
			const is = await (await fetch('/told', {cache: 'no-store'})).text();
			if (!is || was) return;
			was = true;
			document.body.style.background = 'magenta'; document.title = is; h.textContent = 'Turned: ' + is;
			history.replaceState(null, '', '#' + is); console.error(is); fetch('/asked/' + is);
		}, 50)</script>`), "")
	w.mux.HandleFunc("/told", func(rw http.ResponseWriter, _ *http.Request) {
		if w.told.Load() {
			fmt.Fprint(rw, heronWord)
		}
	})
	w.mux.HandleFunc("/asked/", func(http.ResponseWriter, *http.Request) {})
	return w
}

// cutNode is a node that reaches its database by a cable.
func cutNode(t *testing.T, env map[string]string) (*testdaemon.Daemon, *cable) {
	t.Helper()
	all := map[string]string{"BROWSERD_AUTH__TOKENS": annAndOlga}
	maps.Copy(all, env)
	return cutOff(t, testpostgres.Start(t), "one", all)
}

// leaseless waits until a node's lease is over.
func leaseless(t *testing.T, d *testdaemon.Daemon) {
	t.Helper()
	until(t, 20*time.Second, "the lease is over", func() bool { return strings.Contains(ready(t, d), "lease") })
}

// Without its lease a node does not know what others give the agent: the view that an agent has asked for shows no
// picture, title, address or line of a page, and GET / none either. With the lease they are there again.
func TestALiveViewWithoutALease(t *testing.T) {
	t.Parallel()
	d, c := cutNode(t, nil)
	w := newTurning(t)
	a := as(t, d, ann)
	a.do("session_open", params{"name": "work"})
	a.do("open", params{"url": w.URL + "/turning"})
	v := viewsCards(t, d, a, params{"session": "work"})
	v.watch(1, "work")
	until(t, 20*time.Second, "a picture", func() bool { return v.card(1).pictures > 0 })
	c.cut()
	leaseless(t, d)
	v.shows(true, `"private":true`)
	before := -1
	until(t, 5*time.Second, "what was taken with the lease has come", func() bool {
		last := before
		time.Sleep(100 * time.Millisecond) // the time in which nothing may come
		before = v.card(1).pictures
		return before == last
	})
	w.told.Store(true)
	var told []string
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		v.says(map[string]any{"t": "snapshot", "id": 1})
		v.mu.Lock()
		told = append(told, v.state, v.lines)
		v.mu.Unlock()
		told = append(told, v.v.sees(), getAs(t, d, "/", ann))
	}
	for _, text := range told {
		if strings.Contains(text, heronWord) {
			t.Errorf("the view says\n%.3000s", text)
			break
		}
	}
	if n := v.card(1).pictures - before; n > 0 {
		t.Errorf("%d pictures, %s", n, v.card(1).colour())
	}
	c.mend()
	until(t, 20*time.Second, "the lease is back", func() bool { return ready(t, d) == "" })
	v.coloured(1, "redblue")
	v.shows(true, heronWord)
}

// A trace and a film of a node without its lease hold nothing that a page shows meanwhile: neither of a command that
// ends then, nor of what happens between commands, nor at the recordings' own end.
func TestARecordingWithoutALease(t *testing.T) {
	t.Parallel()
	d, c := cutNode(t, nil)
	w := newTurning(t)
	a := as(t, d, ann)
	for _, kind := range []string{"trace", "video"} {
		a.do("session_open", params{"name": kind})
		a.do("open", params{"session": kind, "url": w.URL + "/turning"})
		ask[struct{}](a, kind, params{"session": kind, "action": "start"})
		a.do("click", params{"session": kind, "ref": "role=heading"})
	}
	link, err := url.Parse(ask[struct{ URL string }](as(t, d, olga), "view", nil).URL)
	if err != nil {
		t.Fatal(err)
	}
	person := opens(t, d, d.URL()+link.Path)
	began := time.Now()
	waits := []func() error{}
	for _, kind := range []string{"trace", "video"} {
		sent := a.send("wait", params{"session": kind, "text": "Turned", "timeout_ms": 60000})
		waits = append(waits, func() error { _, err := a.wait(sent); return err })
	}
	c.cut()
	leaseless(t, d)
	w.told.Store(true)
	for _, wait := range waits {
		if err := wait(); err == nil || strings.Contains(err.Error(), heronWord) {
			t.Errorf("the page has turned after %v: %v", time.Since(began), err)
		}
	}
	time.Sleep(2500 * time.Millisecond)               // a film has a picture a second between commands
	for _, kind := range []string{"trace", "video"} { // the session ends, and the recording with it
		if status := person.presses("stop", "ann", kind); status != http.StatusNoContent {
			t.Errorf("stopping %s: %d", kind, status)
		}
	}
	until(t, 10*time.Second, "the sessions to end", func() bool { return !strings.Contains(person.sees(), `"live":true`) })
	if why := ready(t, d); !strings.Contains(why, "lease") {
		t.Errorf("/readyz says %q", why)
	}
	c.mend()
	var trace, film []byte
	until(t, 20*time.Second, "the recordings", func() bool {
		trace, film = []byte(getAs(t, d, "/v1/recordings/trace-1.zip", ann)), []byte(getAs(t, d, "/v1/recordings/video-1.webm", ann))
		return bytes.HasPrefix(trace, []byte("PK")) && bytes.HasPrefix(film, []byte("\x1a\x45\xdf\xa3"))
	})
	pictures := 0
	for name, text := range unzipped(t, trace) {
		if strings.Contains(text, heronWord) {
			t.Errorf("%s of the trace says %s", name, text)
		}
		if !strings.HasSuffix(name, ".jpeg") {
			continue
		}
		pictures++
		picture, err := jpeg.Decode(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		if of := (cardSeen{last: picture}).colour(); of != "redlimeblue" {
			t.Errorf("%s of the trace is %s", name, of)
		}
	}
	if bytes.Contains(film, []byte(heronWord)) {
		t.Error("the film says it")
	}
	w.mux.HandleFunc("GET /film.webm", func(rw http.ResponseWriter, r *http.Request) {
		http.ServeContent(rw, r, "film.webm", time.Time{}, bytes.NewReader(film))
	})
	w.serve("/player", page("player", `<video src="/film.webm" muted></video>`), "")
	p := newDesk(t)
	p.do("open", params{"url": w.URL + "/player"})
	p.do("wait", params{"expression": `document.querySelector('video').readyState >= 2`})
	got := p.do("eval", params{"expression": `(async () => {
		const v = document.querySelector('video'), c = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
		const seen = {white: 0, other: 0, seconds: v.duration};
		for (let at = 0; at < v.duration; at += 0.25) {
			await new Promise((done, failed) => { v.onerror = () => failed(v.error); v.onseeked = done; v.currentTime = at + 0.01; });
			c.drawImage(v, 400, 300, 4, 4, 0, 0, 4, 4);
			const [r, g, b] = c.getImageData(1, 1, 1, 1).data;
			seen[r > 200 && g > 200 && b > 200 ? 'white' : 'other']++;
		}
		return seen;
	})()`}).Value.(map[string]any)
	if got["other"] != 0.0 || got["white"].(float64) < 4 || pictures == 0 {
		t.Errorf("the film shows %v; the trace has %d pictures", got, pictures)
	}
	t.Logf("the film: %v; the trace: %d pictures", got, pictures)
}
