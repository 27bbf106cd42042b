package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/browserd/browserd/contain"
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		os.Exit(serve(os.Args[1:], os.Stdin, os.Stdout))
	}
}

const (
	maxCPUSeconds = 15       // of one PDF; the kernel ends the process then
	maxDataBytes  = 1 << 30  // of the process
	memoryPages   = 256 << 4 // PDFium's memory: 256 MiB in pages of 64 KiB
)

// serve reads one PDF. The exit code is 0 if it could say what the PDF holds, or what
// is wrong with it.
func serve(args []string, in io.Reader, out io.Writer) int {
	cache := ""
	if len(args) > 0 {
		cache = args[0]
	}
	lib, err := prepare(cache)
	if err == nil && len(args) > 1 && args[1] == Prepare {
		return 0
	}
	if err == nil {
		err = contain.Self(contain.UsedSeconds()+maxCPUSeconds, maxDataBytes)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, Name+":", err)
		return 1
	}
	to := json.NewEncoder(out)
	if to.Encode(Message{Ready: true}) != nil {
		return 1
	}
	body, err := io.ReadAll(in)
	if err != nil {
		return 1
	}
	if err := read(lib, body, to); err != nil {
		return 1
	}
	return 0
}

// prepare compiles PDFium, or loads it from the directory cache, and starts it.
func prepare(cache string) (pdfium.Pdfium, error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(memoryPages).
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling)
	if cache != "" {
		kept, err := wazero.NewCompilationCacheWithDir(cache)
		if err != nil {
			return nil, fmt.Errorf("keeping the compiled PDFium: %w", err)
		}
		config = config.WithCompilationCache(kept)
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context:  experimental.WithCompilationWorkers(context.Background(), 4),
		MinIdle:  1,
		MaxIdle:  1,
		MaxTotal: 1,
		// No file of this machine, and nothing on the output but messages.
		FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard, RuntimeConfig: config,
	})
	if err != nil {
		return nil, err
	}
	return pool.GetInstance(time.Minute)
}

// read writes what a PDF holds. The error is that of writing.
func read(lib pdfium.Pdfium, body []byte, to *json.Encoder) error {
	document, count, err := open(lib, body)
	if err != nil {
		return to.Encode(Message{Failed: failure(err)})
	}
	title, _ := call(func() (string, error) {
		t, err := lib.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: document, Tag: "Title"})
		if err != nil {
			return "", err
		}
		return t.Value, nil
	})
	if err := to.Encode(Message{Count: count, Title: cut(title, 500)}); err != nil {
		return err
	}
	left := MaxChars
	for i := range min(count, MaxPages) {
		text, err := call(func() (string, error) {
			t, err := lib.GetPageText(&requests.GetPageText{Page: requests.Page{ByIndex: &requests.PageByIndex{Document: document, Index: i}}})
			if err != nil {
				return "", err
			}
			return t.Text, nil
		})
		if err != nil {
			text = ""
		}
		text = clean(text)
		if left -= len(text); left < 0 {
			break
		}
		m := Message{Page: &text}
		if err != nil {
			m.Failed = "page"
		}
		if err := to.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

func open(lib pdfium.Pdfium, body []byte) (document references.FPDF_DOCUMENT, count int, err error) {
	count, err = call(func() (int, error) {
		// What stands before the header, as servers and mail programs put it, is no part of it.
		if at := bytes.Index(body[:min(len(body), 1024)], []byte("%PDF-")); at > 0 {
			body = body[at:]
		}
		d, err := lib.OpenDocument(&requests.OpenDocument{File: &body})
		if err != nil {
			return 0, err
		}
		document = d.Document
		n, err := lib.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: document})
		if err != nil {
			return 0, err
		}
		return n.PageCount, nil
	})
	return document, count, err
}

// call is f, with its panic as an error: the library's own code, and its bindings, may
// meet what they did not expect.
func call[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// failure returns the word for what is wrong with a PDF.
func failure(err error) string {
	switch {
	case errors.Is(err, pdferrors.ErrPassword):
		return "password"
	case errors.Is(err, pdferrors.ErrSecurity):
		return "encryption"
	}
	return "damaged"
}

// clean returns the text of a page as lines. PDFium writes U+0002 for a hyphen at the end of a
// line, and U+FFFE for one that it left out.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "�")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x02\r\n", "", "\x02\n", "", "\x02", "", "\ufffe", "", "\x00", "").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// cut returns at most n bytes of s, whole characters.
func cut(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, ""))
}
