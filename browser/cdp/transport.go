package cdp

import (
	"context"
	"io"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/chromedp"
)

// Message is one message of the protocol: a command, an answer or an event.
type Message = cdproto.Message

// Error is what Chromium refuses a command with: a code and a message.
type Error = cdproto.Error

// Transport carries messages between browserd and a Chromium. [Conn] calls Read from
// its reader goroutine only and Write from its writer goroutine only; Close ends both.
type Transport interface {
	Read(context.Context, *Message) error
	Write(context.Context, *Message) error
	io.Closer
}

// Pipe returns the transport to a Chromium that was started with
// --remote-debugging-pipe: answers and events come from r, commands go to w, each
// message ends with a zero byte. Messages that are too large are truncated, see
// [MaxEvent] and [MaxAnswer]. The transport closes both.
func Pipe(r io.ReadCloser, w io.WriteCloser) Transport {
	return chromedp.NewPipeConn(&limitedReader{ReadCloser: r}, w)
}

// Unmarshal decodes JSON of Chromium as the answers of calls are decoded.
func Unmarshal(b []byte, v any) error {
	return jsonv2.Unmarshal(b, v, chromedp.DefaultUnmarshalOptions)
}
