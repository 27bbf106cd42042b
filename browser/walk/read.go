package walk

import (
	"context"
	"strings"
	"time"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// Content puts together what a document says: its own text, and in their places what frame says of the frames in
// it. A frame that cannot be read costs its own content alone. Its error is ctx's cause.
func Content(ctx context.Context, pieces []script.Piece, frame func(node int) (string, error)) (string, error) {
	parts := make([]string, 0, len(pieces))
	for _, piece := range pieces {
		said, err := piece.Text, error(nil)
		if piece.Frame != 0 {
			said, err = frame(piece.Frame)
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err == nil && (said != "" || piece.Frame == 0) {
			parts = append(parts, said)
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

// A frame that cannot be read, such as one between two documents, is asked again so often and after so long.
const (
	readTries = 10
	readWait  = 50 * time.Millisecond
)

// ReadAll returns what all frames say. One that has left says nothing; one that is there, and cannot be read
// although it was asked again, is an error: nobody knows what it shows. Errors: secret_denied, what ended the tab's life.
func ReadAll[Frame any](ctx, life context.Context, frames []Frame, read func(Frame) (string, error), left func(Frame) bool) (string, error) {
	var parts []string
	for _, f := range frames {
		said, err := readOne(ctx, life, func() (string, error) { return read(f) }, func() bool { return left(f) })
		if err != nil {
			return "", err
		}
		parts = append(parts, said)
	}
	return strings.Join(parts, "\n\n"), nil
}

func readOne(ctx, life context.Context, read func() (string, error), left func() bool) (string, error) {
	for tries := 1; !left(); tries++ {
		said, err := read()
		switch {
		case err == nil:
			return said, nil
		case life.Err() != nil:
			return "", context.Cause(life)
		case tries == readTries && !left():
			return "", protocol.Errorf(protocol.SecretDenied, "a frame of the page cannot be read, and a picture may show a secret in it: %w", err).
				With("reason", "unread").Then("try again in a moment, or read the page with snapshot and read, which mask secrets")
		}
		select {
		case <-time.After(readWait):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return "", nil
}
