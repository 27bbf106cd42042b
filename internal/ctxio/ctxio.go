// Package ctxio has readers that end with a context.
package ctxio

import (
	"context"
	"io"
	"strings"
)

// Text returns a text that ends with ctx, with its error: who parses it asks for the next
// part again and again, and spends as long as a page was written to make it spend.
func Text(ctx context.Context, text string) io.Reader {
	return &reader{ctx, strings.NewReader(text)}
}

type reader struct {
	ctx  context.Context
	text *strings.Reader
}

// Read gives little of a large buffer: html.Tokenizer asks for as much as its longest
// token at once from that token on. It copies the token for each part, so that a part
// of a fixed size would cost the square of a long token.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.text.Read(p[:min(len(p), max(4<<10, len(p)/16))])
}
