package browser

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// chooserWait is how long a click may take to open a file chooser.
const chooserWait = 2 * time.Second

// upload gives files to a file input (DOM.setFileInputFiles): the element
// itself, hidden or not, or the one that it stands for (its label, the drop
// zone around it); or it clicks the element and answers the file chooser that
// opens. No files empty the input. Errors: those of a ref, not_actionable,
// invalid_params where there is no file input or it takes only one file.
func (c *Context) upload(ctx context.Context, refs *snapshot.Refs, o protocol.Upload, h how) (protocol.Effect, error) {
	return c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		el, err := c.uploadTo(ctx, refs, o.Ref, o.Files)
		if el == nil {
			return snapshot.Key{}, err
		}
		return el.key, err
	})
}

func (c *Context) uploadTo(ctx context.Context, refs *snapshot.Refs, ref string, files []protocol.File) (*element, error) {
	el, err := c.locate(ctx, refs, ref, script.Lookup{Want: []string{wantAttached, wantEnabled}, ElementCall: script.FileInput.With(script.FileInputArgs{Empty: len(files) == 0})})
	if err != nil {
		return nil, err
	}
	in, err := script.FileInput.Result(el.Then)
	if err != nil {
		return nil, err
	}
	e, err := refs.Lookup(ref)
	if err != nil {
		return nil, err
	}
	who := e.Ref() + " " + spoken(e.Role, e.Name)
	if in.Disabled {
		return nil, protocol.Errorf(protocol.NotActionable, "the file input of %s is disabled", who).With("reason", "disabled")
	}
	if in.Input != 0 && !in.Multiple && len(files) > 1 {
		return nil, onlyOne(who, len(files))
	}
	if in.Input != 0 && len(files) == 0 {
		return el, nil
	}
	paths, err := c.store(files)
	if err != nil {
		return nil, err
	}
	if in.Input == 0 {
		el, err := c.uploadByChooser(ctx, refs, ref, who, paths)
		if protocol.CodeOf(err) == protocol.InvalidParams || protocol.CodeOf(err) == protocol.NotActionable {
			c.unstore(paths, files) // no page was given them
		}
		return el, err
	}
	object, err := el.in.objectID(ctx, in.Input)
	if err != nil {
		return nil, err
	}
	params := dom.SetFileInputFilesParams{Files: paths, ObjectID: object}
	return el, el.frame.tab.wait(ctx, el.in.cdp.Send(dom.SetFileInputFiles.Method, params), nil)
}

func onlyOne(who string, n int) error {
	return protocol.Errorf(protocol.InvalidParams, "files: %s takes one file, not %d", who, n).With("parameter", "files")
}

// uploadByChooser clicks what opens a file chooser, and gives it the files
// (Page.fileChooserOpened; the tab intercepts file choosers).
func (c *Context) uploadByChooser(ctx context.Context, refs *snapshot.Refs, ref, who string, paths []string) (*element, error) {
	_, d, err := c.resolve(refs, ref)
	if err != nil {
		return nil, err
	}
	opened, stop := d.cdp.Subscribe("Page.fileChooserOpened")
	defer stop()
	el, err := c.clickOn(ctx, refs, ref, press{button: "left", count: 1}, script.Lookup{Want: clickable})
	if err != nil {
		return nil, err
	}
	select {
	case raw, ok := <-opened:
		if !ok { // the session that was to say it has ended
			return el, gone(d.frame.tab.failure(ctx, d.cdp.Conn().SubscriptionError()))
		}
		var e struct {
			Mode          string                `json:"mode"`
			BackendNodeID cdproto.BackendNodeID `json:"backendNodeId"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return el, err
		}
		if e.BackendNodeID == 0 {
			break // showOpenFilePicker: it has no input
		}
		if e.Mode == "selectSingle" && len(paths) > 1 {
			return nil, onlyOne(who, len(paths))
		}
		params := dom.SetFileInputFilesParams{Files: paths, BackendNodeID: e.BackendNodeID}
		return el, d.frame.tab.wait(ctx, d.cdp.Send(dom.SetFileInputFiles.Method, params), nil)
	case <-time.After(min(chooserWait, max(waiting(ctx), 0))):
	case <-ctx.Done():
		return el, context.Cause(ctx)
	case <-d.frame.tab.life.Done():
		return el, context.Cause(d.frame.tab.life)
	}
	return nil, protocol.Errorf(protocol.InvalidParams, "ref %s has no file input, and a click on it opened no file chooser", who).
		With("parameter", "ref").Then("use the ref of the file input")
}

// uploadsDir makes the directory of the context's uploads: in Chromium's
// profile, so that it goes with it although the daemon is killed.
func (c *Context) uploadsDir() (string, error) {
	if c.host.process != nil {
		return c.host.process.MakeDir("uploads")
	}
	return chromium.MakeSharedDir("uploads")
}

// uploadsRoom is the directory of the context's uploads, made by the first of them.
func (c *Context) uploadsRoom() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return "", errClosed()
	case c.uploads != "":
		return c.uploads, nil
	}
	dir, err := c.uploadsDir()
	if err == nil {
		c.uploads = dir
	}
	return dir, err
}

// unstored is the error of files that could not be written: what ended the context,
// where that took their directory away.
func (c *Context) unstored(err error) error {
	switch {
	case c.life.Err() != nil:
		return context.Cause(c.life)
	case c.host.conn.Err() != nil:
		return lost(c.host.conn.Err())
	}
	return fmt.Errorf("storing uploads: %w", err)
}

// store writes the files where Chromium, which may run as another user, can
// read them: each in a directory of its own with a name that nobody can guess,
// in one that nobody else can list. They are removed with the context.
func (c *Context) store(files []protocol.File) ([]string, error) {
	if len(files) == 0 {
		return []string{}, nil
	}
	room, err := c.uploadsRoom()
	if err != nil {
		return nil, c.unstored(err)
	}
	if err := c.reserveUpload(files); err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(files))
	for _, f := range files {
		dir := filepath.Join(room, rand.Text())
		path := filepath.Join(dir, fileName(f.Name))
		err := errors.Join(os.Mkdir(dir, 0o711), os.WriteFile(path, f.Content, 0o644))
		if err == nil {
			// Neither may be kept from Chromium by the daemon's umask.
			err = errors.Join(os.Chmod(dir, 0o711), os.Chmod(path, 0o644))
		}
		if err != nil {
			os.RemoveAll(dir) // half a file takes room too
			c.unstore(paths, files)
			return nil, c.unstored(err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// reserveUpload counts files against what the session may keep on disk. Pages read a
// file at any time after it was given to them, so each counts until the session ends.
func (c *Context) reserveUpload(files []protocol.File) error {
	var size int64
	for _, f := range files {
		size += int64(len(f.Content))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if total, limit := c.uploaded+size, c.o.UploadBytes; total > limit {
		return protocol.Errorf(protocol.TooLarge, "files: the uploads of this session would be %d bytes, and session.upload_bytes lets one session keep %d", total, limit).
			With("quota", "session.upload_bytes").With("limit", limit).With("size", total).
			Then("close the session, which removes its uploads, and go on in a new one; state_save keeps its login")
	}
	c.uploaded += size
	return nil
}

// unstore removes files that no page was given, and no longer counts them.
func (c *Context) unstore(paths []string, files []protocol.File) {
	for _, path := range paths {
		os.RemoveAll(filepath.Dir(path))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range files {
		c.uploaded -= int64(len(f.Content))
	}
}

// fileName is a client's file name without any path, fit for a file system.
func fileName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name)
	for len(name) > 200 {
		name = string([]rune(name)[1:]) // the end has the extension
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}
