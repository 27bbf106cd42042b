package command

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/browserd/browserd/protocol"
)

// maxPlain is how much of JSON and plain text is passed on as it is.
const maxPlain = 1 << 20

// Truncated is a text short enough for a model.
type Truncated struct {
	Text  string
	Cut   bool   // Text is not all of it
	Note  string // what was done to it, for the model
	Model bool   // Text is a model's answer about it
}

// Truncate makes a text short enough for a model. Up to the threshold it stays whole.
// Above it, it becomes the answer to the question (the parameter extract), or is cut
// at the threshold with a note that says what to do. plain is JSON or text, which
// stays whole up to 1 MiB unless there is a question. It fails only where ctx ends.
func (w *Web) Truncate(ctx context.Context, text string, plain bool, question string) (Truncated, error) {
	limit := w.Config.StripThresholdKB << 10
	if limit == 0 || plain && question == "" {
		limit = max(limit, maxPlain)
	}
	if len(text) <= limit {
		return Truncated{Text: text}, nil
	}
	f := Truncated{Text: text[:charAt(text, limit)], Cut: true}
	size := fmt.Sprintf("the text has %d KB and is cut at %d", len(text)>>10, limit>>10)
	switch {
	case question == "":
		f.Note = size + `: say in extract what you want to know of it, such as "the price and its change"`
		return f, nil
	case w.Extract == nil:
		f.Note = size + ": extract needs a model, and the operator has set no extract.base_url"
		return f, nil
	}
	answer, err := w.Extract.Extract(ctx, text, question)
	switch {
	case err == nil:
		return Truncated{Text: answer.Text, Model: true,
			Note: fmt.Sprintf("a model's answer from %d KB of the text's %d, chosen by rank; the text itself may say more", answer.Shown>>10, len(text)>>10)}, nil
	case ctx.Err() != nil:
		return Truncated{}, context.Cause(ctx)
	}
	f.Note = size + ": extract failed, since " + Sentence(err)
	return f, nil
}

// charAt returns the last place at or before n where a character of s begins.
func charAt(s string, n int) int {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// Sentence returns what an error says to people.
func Sentence(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
