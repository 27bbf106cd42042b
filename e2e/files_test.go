package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// ask sends a command that must succeed and decodes its whole result.
func ask[T any](a *agent, method string, p params) T {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	var r T
	if p == nil {
		p = params{}
	}
	if err := a.c.Call(ctx, method, p, &r); err != nil {
		a.t.Fatalf("%s %v: %v", method, p, err)
	}
	return r
}

type downloadsAnswer struct {
	Entries    []protocol.Download `json:"entries"`
	Content    *string             `json:"content"`
	Encoding   string              `json:"encoding"`
	Size       int64               `json:"size"`
	Truncated  bool                `json:"truncated"`
	NextOffset int                 `json:"next_offset"`
}

// filesDaemon is a daemon and a server of downloads: /file?name= answers with
// that name in Content-Disposition, /endless never ends, with 64 KiB each millisecond at
// most: how far a download has come Chromium tells a few times a second.
func filesDaemon(t *testing.T, env map[string]string, contents map[string][]byte) (*testdaemon.Daemon, *pageServer) {
	t.Helper()
	d := testdaemon.Start(t, testdaemon.Options{Env: env})
	w := newPageServer(t)
	w.mux.HandleFunc("/file", func(rw http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("name")
		rw.Header().Set("Content-Disposition", `attachment; filename="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)+`"`)
		rw.Header().Set("Content-Type", "application/octet-stream")
		rw.Write(contents[r.URL.Query().Get("of")])
	})
	w.mux.HandleFunc("/endless", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Disposition", `attachment; filename="endless.bin"`)
		block := bytes.Repeat([]byte{1}, 64<<10)
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for r.Context().Err() == nil {
			if _, err := rw.Write(block); err != nil {
				return
			}
			<-pace.C
		}
	})
	w.mux.HandleFunc("/huge", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Disposition", `attachment; filename="huge.bin"`)
		rw.Header().Set("Content-Length", "100000000000")
		rw.Header().Set("Content-Type", "application/octet-stream")
		rw.Write(make([]byte, 64<<10))
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	return d, w
}

// roomsOf lists the daemon's directories of downloads and uploads that are on disk.
func roomsOf(t *testing.T, d *testdaemon.Daemon, kind string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.Home, "tmp", "browserd-*", kind+"-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A session that was not opened with downloads keeps none, and says what was
// offered.
func TestDownloadsAreDenied(t *testing.T) {
	t.Parallel()
	d, w := filesDaemon(t, nil, map[string][]byte{"a": []byte("hello")})
	w.serve("/page", page("denied", `<a href="/file?of=a&name=a.txt">Get</a>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	r := a.do("click", click(a.snapshot().ref(t, "link", "Get"), nil))
	if r.Effect == nil || len(r.Effect.DownloadsDenied) != 1 || r.Effect.DownloadsDenied[0].Name != "a.txt" {
		t.Fatalf("effect %+v", r.Effect)
	}
	got := ask[downloadsAnswer](a, "downloads", params{"wait": true})
	want := []protocol.Download{{Name: "a.txt", URL: w.URL + "/file?of=a&name=a.txt", Tab: "t1", State: "denied", Why: "downloads are not allowed in this session"}}
	if diff := cmp.Diff(got.Entries, want); diff != "" {
		t.Fatalf("got before want:\n%s", diff)
	}
	if rooms := roomsOf(t, d, "downloads"); len(rooms) > 0 {
		t.Fatalf("there are directories for downloads: %v", rooms)
	}
	a.refused("downloads", params{"name": "a.txt"}, protocol.InvalidParams)
	a.refused("open", params{"url": w.URL + "/file?of=a&name=b.txt"}, protocol.NavigationFailed)
}

// A download arrives byte for byte, under a name that is cleaned, in a
// directory that only the daemon and its Chromium can read; it is gone with
// the session.
func TestDownloads(t *testing.T) {
	t.Parallel()
	const evil = "_.._etc_cron.d_evil.bin" // Chromium has made one name of the path
	binary := make([]byte, 300_001)
	rand.Read(binary)
	text := []byte(strings.Repeat("žlutý kůň\n", 1000))
	d, w := filesDaemon(t, nil, map[string][]byte{"bin": binary, "text": text})
	w.serve("/page", page("downloads", `<a href="/file?of=bin&name=../../etc/cron.d/evil.bin">Binary</a>
		<a href="/file?of=text&name=.bashrc">Text</a>`), "")
	a := newAgent(t, d)
	a.do("session_open", params{"downloads": true})
	a.open(w.URL + "/page")
	v := a.snapshot()
	r := a.do("click", click(v.ref(t, "link", "Binary"), nil))
	if r.Effect == nil || !slices.Equal(r.Effect.Downloads, []string{evil}) {
		t.Fatalf("effect %+v", r.Effect)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := a.c.Event(ctx, func(e protocol.Event) bool {
		return e.Type == protocol.EventDownload && e.Fields["state"] == "done" && e.Fields["name"] == evil
	}); err != nil {
		t.Fatalf("no event of the download's end: %v", err)
	}
	// In pieces, each from where the last one ended.
	var whole []byte
	for offset := 0; ; {
		got := ask[downloadsAnswer](a, "downloads", params{"name": evil, "offset": offset, "max_chars": 100_000})
		if got.Encoding != "base64" || got.Size != int64(len(binary)) || len(*got.Content) > 100_000 {
			t.Fatalf("%s, %d bytes, %d characters", got.Encoding, got.Size, len(*got.Content))
		}
		part, err := base64.StdEncoding.DecodeString(*got.Content)
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, part...)
		if !got.Truncated {
			break
		}
		offset = got.NextOffset
	}
	if !bytes.Equal(whole, binary) {
		t.Fatalf("%d bytes arrived that are not the %d that were sent", len(whole), len(binary))
	}

	// Opened as a page would be: the page stays where it is.
	opened := a.do("open", params{"url": w.URL + "/file?of=text&name=.bashrc"})
	if opened.Page.URL != w.URL+"/page" || !slices.Equal(opened.Effect.Downloads, []string{"bashrc"}) {
		t.Fatalf("%+v %+v", opened.Page, opened.Effect)
	}
	got := ask[downloadsAnswer](a, "downloads", params{"name": "bashrc", "wait": true, "max_chars": 25})
	if got.Encoding != "text" || *got.Content != "žlutý kůň\nžlutý kůň\nžlutý" || !got.Truncated {
		t.Fatalf("%q %+v", *got.Content, got)
	}
	rest := ask[downloadsAnswer](a, "downloads", params{"name": "bashrc", "offset": got.NextOffset, "max_chars": 100_000})
	if *got.Content+*rest.Content != string(text) || rest.Truncated {
		t.Fatal("the text is not what was sent")
	}
	for _, e := range rest.Entries {
		if e.State != "done" || e.Bytes == 0 {
			t.Errorf("%+v", e)
		}
	}

	rooms := roomsOf(t, d, "downloads")
	if len(rooms) != 1 {
		t.Fatalf("directories for downloads: %v", rooms)
	}
	info, err := os.Stat(rooms[0])
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	a.do("session_close", nil)
	if _, err := os.Stat(rooms[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the downloads outlive their session: %v", err)
	}
}

// A click on a link that asks for a download says which, also where the server
// takes its time, and does not wait for one that the page prevented or that is a
// page after all.
func TestAClickSaysWhatItDownloads(t *testing.T) {
	t.Parallel()
	d, w := filesDaemon(t, nil, nil)
	w.mux.HandleFunc("/slow.csv", func(rw http.ResponseWriter, r *http.Request) {
		time.Sleep(300 * time.Millisecond) // a report being made
		io.WriteString(rw, "a,b\n")
	})
	w.serve("/page", page("reports", `<a href="/slow.csv" download>Report</a> <button onclick="this.nextElementSibling.click()">Export</button><a
		href="data:text/csv,a" download="export.csv" hidden></a> <a href="/slow.csv" download onclick="event.preventDefault(); document.title = 'asked'"><b>Ask</b></a>`), "")
	a := newAgent(t, d)
	a.do("session_open", params{"downloads": true})
	a.open(w.URL + "/page")
	v := a.snapshot()
	for _, step := range []struct {
		role, name string
		saves      []string
	}{
		{"link", "Report", []string{"slow.csv"}}, {"button", "Export", []string{"export.csv"}}, {"link", "Ask", nil},
	} {
		r := a.do("click", click(v.ref(t, step.role, step.name), nil))
		if r.Effect == nil || !slices.Equal(r.Effect.Downloads, step.saves) {
			t.Errorf("%s: effect %+v, want downloads %v", step.name, r.Effect, step.saves)
		}
	}
}

// A download that was running when Chromium died has failed, and who waits for it is
// told so: nothing will ever end it.
func TestADownloadOfALostChromium(t *testing.T) {
	t.Parallel()
	d, w := filesDaemon(t, nil, nil)
	w.mux.HandleFunc("/long.bin", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Length", "1000000")
		rw.Write(make([]byte, 1000))
		http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	})
	w.serve("/page", page("reports", `<a href="/long.bin" download>Report</a>`), "")
	a := newAgent(t, d)
	name := a.do("session_open", params{"downloads": true}).Session
	a.open(w.URL + "/page")
	a.do("click", click(a.snapshot().ref(t, "link", "Report"), nil))
	waiting := make(chan error, 1)
	other := newAgent(t, d)
	go func() {
		var answer downloadsAnswer
		err := other.c.Call(t.Context(), "downloads", params{"session": name, "wait": true}, &answer)
		if err == nil && (len(answer.Entries) != 1 || answer.Entries[0].State != protocol.DownloadFailed) {
			err = fmt.Errorf("%+v", answer.Entries)
		}
		waiting <- err
	}()
	until(t, 5*time.Second, "the other command waits", func() bool { return metricsOf(t, d)("browserd_commands_running") == 1 })
	for _, p := range d.Chromium("browser") {
		p.Kill()
	}
	if err := <-waiting; err != nil {
		t.Errorf("who waited: %v", err)
	}
	for _, e := range ask[downloadsAnswer](a, "downloads", params{"wait": true}).Entries {
		if e.State != protocol.DownloadFailed || e.Why == "" {
			t.Errorf("after the loss: %+v", e)
		}
	}
}

// What a server calls a file is never a path, never hidden, and never what a
// system takes for something else.
func TestDownloadNames(t *testing.T) {
	t.Parallel()
	d, w := filesDaemon(t, nil, map[string][]byte{"a": []byte("x")})
	names := map[string]string{
		"../../etc/cron.d/x": "_.._etc_cron.d_x", "/abs/y.txt": "_abs_y.txt", `C:\z.exe`: "C__z.exe", "CON.txt": "_CON.txt", ".profile": "profile", // Chromium writes the first "_"
		"\u202etxt.exe": "_txt.exe", "...": "download", strings.Repeat("n", 300) + ".tar": strings.Repeat("n", 146) + ".tar", "a;rm -rf $HOME`id`.sh": "a_rm -rf _HOME_id_.sh",
	}
	a := newAgent(t, d)
	a.do("session_open", params{"downloads": true})
	var markup strings.Builder
	for name := range names {
		fmt.Fprintf(&markup, `<a download="%s" href="data:application/octet-stream,%s">%d</a> `, strings.ReplaceAll(name, `"`, ""), "x", markup.Len())
	}
	w.serve("/page", page("names", markup.String()), "")
	a.open(w.URL + "/page")
	v := a.snapshot()
	for _, ref := range v.all("link", "") {
		a.do("click", click(ref, nil))
	}
	got := ask[downloadsAnswer](a, "downloads", params{"wait": true})
	if len(got.Entries) != len(names) {
		t.Fatalf("%d downloads of %d: %+v", len(got.Entries), len(names), got.Entries)
	}
	var named []string
	for _, e := range got.Entries {
		named = append(named, e.Name)
		if e.State != "done" {
			t.Errorf("%+v", e)
		}
		if strings.ContainsAny(e.Name, "/\\\x00\u202e`$;") || strings.HasPrefix(e.Name, ".") || len(e.Name) > 150 {
			t.Errorf("the name %q", e.Name)
		}
	}
	slices.Sort(named)
	if diff := cmp.Diff(slices.Sorted(maps.Values(names)), named); diff != "" {
		t.Errorf("the names (-want +got):\n%s", diff)
	}
	rooms := roomsOf(t, d, "downloads")
	if len(rooms) != 1 {
		t.Errorf("the files are in %q", rooms)
	}
	for _, dir := range rooms {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != len(names) {
			t.Errorf("%d files in %s", len(files), dir)
		}
		for _, f := range files {
			if strings.Trim(f.Name(), "0123456789abcdefABCDEF-") != "" {
				t.Errorf("a file is called %q", f.Name())
			}
		}
	}
}

// A download that is larger than the session may have is cancelled: at once
// where its size is announced, otherwise when it gets there; nothing of it is
// left. So is one more than there may be.
func TestDownloadLimits(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20
	d, w := filesDaemon(t, map[string]string{"BROWSERD_SESSION__DOWNLOAD_BYTES": fmt.Sprint(limit), "BROWSERD_SESSION__DOWNLOAD_FILES": "2"}, map[string][]byte{"a": []byte("small")})
	a := newAgent(t, d)
	a.do("session_open", params{"downloads": true})
	for _, path := range []string{"/huge", "/endless", "/file?of=a&name=one.txt", "/file?of=a&name=one.txt", "/file?of=a&name=three.txt"} {
		a.do("open", params{"url": w.URL + path, "snapshot": "none"})
		ask[downloadsAnswer](a, "downloads", params{"wait": true})
	}
	got := map[string]string{}
	for _, e := range ask[downloadsAnswer](a, "downloads", nil).Entries {
		got[e.Name] = e.State
		t.Logf("%+v", e)
		if e.Bytes > 100<<20 {
			t.Errorf("%s was cancelled after %d bytes", e.Name, e.Bytes)
		}
	}
	want := map[string]string{"huge.bin": "cancelled", "endless.bin": "cancelled", "one.txt": "done", "one (2).txt": "done", "three.txt": "cancelled"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Fatalf("got before want:\n%s", diff)
	}
	left := func() (bytes int64) {
		for _, dir := range roomsOf(t, d, "downloads") {
			filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() {
					if info, err := e.Info(); err == nil {
						bytes += info.Size()
					}
				}
				return nil
			})
		}
		return bytes
	}
	until(t, 5*time.Second, "nothing of the cancelled downloads is left", func() bool { return left() == int64(2*len("small")) })
}

// until waits until ok holds, at most limit.
func until(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", limit, what)
		}
	}
}

// What a killed daemon's sessions downloaded and uploaded is removed at the
// next start.
func TestFilesOfAKilledDaemon(t *testing.T) {
	t.Parallel()
	d, w := filesDaemon(t, nil, map[string][]byte{"a": []byte("hello")})
	w.serve("/page", page("killed", `<input type=file aria-label=File>`), "")
	a := newAgent(t, d)
	a.do("session_open", params{"downloads": true})
	a.open(w.URL + "/page")
	a.do("upload", params{"ref": a.snapshot().ref(t, "button", "File"), "files": []params{{"name": "u.txt", "base64": "aGVsbG8="}}})
	a.do("open", params{"url": w.URL + "/file?of=a&name=a.txt"})
	ask[downloadsAnswer](a, "downloads", params{"wait": true})
	kinds := []string{"downloads", "uploads"}
	for _, kind := range kinds {
		if len(roomsOf(t, d, kind)) != 1 {
			t.Fatalf("%s: %v", kind, roomsOf(t, d, kind))
		}
	}
	d.Kill()
	testdaemon.Start(t, testdaemon.Options{Home: d.Home})
	for _, kind := range kinds {
		if left := roomsOf(t, d, kind); len(left) > 0 {
			t.Errorf("%s are left: %v", kind, left)
		}
	}
}

// A path to upload leads nowhere but into the upload directory, and to nothing
// but a file.
func TestUploadPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := make([]byte, 100_003)
	rand.Read(content)
	for name, err := range map[string]error{
		"good.bin":  os.WriteFile(filepath.Join(dir, "good.bin"), content, 0o600),
		"link":      os.Symlink("/etc/passwd", filepath.Join(dir, "link")),
		"dirlink":   os.Symlink("/etc", filepath.Join(dir, "dirlink")),
		"pipe":      syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		"directory": os.Mkdir(filepath.Join(dir, "directory"), 0o700),
	} {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_SESSION__UPLOAD_DIR": dir}})
	w := newPageServer(t)
	arrived := make(chan []byte, 1) // the form is sent once
	w.mux.HandleFunc("POST /take", func(rw http.ResponseWriter, r *http.Request) {
		f, h, err := r.FormFile("f")
		if err != nil {
			t.Error(err)
			return
		}
		b, _ := io.ReadAll(f)
		arrived <- append([]byte(h.Filename+"\n"), b...)
	})
	w.serve("/page", page("upload", `<form method=post action=/take enctype=multipart/form-data><input type=file name=f aria-label=File><button>Send</button></form>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	v := a.snapshot()
	file := v.ref(t, "button", "File")
	for _, path := range []string{"../../etc/passwd", "/etc/passwd", "link", "dirlink/passwd", "/proc/self/environ", "pipe", "directory", "none", "good.bin/..", ""} {
		e := a.refused("upload", params{"ref": file, "files": []string{path}, "timeout_ms": 5000}, protocol.InvalidParams)
		if strings.Contains(fmt.Sprint(e.Message, e.Details), "root:") {
			t.Errorf("%q: the error tells of the file: %v", path, e)
		}
	}
	a.do("upload", params{"ref": file, "files": []string{"good.bin"}})
	a.do("click", click(v.ref(t, "button", "Send"), nil))
	select {
	case got := <-arrived:
		if !bytes.Equal(got, append([]byte("good.bin\n"), content...)) {
			t.Errorf("%d bytes arrived that are not what was sent: %.30q", len(got), got)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing arrived")
	}
}
