package command

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/protocol"
)

// Kinds of body.
const (
	KindHTML   = "html"
	KindJSON   = "json"
	KindText   = "text"
	KindPDF    = "pdf"
	KindBinary = "binary"
)

// KindOf says what a body is: by its Content-Type, and by its bytes where that
// says nothing (MIME Sniffing standard, by net/http).
func KindOf(body []byte, contentType string) string {
	media, _ := fetch.MediaType(contentType)
	if media == "" {
		media, _ = fetch.MediaType(http.DetectContentType(body))
	}
	switch {
	case media == "text/html" || media == "application/xhtml+xml":
		return KindHTML
	case media == protocol.TypePDF || media == "application/x-pdf":
		return KindPDF
	case media == "application/json" || strings.HasSuffix(media, "+json") || media == "text/json":
		return KindJSON
	case strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+xml") || textual[media]:
		return KindText
	case strings.HasPrefix(media, "image/"), strings.HasPrefix(media, "audio/"), strings.HasPrefix(media, "video/"), strings.HasPrefix(media, "font/"):
		return KindBinary
	}
	if utf8.Valid(body) && !strings.ContainsRune(string(body), 0) {
		return KindText
	}
	return KindBinary
}

var textual = map[string]bool{
	"application/xml": true, "application/javascript": true, "application/x-javascript": true, "application/ecmascript": true, "application/x-www-form-urlencoded": true,
	"application/yaml": true, "application/x-yaml": true, "application/toml": true, "application/x-ndjson": true, "application/sql": true,
}

// DescribeBinary returns what is said of a body that is no text: its type and size.
func DescribeBinary(r *fetch.Response) string {
	media, _ := fetch.MediaType(r.Header.Get("Content-Type"))
	if media == "" {
		media, _ = fetch.MediaType(http.DetectContentType(r.Body))
	}
	size := fmt.Sprintf("%d bytes", len(r.Body))
	if r.Truncated {
		size = "more than " + size
		if n := r.Header.Get("Content-Length"); n != "" && len(n) < 16 {
			size = n + " bytes"
		}
	}
	return fmt.Sprintf("[%s, %s: not text]", media, size)
}

// CutNote says why a body is not all of it, "" where it is.
func CutNote(r *fetch.Response) string {
	switch r.Cut {
	case "":
		return ""
	case fetch.CutBytes:
		return fmt.Sprintf("the body is cut at %d KB: it is longer", len(r.Body)>>10)
	case fetch.CutRatio:
		return fmt.Sprintf("the body is cut at %d KB: it unpacks to far more than was sent", len(r.Body)>>10)
	case fetch.CutDeadline:
		return fmt.Sprintf("the body is cut at %d bytes: the time was over", len(r.Body))
	case fetch.CutCoding:
		return fmt.Sprintf("the body is cut at %d bytes: what follows cannot be unpacked", len(r.Body))
	}
	return fmt.Sprintf("the body is cut at %d bytes: the connection broke off", len(r.Body))
}
