package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const acceptEncoding = "gzip, deflate, br, zstd"

const (
	// maxRatio is how many bytes one byte of a packed body may become, once
	// ratioFloor bytes are out: text stays far below it, a bomb far above.
	maxRatio   = 200
	ratioFloor = 1 << 20
	// maxWindow is the most that a zstd frame may make us remember (RFC 8878
	// recommends 8 MiB).
	maxWindow = 8 << 20
)

// errCoding is the error of a content coding that is unknown, one of several, or invalid.
var errCoding = errors.New("content coding")

// readBody reads a response's body to its end or to the first limit, and returns which limit
// that was.
func readBody(ctx context.Context, resp *http.Response, limit int64) (body []byte, cut string, err error) {
	wire := &counter{r: resp.Body}
	packed := bufio.NewReader(wire)
	if _, err := packed.Peek(1); err == io.EOF {
		// An empty body, as for HEAD and 304, in whatever coding.
		return nil, "", nil
	}
	r, end, err := decoder(packed, resp.Header.Values("Content-Encoding"))
	if err != nil {
		return nil, "", wire.cause(err)
	}
	defer end()
	var out bytes.Buffer
	chunk := make([]byte, 32<<10)
	for {
		n, err := r.Read(chunk)
		if free := limit - int64(out.Len()); int64(n) > free {
			out.Write(chunk[:free])
			return out.Bytes(), CutBytes, nil
		}
		out.Write(chunk[:n])
		switch {
		case err == io.EOF:
			return out.Bytes(), "", nil
		case err != nil && out.Len() == 0:
			return nil, "", wire.cause(err)
		case err != nil:
			return out.Bytes(), whyCut(ctx, wire), nil
		case int64(out.Len()) > ratioFloor && int64(out.Len()) > wire.n*maxRatio:
			return out.Bytes(), CutRatio, nil
		}
	}
}

// whyCut returns which of the three reasons ended a body early.
func whyCut(ctx context.Context, wire *counter) string {
	switch {
	case ctx.Err() != nil:
		return CutDeadline
	case wire.cause(nil) != nil:
		return CutConnection
	}
	return CutCoding
}

// decoder decodes at most one content coding (RFC 9110 8.4.1, RFC 7932, RFC
// 8878): several are only used by decompression bombs.
func decoder(r *bufio.Reader, codings []string) (decoded io.Reader, end func(), err error) {
	coding, none := "", func() {}
	for c := range strings.SplitSeq(strings.Join(codings, ","), ",") {
		switch c = strings.ToLower(strings.TrimSpace(c)); {
		case c == "" || c == "identity":
		case coding != "":
			return nil, nil, errCoding
		default:
			coding = c
		}
	}
	switch coding {
	case "":
		return r, none, nil
	case "gzip", "x-gzip":
		z, err := membersOf(r)
		return z, none, err
	case "deflate":
		return inflate(r)
	case "br":
		return brotli.NewReader(r), none, nil
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(2*maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	// Browsers pass by what is no coding ("none", "utf-8"): servers write it over
	// bodies that are not packed at all.
	if head, _ := r.Peek(512); strings.HasPrefix(http.DetectContentType(head), "text/") {
		return r, none, nil
	}
	return nil, nil, errCoding
}

// members reads the members of a gzip stream, and ignores what follows them, as browsers do.
type members struct {
	*gzip.Reader
	packed *bufio.Reader
}

func membersOf(r *bufio.Reader) (members, error) {
	z, err := gzip.NewReader(r)
	if err == nil {
		z.Multistream(false)
	}
	return members{z, r}, err
}

func (m members) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err != io.EOF {
		return n, err
	}
	// RFC 1952 2.3: the two bytes with which a member begins, and deflate.
	if head, _ := m.packed.Peek(3); string(head) == "\x1f\x8b\x08" {
		err = m.Reset(m.packed)
		m.Multistream(false)
	}
	return n, err
}

// inflate decodes deflate: zlib by RFC 9110, raw deflate from some servers.
func inflate(r *bufio.Reader) (io.Reader, func(), error) {
	head, _ := r.Peek(2)
	// RFC 1950 2.2: the method is 8, and the two bytes are a multiple of 31.
	if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		z, err := zlib.NewReader(r)
		return z, func() {}, err
	}
	z := flate.NewReader(r)
	return z, func() { z.Close() }, nil
}

// counter counts the bytes read and keeps the error that ended the reading.
type counter struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

// cause returns the error that ended the reading: the connection's, or errCoding if only the
// decoder failed; nil for none.
func (c *counter) cause(decoding error) error {
	switch {
	case c.err != nil && c.err != io.EOF:
		return c.err
	case decoding != nil:
		return errCoding
	}
	return nil
}
