package e2e_test

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// At a terminal a download shows how much of it has come, and is written whole, in as many
// answers as that takes.
func TestDownloadIntoAFile(t *testing.T) {
	t.Parallel()
	content := make([]byte, 4<<20)
	rand.Read(content)
	half, shown := len(content)/2, make(chan struct{})
	d, w := filesDaemon(t, nil, nil)
	w.mux.HandleFunc("/prices", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Disposition", `attachment; filename="prices.bin"`)
		rw.Header().Set("Content-Length", strconv.Itoa(len(content)))
		rw.Write(content[:half])
		rw.(http.Flusher).Flush()
		select {
		case <-shown:
			rw.Write(content[half:])
		case <-r.Context().Done():
		}
	})
	w.serve("/page", page("downloads", `<a href="/prices">Prices</a>`), "")
	for _, words := range [][]string{{"session_open", "--downloads"}, {"open", w.URL + "/page"}, {"click", "role=link[name=Prices]"}} {
		if out, err := d.Command(words...); err != nil {
			t.Fatal(out, err)
		}
	}
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	tty, screen := terminal(t)
	file := filepath.Join(t.TempDir(), "out.bin")
	cmd := exec.Command(bin, "downloads", "prices.bin", "--wait", "-o", file)
	cmd.Env, cmd.Stderr, cmd.Stdout = append(d.Environ(), "TERM=xterm"), tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	seen, told := "", false
	for buffer := make([]byte, 4096); ; {
		n, err := screen.Read(buffer)
		seen += string(buffer[:n])
		if !told && strings.Contains(seen, " s, 2.1 of 4.2 MB, at most ") {
			told = true
			close(shown)
		}
		if err != nil {
			break // EIO: the last writer has closed it
		}
	}
	if err := cmd.Wait(); err != nil || !told || !strings.HasSuffix(seen, "\r\n"+file+"\r\n") {
		t.Errorf("%v: the terminal got %q", err, seen)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d were written, %v", len(got), len(content), err)
	}
	if out, err := d.Command("downloads", "-o", file); err == nil || !strings.Contains(err.Error(), "--output: is for one download, by its name") {
		t.Errorf("without a name: %s %v", out, err)
	}
}
