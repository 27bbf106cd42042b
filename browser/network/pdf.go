package network

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	cdpio "github.com/chromedp/cdproto/io"
	cdpnetwork "github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// ReadPDF makes a page of a PDF's bytes: HTML without script.
type ReadPDF func(ctx context.Context, body []byte) (html string, err error)

// IsPDF reports whether a media type is that of PDFs.
func IsPDF(media string) bool { return media == "application/pdf" || media == "application/x-pdf" }

// PauseDocuments has Chromium pause the responses to requests for documents, of these cdp
// sessions and those that attach later: IsPDF and ShowPDF say what becomes of them.
func (r *Routes) PauseDocuments(ctx context.Context, sessions []*cdp.Session) error {
	r.mu.Lock()
	paused := r.documents
	r.documents = true
	patterns := r.patterns()
	r.mu.Unlock()
	if paused {
		return nil
	}
	return r.pauseAll(ctx, sessions, patterns)
}

// Response reports whether the request is paused at its response.
func (e PausedRequest) Response() bool { return e.Status != 0 || e.Error != "" }

// PDF reports whether the response is a PDF.
func (e PausedRequest) PDF() bool {
	media, _, _ := strings.Cut(e.header("content-type"), ";")
	return e.Status >= 200 && e.Status != 204 && (e.Status < 300 || e.Status >= 400) && IsPDF(strings.ToLower(strings.TrimSpace(media)))
}

func (e PausedRequest) header(name string) string {
	for _, h := range e.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// GoOn lets a request that is paused at its response go on.
func GoOn(s *cdp.Session, e PausedRequest) {
	s.Send(fetch.ContinueRequest.Method, fetch.ContinueRequestParams{RequestID: e.RequestID})
}

// pdfChunk is how many bytes of a PDF are taken from Chromium at once.
const pdfChunk = 1 << 20

// ShowPDF answers a request that is paused at its response, a PDF of at most limit bytes,
// with the page that read makes of it. If read fails, so does the request. ShowPDF calls done
// first, with the error of read.
func ShowPDF(ctx context.Context, s *cdp.Session, e PausedRequest, limit int, read ReadPDF, done func(error)) {
	html, err := readPaused(ctx, s, e, limit, read)
	done(err)
	if err != nil {
		s.Send(fetch.FailRequest.Method, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: cdpnetwork.ErrorReasonAborted})
		return
	}
	s.Send(fetch.FulfillRequest.Method, fetch.FulfillRequestParams{
		RequestID: e.RequestID, ResponseCode: int64(e.Status), ResponsePhrase: phrase(e.Status), Body: []byte(html),
		ResponseHeaders: []*fetch.HeaderEntry{
			{Name: "Content-Type", Value: "text/html; charset=utf-8"}, {Name: "Content-Security-Policy", Value: "default-src 'none'"}, {Name: "Cache-Control", Value: "no-store"},
		},
	})
}

// readPaused reads a PDF from Chromium and makes a page of it.
func readPaused(ctx context.Context, s *cdp.Session, e PausedRequest, limit int, read ReadPDF) (string, error) {
	large := func(size int) error {
		return protocol.Errorf(protocol.TooLarge, "the PDF has more than the %d bytes that are read", limit).With("limit", limit).With("size", size).
			Then("get its bytes: downloads")
	}
	if n, err := strconv.Atoi(e.header("content-length")); err == nil && n > limit {
		return "", large(n)
	}
	var stream struct {
		Stream cdpio.StreamHandle `json:"stream"`
	}
	if err := s.Send(fetch.TakeResponseBodyAsStream.Method, fetch.TakeResponseBodyAsStreamParams{RequestID: e.RequestID}).Wait(ctx, &stream); err != nil {
		return "", err
	}
	defer s.Send(cdpio.Close.Method, cdpio.CloseParams{Handle: stream.Stream})
	var body []byte
	for {
		var chunk struct {
			Base64 bool   `json:"base64Encoded"`
			Data   string `json:"data"`
			EOF    bool   `json:"eof"`
		}
		if err := s.Send(cdpio.Read.Method, cdpio.ReadParams{Handle: stream.Stream, Size: pdfChunk}).Wait(ctx, &chunk); err != nil {
			return "", err
		}
		data := []byte(chunk.Data)
		if chunk.Base64 {
			var err error
			if data, err = base64.StdEncoding.DecodeString(chunk.Data); err != nil {
				return "", err
			}
		}
		if body = append(body, data...); len(body) > limit {
			return "", large(len(body))
		}
		if chunk.EOF {
			return read(ctx, body)
		}
	}
}
