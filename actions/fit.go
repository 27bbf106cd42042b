package actions

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/browserd/browserd/protocol"
)

// maxPlain is how much of JSON and plain text is passed on as it is.
const maxPlain = 1 << 20

// fitted is a text that a model can read.
type fitted struct {
	text  string
	cut   bool   // it is not all of it
	note  string // what was done to it, for the model
	model bool   // text is a model's answer about it
}

// fit makes a text fit a model: whole up to the threshold; above it the answer
// to what extract asks, or the text cut at the threshold with a note that says
// what to do. plain is JSON or text, which is passed on as it is to 1 MiB unless
// extract asks. It fails only where ctx ends.
func (w *Web) fit(ctx context.Context, text string, plain bool, question string) (fitted, error) {
	limit := w.Config.StripThresholdKB << 10
	if limit == 0 || plain && question == "" {
		limit = max(limit, maxPlain)
	}
	if len(text) <= limit {
		return fitted{text: text}, nil
	}
	f := fitted{text: text[:charAt(text, limit)], cut: true}
	size := fmt.Sprintf("the text has %d KB and is cut at %d", len(text)>>10, limit>>10)
	switch {
	case question == "":
		f.note = size + `: say in extract what you want to know of it, such as "the price and its change"`
		return f, nil
	case w.Extract == nil:
		f.note = size + ": extract needs a model, and the operator has set no extract.base_url"
		return f, nil
	}
	answer, err := w.Extract.Extract(ctx, text, question)
	switch {
	case err == nil:
		return fitted{text: answer.Text, model: true,
			note: fmt.Sprintf("a model's answer from %d KB of the text's %d, chosen by rank; the text itself may say more", answer.Shown>>10, len(text)>>10)}, nil
	case ctx.Err() != nil:
		return fitted{}, context.Cause(ctx)
	}
	f.note = size + ": extract failed, since " + sentence(err)
	return f, nil
}

// charAt is the last place at or before n where a character of s begins.
func charAt(s string, n int) int {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// sentence is what an error says to people.
func sentence(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
