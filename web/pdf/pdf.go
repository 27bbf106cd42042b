// Package pdf reads the text of PDFs, page by page. A PDF is what a stranger wrote, and
// the library that reads it has had its faults: each one is read in a contained process of
// its own (package child), which this package starts, limits and kills.
//
// Any goroutine may use a Reader.
package pdf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/contain"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/web/pdf/child"
)

// MaxBytes is the largest PDF that is read.
const MaxBytes = 50 << 20

const (
	maxReaders     = 2                // PDFs that are read at once, each with up to 256 MiB of PDFium's own
	readTimeout    = 30 * time.Second // of one PDF, once its process is ready
	prepareTimeout = 5 * time.Minute  // of compiling the library; it takes seconds
)

// Reader reads PDFs. Close it.
type Reader struct {
	program string
	cache   string // directory of the compiled library; empty: it is compiled each time
	slots   chan struct{}
	life    context.Context
	end     context.CancelFunc

	prepare  sync.Once
	prepared chan struct{} // closed when the library is compiled, or cannot be
	living   sync.WaitGroup
}

// NewReader returns a Reader that keeps the compiled library in stateDir, for the next
// process; empty: nowhere. It starts nothing yet.
func NewReader(stateDir string) (*Reader, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	r := &Reader{program: program, slots: make(chan struct{}, maxReaders), prepared: make(chan struct{})} // slots: as many as are read at once
	r.life, r.end = context.WithCancel(context.Background())
	if stateDir != "" {
		r.cache = filepath.Join(stateDir, "pdf")
	}
	return r, nil
}

// Close ends what is under way, and waits for it.
func (r *Reader) Close() {
	r.end()
	r.living.Wait()
}

// compile has the library compiled once, however long the first reader waits for it.
func (r *Reader) compile(ctx context.Context) error {
	if r.cache == "" {
		return nil
	}
	r.prepare.Do(func() {
		r.living.Go(func() { // ends with life
			defer close(r.prepared)
			if os.MkdirAll(r.cache, 0o700) != nil {
				return // whoever reads says so
			}
			own, cancel := context.WithTimeout(r.life, prepareTimeout)
			defer cancel()
			cmd := exec.CommandContext(own, r.program)
			cmd.Args, cmd.Env = []string{child.Name, r.cache, child.Prepare}, []string{}
			cmd.Run()
		})
	})
	select {
	case <-r.prepared:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Document is what a PDF holds.
type Document struct {
	Title string
	Count int      // its pages
	Pages []string // the text of the first of them
}

// Read returns the text of a PDF. Errors: ctx's, too_large, and unsupported with
// details.reason: pdf_password, pdf_encryption, pdf_damaged, pdf_limit where no page could
// be read within the limits of one PDF.
func (r *Reader) Read(ctx context.Context, body []byte) (Document, error) {
	if len(body) > MaxBytes {
		return Document{}, protocol.Errorf(protocol.TooLarge, "the PDF has %d bytes, and at most %d are read", len(body), MaxBytes).
			With("limit", MaxBytes).With("size", len(body))
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Document{}, context.Cause(ctx)
	}
	if err := r.compile(ctx); err != nil {
		return Document{}, err
	}
	d, err := r.read(ctx, body, false)
	if errors.Is(err, errStart) {
		d, err = r.read(ctx, body, true) // a system without namespaces
	}
	switch {
	case ctx.Err() != nil:
		return Document{}, context.Cause(ctx)
	case err != nil && len(d.Pages) > 0:
		return d, nil // as far as it could be read; Note says so
	case errors.Is(err, errStart):
		return Document{}, fmt.Errorf("reading a PDF: %w", err)
	case err != nil:
		return Document{}, err
	}
	return d, nil
}

// Page is Read as a page: see [Document.HTML].
func (r *Reader) Page(ctx context.Context, body []byte) (html string, err error) {
	d, err := r.Read(ctx, body)
	return d.HTML(), err
}

var errStart = errors.New("its process did not start")

// command is the process that reads one PDF. bare: it has no namespaces of its own.
func (r *Reader) command(ctx context.Context, body io.Reader, bare bool) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.program)
	cmd.Args, cmd.Env, cmd.Dir = []string{child.Name, r.cache}, []string{}, string(os.PathSeparator)
	cmd.SysProcAttr = contain.Attr(bare)
	cmd.Stdin = body
	return cmd
}

// read reads a PDF in a process of its own, which is dead when read returns.
func (r *Reader) read(ctx context.Context, body []byte, bare bool) (Document, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	cmd := r.command(ctx, bytes.NewReader(body), bare)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Document{}, err
	}
	if err := cmd.Start(); err != nil {
		return Document{}, fmt.Errorf("%w: %w", errStart, err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	// JSON escapes may be six bytes for one.
	from := json.NewDecoder(io.LimitReader(out, 8*child.MaxChars))
	var m child.Message
	if err := from.Decode(&m); err != nil || !m.Ready {
		return Document{}, fmt.Errorf("%w: %w", errStart, err)
	}
	defer time.AfterFunc(readTimeout, cancel).Stop()
	m = child.Message{}
	if err := from.Decode(&m); err != nil {
		return Document{}, limit()
	}
	if m.Failed != "" {
		return Document{}, failed(m.Failed)
	}
	d := Document{Title: strings.TrimSpace(m.Title), Count: max(m.Count, 0)}
	for len(d.Pages) < min(d.Count, child.MaxPages) {
		var m child.Message
		if err := from.Decode(&m); err != nil || m.Page == nil {
			return d, limit()
		}
		d.Pages = append(d.Pages, *m.Page)
	}
	return d, nil
}

func limit() error {
	return protocol.Errorf(protocol.Unsupported, "the PDF cannot be read within the memory and time of one").
		With("reason", "pdf_limit").Then("get its bytes: web_fetch with format raw, or downloads")
}

// failed returns the error for a word of the child.
func failed(word string) error {
	e := protocol.Errorf(protocol.Unsupported, "the PDF is damaged, or it is none").With("reason", "pdf_damaged")
	switch word {
	case "password":
		e = protocol.Errorf(protocol.Unsupported, "the PDF can be opened only with a password").With("reason", "pdf_password")
	case "encryption":
		e = protocol.Errorf(protocol.Unsupported, "the PDF is encrypted in a way that is not known").With("reason", "pdf_encryption")
	}
	return e.Then("get its bytes: web_fetch with format raw, or downloads")
}

// Unreadable reports whether an error is Read's about the PDF itself.
func Unreadable(err error) bool {
	var e *protocol.Error
	if !errors.As(err, &e) {
		return false
	}
	reason, _ := e.Details["reason"].(string)
	return strings.HasPrefix(reason, "pdf_")
}

// Note says what is missing of the document's text; empty: nothing.
func (d Document) Note() string {
	var notes []string
	empty := 0
	for _, page := range d.Pages {
		if page == "" {
			empty++
		}
	}
	if empty > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d pages have no text: they may be pictures, such as scans", empty, d.Count))
	}
	if n := len(d.Pages); n < d.Count {
		notes = append(notes, fmt.Sprintf("only the first %d of %d pages are read", n, d.Count))
	}
	return strings.Join(notes, "; ")
}

// Text returns the text of all pages, each behind a line [page N].
func (d Document) Text() string {
	var b strings.Builder
	for i, page := range d.Pages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "[page %d]", i+1)
		for line := range strings.SplitSeq(page, "\n") {
			b.WriteString("\n" + escaped(line))
		}
	}
	return b.String()
}

var marker = regexp.MustCompile(`^\s*\\*\[page \d+\]\s*$`)

// escaped returns a line of a page, which must not look like the line that begins one.
func escaped(line string) string {
	if marker.MatchString(line) {
		return `\` + strings.TrimSpace(line)
	}
	return line
}

// HTML returns the document as a page: a heading [page N] for each page, and a line for each
// of its lines. It has no script, and loads nothing.
func (d Document) HTML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>%s</title></head><body>", html.EscapeString(d.Title))
	if note := d.Note(); note != "" {
		fmt.Fprintf(&b, "<p role=\"note\" aria-label=\"PDF\">%s</p>", html.EscapeString(note))
	}
	for i, page := range d.Pages {
		fmt.Fprintf(&b, "<h2>[page %d]</h2>", i+1)
		for line := range strings.SplitSeq(page, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				fmt.Fprintf(&b, "<div>%s</div>", html.EscapeString(escaped(line)))
			}
		}
	}
	b.WriteString("</body></html>")
	return b.String()
}

var pageLine = regexp.MustCompile(`(?m)^\[page (\d+)\]$`)

// Range returns the pages of a text (as Text and a page of HTML have it) that a range such as
// 3, 3-5 or 7- names. The error is invalid_params.
func Range(text, pages string) (string, error) {
	from, to, ranged := strings.Cut(strings.TrimSpace(pages), "-")
	first, err := strconv.Atoi(from)
	last := first
	if ranged {
		last = int(^uint(0) >> 1)
		if to != "" && err == nil {
			last, err = strconv.Atoi(to)
		}
	}
	if err != nil || first < 1 || last < first {
		return "", protocol.Errorf(protocol.InvalidParams, "pages %q: accepts a page or a range, such as 3, 3-5 or 7-", protocol.Cut(pages, 40)).With("parameter", "pages")
	}
	begin, end, count := -1, len(text), 0
	for _, at := range pageLine.FindAllStringSubmatchIndex(text, -1) {
		n, _ := strconv.Atoi(text[at[2]:at[3]])
		count = max(count, n)
		if n == first {
			begin = at[0]
		}
		if n == last+1 {
			end = at[0]
		}
	}
	if begin < 0 {
		return "", protocol.Errorf(protocol.InvalidParams, "pages %q: the last page is %d", protocol.Cut(pages, 40), count).With("parameter", "pages")
	}
	return strings.TrimSpace(text[begin:end]), nil
}
