package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// giving is a request that gives a file to a page by the live view, of which only the first bytes are sent.
type giving struct {
	t    testing.TB
	c    net.Conn
	in   *bufio.Reader
	left int // bytes of the body that are not sent yet
}

const endOfFiles = "\r\n--x--\r\n"

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
	const begin = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n"
	if _, err := io.WriteString(c, head.String()+"\r\n"+begin); err != nil {
		v.t.Fatal(err)
	}
	return &giving{v.t, c, bufio.NewReader(c), bytes - len(begin)}
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
// uploads as it comes, so that neither the daemon nor the directory for temporary files holds it, and counts as the bytes
// of other requests and against the quota of uploads.
func TestFilesThatAPersonGivesAreLimited(t *testing.T) {
	aboutOneProcess(t, "memory and temporary files are a process's own")
	const mb = 1 << 20
	d := driven(t, "", map[string]string{
		"BROWSERD_SERVER__LIMITS__QUEUED_BYTES_PER_TOKEN": fmt.Sprint(60 * mb),
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
	for name, bytes := range map[string]int{"more than a request may have": 64*mb + 1, "more than the token's requests may have": 61 * mb} {
		want := map[bool]int{true: 413, false: 429}[bytes > 64*mb]
		if got := drives.gives("shop", bytes).answer(5 * time.Second); got != want {
			t.Errorf("%s: %d before the body was sent, want %d", name, got, want)
		}
	}

	// One at a time, and its bytes are those of the token's requests.
	ping := func() int {
		r, err := http.NewRequest("POST", d.URL()+"/v1/ping", bytes.NewReader(append([]byte("{}"), bytes.Repeat([]byte(" "), 3*mb)...)))
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
	first := drives.gives("shop", 58*mb)
	await(t, func() bool { return ping() == 429 })
	if got := drives.gives("shop", 1*mb).answer(5 * time.Second); got != 429 {
		t.Errorf("a second one at once: %d", got)
	}
	first.c.Close()
	await(t, func() bool { return ping() == 200 })

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
	var uploads []string
	filepath.WalkDir(d.Home, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() == "a.bin" {
			uploads = append(uploads, path)
		}
		return nil
	})
	if len(uploads) > 0 {
		t.Errorf("files are left that no page was given: %v", uploads)
	}
}
