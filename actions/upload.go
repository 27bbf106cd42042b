package actions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// Upload is the command upload.
var Upload = command.Define(command.Row{
	Name: "upload", Summary: "Gives files to a file input.", Next: "Then click what sends the form.", Main: "ref",
	Flags:      command.MCPDefault | command.Acts | command.Static,
	LocalFiles: "files",
	Examples: []command.Example{
		{For: "Attaches a file", Params: `{"ref": "@e12", "files": [{"name": "invoice.txt", "base64": "SW52b2ljZSAyMDI2LTE="}]}`},
		{For: "Drops a file on an area that takes files", Params: `{"ref": "@e6", "drop": true, "files": [{"name": "invoice.txt", "base64": "SW52b2ljZSAyMDI2LTE="}]}`},
	},
}, upload)

// UploadParams are the parameters of upload.
type UploadParams struct {
	Ref   protocol.Target `json:"ref" required:"true" doc:"the file input, or the button or label that belongs to one"`
	Files []UploadFile    `json:"files" required:"true" doc:"paths under the daemon's upload directory, or {name, base64}"`
	Drop  bool            `json:"drop" default:"false" seldom:"true" doc:"drop the files on the element, as from a file manager, in place of choosing them"`
	command.Shows
}

// UploadFile is one file: a path, or a name with its contents.
type UploadFile struct {
	Path   string `json:"-"`
	Name   string `json:"name"`
	Base64 []byte `json:"base64"`
}

// JSONSchema describes both forms.
func (f UploadFile) JSONSchema(d command.Definitions) map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "string"}, d.Struct(reflect.TypeOf(f))}}
}

// UnmarshalJSON takes a string as a path, and an object as contents.
func (f *UploadFile) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &f.Path)
	}
	if len(b) == 0 || b[0] != '{' {
		return fmt.Errorf("accepts a path or {name, base64}, not %s", protocol.Cut(string(b), 60))
	}
	type plain UploadFile
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(f)); err != nil {
		return err
	}
	if f.Name == "" {
		return errors.New("a file needs a name")
	}
	if f.Base64 == nil {
		return errors.New("a file needs its contents in base64; an empty one has \"\"")
	}
	return nil
}

const (
	// maxUpload is how large one file may be, and all of an upload together.
	maxUpload = 100 << 20
	// maxUploads is how many files one upload may have.
	maxUploads = 50
)

func upload(ctx context.Context, c *command.Call, p *UploadParams) (command.Result, error) {
	if len(p.Files) > maxUploads {
		return command.Result{}, protocol.Errorf(protocol.TooLarge, "files: %d files are too many at once", len(p.Files)).
			With("limit", maxUploads).With("size", len(p.Files))
	}
	files, total := make([]protocol.File, 0, len(p.Files)), 0
	for _, f := range p.Files {
		file := protocol.File{Name: filepath.Base(filepath.Clean("/" + f.Name)), Content: f.Base64}
		if f.Name == "" {
			var err error
			if file, err = fromUploadDir(c.Runtime.Sessions.UploadDir(), f.Path); err != nil {
				return command.Result{}, err
			}
		}
		if total += len(file.Content); total > maxUpload {
			return command.Result{}, protocol.Errorf(protocol.TooLarge, "files: together they have more than %d bytes", maxUpload).
				With("limit", maxUpload).With("size", total)
		}
		files = append(files, file)
	}
	page, err := c.Page(ctx)
	if err != nil {
		return command.Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Upload{Ref: string(p.Ref), Files: files, Drop: p.Drop}))
	return c.Acted(ctx, page, done.Effect, err, p.Shows)
}

// fromUploadDir reads a file below the upload directory and nowhere else:
// neither .. nor a symbolic link leads out of an os.Root.
func fromUploadDir(dir, path string) (protocol.File, error) {
	bad := func(why string) (protocol.File, error) {
		return protocol.File{}, protocol.Errorf(protocol.InvalidParams, "files: %s: %s", protocol.Cut(path, 100), why).
			With("parameter", "files").Then("send the contents as {name, base64}, or put the file into the daemon's session.upload_dir")
	}
	if dir == "" {
		return bad("paths are not taken, since session.upload_dir is not set")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return bad("session.upload_dir cannot be read")
	}
	defer root.Close()
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return bad("it is not below session.upload_dir")
		}
		path = rel
	}
	// Looked at before it is opened, and opened without waiting: a pipe would
	// hold the command until somebody writes into it.
	if info, err := root.Stat(path); err == nil && !info.Mode().IsRegular() {
		return bad("it is not a regular file")
	}
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad("there is no such file in session.upload_dir")
	case err != nil:
		return bad("it is not below session.upload_dir")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return bad("it is not a regular file")
	}
	if info.Size() > maxUpload {
		return protocol.File{}, protocol.Errorf(protocol.TooLarge, "files: %s has %d bytes", protocol.Cut(path, 100), info.Size()).
			With("limit", maxUpload).With("size", info.Size())
	}
	content, err := io.ReadAll(io.LimitReader(f, maxUpload))
	if err != nil {
		return bad("it cannot be read")
	}
	return protocol.File{Name: filepath.Base(path), Content: content}, nil
}
