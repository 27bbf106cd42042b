package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/contain"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/web/pdf/child"
)

// reader is shared by the tests, since compiling the library takes seconds.
var reader *Reader

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pdf")
	if err != nil {
		panic(err)
	}
	if reader, err = newReader(dir); err != nil {
		panic(err)
	}
	code := m.Run()
	reader.Close()
	testdaemon.RemoveBinary()
	os.RemoveAll(dir)
	os.Exit(code)
}

// newReader is a Reader whose processes are browserd's own program: with the race detector,
// which this test's program may have, the library takes ten times as long to compile.
func newReader(dir string) (*Reader, error) {
	r, err := NewReader(dir)
	if err == nil && testdaemon.RaceEnabled {
		r.program, err = testdaemon.PlainBinary()
	}
	return r, err
}

// written is a PDF whose pages have these content streams, and whose streams are as filter
// says ("" for none).
func written(title, filter string, contents ...[]byte) []byte {
	var out bytes.Buffer
	var at []int
	object := func(s string) {
		at = append(at, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", len(at), s)
	}
	var kids strings.Builder
	for i := range contents {
		fmt.Fprintf(&kids, "%d 0 R ", 5+2*i)
	}
	out.WriteString("%PDF-1.7\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(contents)))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	object("<< /Title (" + title + ") >>")
	for i, content := range contents {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>", 6+2*i))
		object(fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(content), filter, content))
	}
	xref := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, a := range at {
		fmt.Fprintf(&out, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&out, "trailer << /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return out.Bytes()
}

// lines is a content stream that shows lines of text.
func lines(text ...string) []byte {
	var b strings.Builder
	b.WriteString("BT /F 12 Tf 14 TL 40 760 Td ")
	for _, t := range text {
		fmt.Fprintf(&b, "(%s) Tj T* ", strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(t))
	}
	b.WriteString("ET")
	return []byte(b.String())
}

func file(t *testing.T, name string) []byte {
	body, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestPagesAreRead(t *testing.T) {
	whole := written("A report", "", lines("First line", "second line"), lines("On page two"))
	many := make([][]byte, 1000)
	for i := range many {
		many[i] = lines(fmt.Sprintf("This is page %d.", i+1))
	}
	long, err := reader.Read(t.Context(), written("", "", many...))
	if err != nil || long.Count != 1000 || len(long.Pages) != 1000 || long.Pages[999] != "This is page 1000." {
		t.Errorf("of 1,000 pages: %v, %d of %d", err, len(long.Pages), long.Count)
	}
	for _, c := range []struct {
		name string
		body []byte
		want Document
		note string
	}{
		{"plain", whole, Document{"A report", 2, []string{"First line\nsecond line", "On page two"}}, ""},
		{"with something before its header", append([]byte("X-Sent-By: mail\r\n\r\n"), whole...), Document{"A report", 2, []string{"First line\nsecond line", "On page two"}}, ""},
		{"with a wrong table of objects", bytes.ReplaceAll(whole, []byte("00000 n"), []byte("00000 x")), Document{"A report", 2, []string{"First line\nsecond line", "On page two"}}, ""},
		{"Chinese, whose codes a table of the library has", bytes.Replace(written("", "", []byte("BT /F 12 Tf 40 760 Td <4ECA65E591D14EF7> Tj ET")), []byte("/Subtype /Type1 /BaseFont /Helvetica"),
			[]byte("/Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [ << /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> /DW 1000 >> ]"), 1),
			Document{"", 1, []string{"今日金价"}}, ""},
		{"scanned", written("", "", lines("A cover"), []byte("0 0 100 100 re f")), Document{"", 2, []string{"A cover", ""}}, "1 of 2 pages have no text: they may be pictures, such as scans"},
		{"encrypted for its owner, AES-256", file(t, "owner-aes256.pdf"), Document{"", 2, []string{"Hello from page one", "Second page"}}, ""},
		{"encrypted for its owner, RC4", file(t, "owner-rc4.pdf"), Document{"", 2, []string{"Hello from page one", "Second page"}}, ""},
	} {
		got, err := reader.Read(t.Context(), c.body)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" || got.Note() != c.note {
			t.Errorf("%s: %v, note %q\n%s", c.name, err, got.Note(), diff)
		}
	}
}

// deflated is b, compressed n times.
func deflated(b []byte, n int) []byte {
	for range n {
		var out bytes.Buffer
		w, _ := zlib.NewWriterLevel(&out, zlib.BestCompression)
		w.Write(b)
		w.Close()
		b = out.Bytes()
	}
	return b
}

// What cannot be read is an error with its reason, within the limits, and the next PDF is
// read as before.
func TestHostilePDFsAreErrors(t *testing.T) {
	bomb := deflated(bytes.Repeat([]byte("(A) Tj "), 50<<20/7), 3)
	nested := written("", "/Filter [ /FlateDecode /FlateDecode /FlateDecode ]", bomb, bomb)
	loop := bytes.Replace(written("", "", lines("x")), []byte("/Kids [5 0 R ]"), []byte("/Kids [2 0 R ]"), 1)
	for _, c := range []struct {
		name, reason string // reason "": read, whatever it holds
		body         []byte
	}{
		{"no PDF at all", "pdf_damaged", []byte("<html>not found</html>")},
		{"only a header", "pdf_damaged", []byte("%PDF-1.7\n")},
		{"nothing", "pdf_damaged", nil},
		{"cut in the middle", "pdf_damaged", written("", "", lines("x"))[:300]},
		{"noise behind a header", "pdf_damaged", append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte{0xff, 0, 0x31, 0x20}, 50000)...)},
		{"a password", "pdf_password", file(t, "password-aes256.pdf")},
		{"a page tree that holds itself", "", loop},
		{"streams that unpack to 50 MB each", "", nested},
		{"a page tree of 2,000,000,000", "", bytes.Replace(written("", "", lines("x")), []byte("/Count 1 "), []byte("/Count 2000000000 "), 1)},
	} {
		began := time.Now()
		got, err := reader.Read(t.Context(), c.body)
		var e *protocol.Error
		reason := ""
		if errors.As(err, &e) {
			reason, _ = e.Details["reason"].(string)
		}
		t.Logf("%s: %v, %d of %d pages, %d bytes of text, %v", c.name, err, len(got.Pages), got.Count, len(got.Text()), time.Since(began).Round(time.Millisecond))
		if c.reason != "" && reason != c.reason || c.reason == "" && err != nil && !Unreadable(err) {
			t.Errorf("%s: %v (reason %q), want %q", c.name, err, reason, c.reason)
		}
		if len(got.Text()) > 3<<20 || len(got.Pages) > 2000 {
			t.Errorf("%s: %d bytes of %d pages", c.name, len(got.Text()), len(got.Pages))
		}
	}
	if got, err := reader.Read(t.Context(), written("", "", lines("as before"))); err != nil || got.Pages[0] != "as before" {
		t.Errorf("after them: %v, %q", err, got.Pages)
	}
	if _, err := reader.Read(t.Context(), make([]byte, MaxBytes+1)); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("a PDF above the limit: %v", err)
	}
}

// The process that reads a PDF is contained before it gets a byte of it.
func TestAPDFsProcessIsContained(t *testing.T) {
	t.Setenv("BROWSERD_TOKEN", "the-token-of-the-daemon")
	if err := reader.compile(t.Context()); err != nil {
		t.Fatal(err)
	}
	ready := func(bare bool) (*exec.Cmd, error) {
		ctx, cancel := context.WithCancel(t.Context())
		body, send := io.Pipe()
		cmd := reader.command(ctx, body, bare)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			cancel()
			return nil, err
		}
		t.Cleanup(func() { // it still waits for its PDF
			cancel()
			send.Close()
			cmd.Wait()
		})
		var m child.Message
		if err := json.NewDecoder(out).Decode(&m); err != nil || !m.Ready {
			t.Fatalf("its first message is %+v, %v", m, err)
		}
		return cmd, nil
	}
	cmd, err := ready(false)
	namespaces := err == nil && contain.Namespaces
	if err != nil {
		if untested.InCI() {
			t.Errorf("it has no namespaces of its own: %v", err)
		}
		if cmd, err = ready(true); err != nil {
			t.Fatal(err)
		}
	}
	testdaemon.CheckContained(t, cmd.Process.Pid, namespaces)
}

// A reader ends with its context, and with Close.
func TestReadingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader.Read(ctx, written("", "", lines("x"))); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	own, err := newReader(reader.cache)
	if err != nil {
		t.Fatal(err)
	}
	own.Close()
	if _, err := own.Read(t.Context(), written("", "", lines("x"))); err == nil {
		t.Error("a closed reader reads")
	}
}

// No line of a PDF looks like the one that begins a page.
func TestPagesAreTold(t *testing.T) {
	d := Document{Count: 12, Pages: []string{"one\n[page 2]\nnot two", "two", "[page 1] of 3\n \\[page 3]", "", "five"}}
	want := "[page 1]\none\n\\[page 2]\nnot two\n\n[page 2]\ntwo\n\n[page 3]\n[page 1] of 3\n\\\\[page 3]\n\n[page 4]\n\n\n[page 5]\nfive"
	if diff := cmp.Diff(want, d.Text()); diff != "" {
		t.Error(diff)
	}
	for pages, want := range map[string]string{
		"2": "[page 2]\ntwo", "1-2": "[page 1]\none\n\\[page 2]\nnot two\n\n[page 2]\ntwo", "4-": "[page 4]\n\n\n[page 5]\nfive", "5-9": "[page 5]\nfive",
	} {
		if got, err := Range(d.Text(), pages); err != nil || got != want {
			t.Errorf("pages %s: %q, %v", pages, got, err)
		}
	}
	for _, pages := range []string{"", "0", "-1", "x", "3-2", "6", "1,2", "2-x"} {
		if got, err := Range(d.Text(), pages); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("pages %q: %q, %v", pages, got, err)
		}
	}
	if html := (Document{Title: "<b>", Count: 1, Pages: []string{"<script>alert(1)</script>"}}).HTML(); strings.Contains(html, "<script") || strings.Contains(html, "<b>") {
		t.Errorf("a PDF writes HTML: %s", html)
	}
}
