package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/browserd/browserd/protocol"
)

// packers write each coding that is read, by its name in Content-Encoding.
var packers = []struct {
	name, coding string
	pack         func(io.Writer) io.WriteCloser
}{
	{"gzip", "gzip", func(w io.Writer) io.WriteCloser { z, _ := gzip.NewWriterLevel(w, 1); return z }},
	{"deflate in zlib", "deflate", func(w io.Writer) io.WriteCloser { z, _ := zlib.NewWriterLevel(w, 1); return z }},
	{"deflate bare", "deflate", func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 1); return z }},
	{"br", "br", func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 1) }},
	{"zstd", "zstd", func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		return z
	}},
}

func TestCodingsAreUndone(t *testing.T) {
	page := "<p>" + strings.Repeat("Grüße, 世界. ", 500)
	for _, p := range packers {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", p.coding)
			z := p.pack(w)
			io.WriteString(z, page)
			z.Close()
		})
		r, err := client(t).Do(t.Context(), Request{URL: at})
		if err != nil || string(r.Body) != page || r.Truncated {
			t.Errorf("%s: %d bytes, truncated %v, %v", p.name, len(r.Body), r.Truncated, err)
		}
		r, err = client(t).Do(t.Context(), Request{URL: at, MaxBytes: 100})
		if err != nil || string(r.Body) != page[:100] || r.Cut != CutBytes {
			t.Errorf("%s, cut at 100: %d bytes, cut %q, %v", p.name, len(r.Body), r.Cut, err)
		}
		if r, err = client(t).Do(t.Context(), Request{URL: at, Method: "HEAD"}); err != nil || len(r.Body) != 0 {
			t.Errorf("%s, HEAD: %+v, %v", p.name, r, err)
		}
	}
}

// Threat gzip-bomb: 12 MiB of zeros stop at the cap or at the ratio, in
// every coding, before they fill memory.
func TestBombsStopAtTheCap(t *testing.T) {
	zeros := make([]byte, 1<<20)
	for _, p := range packers {
		var bomb bytes.Buffer
		z := p.pack(&bomb)
		for range 12 {
			z.Write(zeros)
		}
		z.Close()
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", p.coding)
			w.Write(bomb.Bytes())
		})
		for limit, cut := range map[int64]string{512 << 10: CutBytes, DefaultMaxBytes: CutRatio} {
			before := heap()
			r, err := client(t).Do(t.Context(), Request{URL: at, MaxBytes: limit})
			if err != nil {
				t.Errorf("%s: %v", p.name, err)
				continue
			}
			if r.Cut != cut || int64(len(r.Body)) > limit {
				t.Errorf("%s, at most %d: %d bytes, cut %q, want %q", p.name, limit, len(r.Body), r.Cut, cut)
			}
			if grown := heap() - before; grown > 50<<20 {
				t.Errorf("%s: the heap grew by %d MiB", p.name, grown>>20)
			}
		}
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestNestedAndUnknownCodingsAreRefused(t *testing.T) {
	var once, twice bytes.Buffer
	z := gzip.NewWriter(&once)
	z.Write(make([]byte, 1<<20))
	z.Close()
	z = gzip.NewWriter(&twice)
	z.Write(once.Bytes())
	z.Close()
	for _, coding := range []string{"gzip, gzip", "gzip,gzip,gzip", "compress", "br, gzip"} {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", coding)
			w.Write(twice.Bytes())
		})
		_, err := client(t).Do(t.Context(), Request{URL: at})
		wantReason(t, err, protocol.NavigationFailed, "content_coding")
	}
	// One coding that is said is undone; the gzip inside is what was sent.
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "identity, gzip")
		w.Write(twice.Bytes())
	})
	if r, err := client(t).Do(t.Context(), Request{URL: at}); err != nil || !bytes.Equal(r.Body, once.Bytes()) {
		t.Errorf("gzip in gzip: %v", err)
	}
}

// A word that is no coding is one that servers write by mistake, over a page that
// browsers show; what is packed in some other way is not taken for text.
func TestWordsThatAreNoCodings(t *testing.T) {
	for coding, body := range map[string]string{"none": "<p>Hello", "utf-8": "<main>Grüße", "text/html": `{"a":1}`, "aws-chunked": ""} {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", coding)
			io.WriteString(w, body)
		})
		if r, err := client(t).Do(t.Context(), Request{URL: at}); err != nil || string(r.Body) != body || r.Truncated {
			t.Errorf("%s: %+v, %v", coding, r, err)
		}
	}
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "lzma")
		io.WriteString(w, "]\x00\x00\x80\x00\xff\xff\xff\xff")
	})
	_, err := client(t).Do(t.Context(), Request{URL: at})
	wantReason(t, err, protocol.NavigationFailed, "content_coding")
}

// Members of gzip follow one another (RFC 1952 2.2); what follows the last and is
// none is not part of the body.
func TestWhatFollowsGzip(t *testing.T) {
	var packed bytes.Buffer
	for _, part := range []string{"<p>One", "<p>Two"} {
		z := gzip.NewWriter(&packed)
		io.WriteString(z, part)
		z.Close()
	}
	for _, more := range []string{"", "\x00\x00\x00", "garbage", strings.Repeat("padding ", 10)} {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, packed.String()+more)
		})
		if r, err := client(t).Do(t.Context(), Request{URL: at}); err != nil || string(r.Body) != "<p>One<p>Two" || r.Truncated {
			t.Errorf("%q: %+v, %v", more, r, err)
		}
	}
}

// A zstd frame that would make us remember more than 8 MiB is refused before
// the memory is taken.
func TestZstdWindowIsBounded(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "zstd")
		z, _ := zstd.NewWriter(w, zstd.WithWindowSize(64<<20), zstd.WithEncoderConcurrency(1))
		for range 80 {
			z.Write(make([]byte, 1<<20))
		}
		z.Close()
	})
	if r, err := client(t).Do(t.Context(), Request{URL: at}); err == nil {
		t.Errorf("a window of 64 MiB was read: %d bytes", len(r.Body))
	}
}

// Threat endless-body: the total deadline cuts what drips, the cap what floods.
func TestEndlessBodiesEnd(t *testing.T) {
	gone := make(chan struct{}, 3)
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		defer func() { gone <- struct{}{} }()
		piece := []byte("x")
		if r.URL.Path == "/flood" {
			piece = bytes.Repeat(piece, 1<<20)
		}
		if r.URL.Path == "/promise" {
			w.Header().Set("Content-Length", "1000000000000000000")
		}
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			if r.URL.Path == "/drip" {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
	})
	for path, cut := range map[string]string{"/drip": CutDeadline, "/flood": CutBytes, "/promise": CutBytes} {
		begun := time.Now()
		q := Request{URL: at + path, MaxBytes: 20}
		if cut == CutDeadline {
			q = Request{URL: at + path, Timeout: 500 * time.Millisecond}
		}
		r, err := client(t).Do(t.Context(), q)
		if err != nil || r.Cut != cut || len(r.Body) == 0 {
			t.Errorf("%s: %+v, %v, want a body cut by %s", path, r, err, cut)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s took %s", path, took)
		}
		<-gone // and the server is let go
	}
}

func TestABodyThatBreaksOffIsGivenAsFarAsItCame(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	r, err := client(t).Do(t.Context(), Request{URL: at})
	if err != nil || string(r.Body) != "begun" || r.Cut != CutConnection {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Threat endless-headers: 64 KiB of them, in one or in many, before the answer
// or instead of it.
func TestEndlessHeadersAreRefused(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"many": func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "X-N: %s\r\n", strings.Repeat("v", 90))
			return err
		},
		"one": func(w io.Writer) error {
			_, err := io.WriteString(w, "X"+strings.Repeat("v", 1000))
			return err
		},
		"100s": func(w io.Writer) error {
			_, err := io.WriteString(w, "HTTP/1.1 100 Continue\r\n\r\n")
			return err
		},
		"103s": func(w io.Writer) error {
			_, err := io.WriteString(w, "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n")
			return err
		},
	} {
		at := raw(t, func(w io.Writer) {
			if name == "many" || name == "one" {
				io.WriteString(w, "HTTP/1.1 200 OK\r\n")
			}
			for write(w) == nil {
			}
		})
		_, err := client(t).Do(t.Context(), Request{URL: at, Timeout: 5 * time.Second})
		t.Run(name, func(t *testing.T) { wantReason(t, err, protocol.NavigationFailed, "headers_too_large") })
	}
}
