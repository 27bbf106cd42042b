package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/server/tools"
)

// show writes a result for a person: the text that a model would get, and
// pictures into files whose names it prints.
func show(w io.Writer, command string, result json.RawMessage, file string) error {
	for i, part := range tools.Format(result).Content {
		var err error
		switch p := part.(type) {
		case *mcp.TextContent:
			if i > 0 {
				fmt.Fprintln(w)
			}
			_, err = fmt.Fprintln(w, harmless(p.Text))
		case *mcp.ImageContent:
			err = save(w, file, command+"."+strings.TrimPrefix(p.MIMEType, "image/"), p.Data)
		case *mcp.EmbeddedResource:
			err = save(w, file, command+".pdf", p.Resource.Blob)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// save writes data to file, or to a new file called like name.
func save(w io.Writer, file, name string, data []byte) error {
	if file != "" {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, file)
		return err
	}
	stem, extension, _ := strings.Cut(name, ".")
	for n := 1; ; n++ {
		f, err := os.OpenFile(fmt.Sprintf("%s-%d.%s", stem, n, extension), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			f.Close()
			return err
		}
		fmt.Fprintln(w, f.Name())
		return f.Close()
	}
}

// harmless is s without what a terminal would obey: a page's text may hold
// escape sequences.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, s)
}

// exitNoDaemon is the exit code where the daemon cannot be reached.
const exitNoDaemon = 8

// coded is an error with an exit code of its own.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }
