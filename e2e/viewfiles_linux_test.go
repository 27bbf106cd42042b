package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// giving is a request that gives a file to a page by the live view, of which only the first bytes are sent.
type giving struct {
	t    testing.TB
	c    net.Conn
	in   *bufio.Reader
	left int // bytes of the body that are not sent yet
}

const (
	beginOfFiles = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n"
	endOfFiles   = "\r\n--x--\r\n"
)

// gives begins to give a file to a session's page, in a body of so many bytes.
func (v *viewer) gives(session string, bytes int, header ...string) *giving {
	v.t.Helper()
	c, err := net.Dial("tcp", v.d.Addr)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { c.Close() })
	fields := map[string]string{
		"Host": v.d.Addr, "Origin": v.d.URL(), "Sec-Fetch-Site": "same-origin", "Cookie": v.cookie, "Browserd-Csrf": v.csrf,
		"Content-Type": "multipart/form-data; boundary=x", "Content-Length": fmt.Sprint(bytes),
	}
	for i := 0; i < len(header); i += 2 {
		fields[header[i]] = header[i+1]
	}
	var head strings.Builder
	fmt.Fprintf(&head, "POST %sfiles?agent=ann&session=%s HTTP/1.1\r\n", v.path, session)
	for name, value := range fields {
		if value != "" {
			fmt.Fprintf(&head, "%s: %s\r\n", name, value)
		}
	}
	if _, err := io.WriteString(c, head.String()+"\r\n"+beginOfFiles); err != nil {
		v.t.Fatal(err)
	}
	return &giving{v.t, c, bufio.NewReader(c), bytes - len(beginOfFiles)}
}

// answer returns the status of the answer; 0: not all of it came within the time.
func (g *giving) answer(within time.Duration) int {
	g.t.Helper()
	g.c.SetReadDeadline(time.Now().Add(within))
	a, err := http.ReadResponse(g.in, nil)
	if err != nil {
		return 0
	}
	if _, err := io.ReadAll(a.Body); err != nil {
		return 0
	}
	return a.StatusCode
}

// ends sends the rest of the body.
func (g *giving) ends() {
	zeros := bytes.Repeat([]byte{0}, 1<<20)
	for n := g.left - len(endOfFiles); n > 0; n -= len(zeros) {
		if _, err := g.c.Write(zeros[:min(n, len(zeros))]); err != nil {
			return // it has been answered before
		}
	}
	io.WriteString(g.c, endOfFiles)
}

// temporary lists what the daemon has written to the system's directory for temporary files.
func temporary(t *testing.T, d *testdaemon.Daemon) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.Home, "tmp", "multipart-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A person gives files to a page. Who may not is answered before the body is read. What may be given goes to the page's
// uploads as it comes, so that neither the daemon nor the directory for temporary files holds it, and counts against the
// quota of uploads. Of the bytes of requests that wait or run it counts as what is in memory of it: 1 MiB.
func TestFilesThatAPersonGivesAreLimited(t *testing.T) {
	aboutOneProcess(t, "memory and temporary files are a process's own")
	const mb = 1 << 20
	d := driven(t, "", map[string]string{
		"BROWSERD_SERVER__LIMITS__QUEUED_BYTES_PER_TOKEN": fmt.Sprint(5 * mb),
		"BROWSERD_SESSION__UPLOAD_BYTES":                  fmt.Sprint(33 * mb),
	})
	w := newPageServer(t)
	w.serve("/", page("page", "<h1>Page</h1>"), "")
	a, b := as(t, d, ann), as(t, d, bob)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"session": "shop", "url": w.URL})
	b.do("session_open", params{"name": "shop"})
	b.do("open", params{"session": "shop", "url": w.URL})
	link := func(a *agent) *viewer {
		return opens(t, d, ask[struct{ URL string }](a, "view", params{"session": "shop"}).URL)
	}
	drives, shows := link(a), link(b)

	for _, c := range []struct {
		name   string
		by     *viewer
		bytes  int
		header []string
		want   int
	}{
		{"a link that only shows", shows, 64 * mb, nil, 403},
		{"who does not drive", drives, 64 * mb, nil, 403},
		{"no cookie", drives, 64 * mb, []string{"Cookie", ""}, 401},
		{"a forged cookie", drives, 64 * mb, []string{"Cookie", "browserd_view=ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, 401},
		{"no CSRF token", drives, 64 * mb, []string{"Browserd-Csrf", ""}, 403},
		{"another view's CSRF token", drives, 64 * mb, []string{"Browserd-Csrf", shows.csrf}, 403},
		{"another site", drives, 64 * mb, []string{"Origin", "https://evil.test"}, 403},
		{"no origin", drives, 64 * mb, []string{"Origin", ""}, 403},
	} {
		if got := c.by.gives("shop", c.bytes, c.header...).answer(5 * time.Second); got != c.want {
			t.Errorf("%s: %d before the body was sent, want %d", c.name, got, c.want)
		}
	}
	if status := drives.presses("take", "ann", "shop"); status != http.StatusNoContent {
		t.Fatalf("taking over: %d", status)
	}
	if got := drives.gives("shop", 64*mb+1).answer(5 * time.Second); got != 413 {
		t.Errorf("more than a request may have: %d before the body was sent", got)
	}

	// Five at a time are in memory with 5 MiB, which is all that the token's requests may have.
	ping := func() int {
		r, err := http.NewRequest("POST", d.URL()+"/v1/ping", bytes.NewReader(append([]byte("{}"), bytes.Repeat([]byte(" "), 3*mb-2)...)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+ann)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	var running []*giving
	for i := range 5 {
		name := fmt.Sprint("other", i)
		a.do("session_open", params{"name": name})
		a.do("open", params{"session": name, "url": w.URL})
		v := opens(t, d, ask[struct{ URL string }](a, "view", params{"session": name}).URL)
		if status := v.presses("take", "ann", name); status != http.StatusNoContent {
			t.Fatalf("taking over %s: %d", name, status)
		}
		running = append(running, v.gives(name, 60*mb))
		until(t, 10*time.Second, fmt.Sprintf("%d files of 60 MB are being read", i+1), func() bool { return len(given(d)) == i+1 })
		if got := v.gives(name, 1*mb).answer(5 * time.Second); got != 429 {
			t.Errorf("a second one of the view: %d", got)
		}
	}
	if got := drives.gives("shop", 60*mb).answer(5 * time.Second); got != 429 {
		t.Errorf("more than the token's requests may have: %d before the body was sent", got)
	}
	if got := ping(); got != 429 {
		t.Errorf("a request of 3 MB beside 5 files: %d", got)
	}
	for _, g := range running[2:] {
		g.c.Close()
	}
	until(t, 10*time.Second, "a request of 3 MB beside 2 files of 60 MB is answered", func() bool { return ping() == 200 })
	for _, g := range running {
		g.c.Close()
	}
	await(t, func() bool { return len(given(d)) == 0 })

	// The page asks for no file: what is given is read, and then removed. Twice it is more than the quota.
	before := peak(t, d.PID)
	for range 2 {
		g := drives.gives("shop", 30*mb)
		g.ends()
		if got := g.answer(20 * time.Second); got != 400 {
			t.Fatalf("30 MB: %d", got)
		}
	}
	if grown := peak(t, d.PID) - before; grown > 20<<10 {
		t.Errorf("the daemon's peak grew by %d KB", grown)
	}
	over := drives.gives("shop", 35*mb)
	over.ends()
	if got := over.answer(20 * time.Second); got != 413 {
		t.Errorf("more than the quota of uploads: %d", got)
	}
	if left := temporary(t, d); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	if left := given(d); len(left) > 0 {
		t.Errorf("files are left that no page was given: %v", left)
	}
}

// given lists the files that a daemon keeps for its pages, or begins to.
func given(d *testdaemon.Daemon) (paths []string) {
	filepath.WalkDir(d.Home, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() == "a.bin" {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// choosesPage asks for a file wherever somebody clicks, and reports what it is given.
const choosesPage = `<input type=file aria-label=File style="position:fixed;left:0;top:0;width:400px;height:400px" onchange="report('given ' + files[0].size)">`

// chooser is somebody who drives a session of ann's and whom its page has asked for a file.
func chooser(t *testing.T, d *testdaemon.Daemon, v *viewer, session string) *websocket.Conn {
	t.Helper()
	if status := v.presses("take", "ann", session); status != http.StatusNoContent {
		t.Fatalf("taking over: %d", status)
	}
	c, status := v.dials()
	if c == nil {
		t.Fatalf("the socket: %d", status)
	}
	c.WriteJSON(map[string]any{"t": "watch", "id": 1, "agent": "ann", "session": session})
	heard(t, c, "frame")
	c.WriteJSON(map[string]any{"t": "ack", "id": 1})
	for _, do := range []string{"move", "down", "up"} {
		c.WriteJSON(map[string]any{"t": "act", "id": 1, "act": map[string]any{"do": do, "x": 100, "y": 100, "clicks": 1}})
	}
	heard(t, c, "asks")
	return c
}

// While somebody gives a file, the page, its tabs and the view go on. The file goes to the tab that asked, whose document
// counts as typed into; and nowhere, and it does not count, if that tab has closed or the view has ended.
func TestWhileAPersonGivesAFile(t *testing.T) {
	aboutOneProcess(t, "files are in a process's own directory")
	t.Parallel()
	const size = 2 << 20
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/", page("page", choosesPage), "")
	a := as(t, d, ann)
	starts := func(session string) (v *viewer, link string, c *websocket.Conn) {
		t.Helper()
		a.do("session_open", params{"name": session})
		a.do("open", params{"session": session, "url": w.URL})
		link = ask[struct{ URL string }](a, "view", params{"session": session}).URL
		v = opens(t, d, link)
		return v, link, chooser(t, d, v, session)
	}
	gives := func(v *viewer, session string, before int) *giving {
		t.Helper()
		g := v.gives(session, size)
		await(t, func() bool { return len(given(d)) == before+1 }) // it is being read
		return g
	}
	has := func(v *viewer, tab string, is bool) {
		t.Helper()
		await(t, func() bool { return strings.Contains(v.first("tabs"), "tab:"+tab+" ") == is })
	}

	v, _, c := starts("another")
	g := gives(v, "another", 0)
	c.WriteJSON(map[string]any{"t": "newtab", "id": 1})
	has(v, "t2", true)
	g.ends()
	if got := g.answer(20 * time.Second); got != http.StatusNoContent {
		t.Errorf("another tab is selected: %d", got)
	}
	until(t, 10*time.Second, "the page gets the file", func() bool { return len(w.said("page")) > 0 })
	if status := v.presses("done", "ann", "another"); status != http.StatusNoContent {
		t.Fatalf("handing back: %d", status)
	}
	e := a.refused("eval", params{"session": "another", "expression": "1"}, protocol.SecretDenied)
	if e.Details["reason"] != "person" || e.Details["tab"] != "t1" {
		t.Errorf("JavaScript of the agent is refused with %v", e.Details)
	}

	v, _, c = starts("closed")
	g = gives(v, "closed", 1)
	c.WriteJSON(map[string]any{"t": "newtab", "id": 1})
	has(v, "t2", true)
	c.WriteJSON(map[string]any{"t": "closetab", "id": 1, "tab": "t1"})
	has(v, "t1", false)
	g.ends()
	if got := g.answer(20 * time.Second); got != http.StatusBadRequest {
		t.Errorf("the tab has closed: %d", got)
	}
	if left := given(d); len(left) != 1 {
		t.Errorf("the tab has closed: %v", left)
	}

	v, link, _ := starts("ended")
	g = gives(v, "ended", 1)
	again := &viewer{t: t, d: d}
	again.asks("GET", strings.TrimPrefix(link, d.URL()), nil, "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	if answer, _ := v.asks("GET", v.path, nil); answer.StatusCode == http.StatusOK {
		t.Error("the link was used twice, and the view goes on")
	}
	g.ends()
	if got := g.answer(20 * time.Second); got != http.StatusForbidden {
		t.Errorf("the view has ended: %d", got)
	}
	if left := given(d); len(left) != 1 {
		t.Errorf("the view has ended: %v", left)
	}
	if said := w.said("page"); len(said) != 1 || said[0] != fmt.Sprintf("given %d", size-len(beginOfFiles)-len(endOfFiles)) {
		t.Errorf("the pages were given %v", said)
	}
}
