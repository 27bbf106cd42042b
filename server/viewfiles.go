package server

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/live"
	"github.com/browserd/browserd/session"
)

const (
	// maxFiles is how many bytes a request may have that gives files to a page.
	maxFiles = 64 << 20
	// filesBuffer is how many bytes of such a request are in memory at a time, at most.
	filesBuffer = 1 << 20
	// csrfHeader has the view's CSRF token where the body is not a form: it is checked before the body is read.
	csrfHeader = "Browserd-Csrf"
)

// serveViewFiles gives a person's files to the file chooser of the tab that they drive. The query names the session.
// Nothing of the body is read before the view, its CSRF token and its driver are known to be right. Then the body goes
// to the page's uploads through a buffer. The buffer alone counts as bytes of requests, since no more is in memory.
func serveViewFiles(s *Server, w http.ResponseWriter, r *http.Request, v *live.View, from peer) {
	if !s.gate.ownOrigin(r) || !live.SameToken(r.Header.Get(csrfHeader), v.CSRF) {
		s.denyView(w, r, http.StatusForbidden)
		return
	}
	err := driveInView(s, v, r.URL.Query().Get, func(of *session.Session) error { return giveFiles(s, w, r, v, from, of) }, "files")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
	if err != nil { // the rest of the body is not read, and the connection ends
		e := s.dispatch.toProtocolError(context.Background(), "", "", "view", err)
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Length", strconv.Itoa(len(e.Message))) // the answer is whole while the body is still being sent
		w.WriteHeader(s.queued.status(e))
		io.WriteString(w, e.Message)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// giveFiles reads the files of a request and gives them to the session's page.
func giveFiles(s *Server, w http.ResponseWriter, r *http.Request, v *live.View, from peer, of *session.Session) error {
	end, ok := v.BeginUpload()
	if !ok {
		return protocol.Errorf(protocol.RateLimited, "the files before these are still being sent")
	}
	defer end()
	_, leave, ok := session.Control(of).Enter(r.Context(), v.Person(), false)
	if !ok {
		return notDriving()
	}
	leave() // a hand-back does not wait for the body
	session.Control(of).MarkActive(v.Person(), true)
	page, seen := of.Page().(session.Viewable)
	if !seen {
		return protocol.Errorf(protocol.Unsupported, "the session has no page in Chromium")
	}
	into := of.Page().State().Tab // another one may be selected when the body has been read
	tab, err := page.Surface(into)
	if err != nil {
		return err
	}
	paths, discard, err := storeFiles(s, w, r, from, page)
	if err != nil {
		return err
	}
	// All of it is read: net/http goes on reading, and the connection can be used again.
	http.NewResponseController(w).SetReadDeadline(time.Time{})
	w.Header().Del("Connection")
	ctx, cancel := context.WithTimeout(r.Context(), formTimeout)
	defer cancel()
	inside, leave, ok := session.Control(of).Enter(ctx, v.Person(), false)
	if !ok {
		discard()
		return notDriving()
	}
	defer leave()
	if v.Ended(time.Now()) {
		discard()
		return protocol.Errorf(protocol.PolicyDenied, "this view has ended: ask for another link")
	}
	document, there := page.Documents()[into]
	if !there {
		discard()
		return protocol.Errorf(protocol.InvalidParams, "the tab that asked for files has closed")
	}
	if document != 0 { // 0: it is between two documents, so that its chooser is gone
		session.Control(of).RecordTyping(document)
	}
	err = tab.SetFiles(inside, paths)
	if err != nil && inside.Err() == nil { // else the page may have been given them
		discard()
	}
	return err
}

func notDriving() error {
	return protocol.Errorf(protocol.PolicyDenied, "you do not drive this session: press Take over first")
}

// storeFiles reads the body into the page's uploads.
func storeFiles(s *Server, w http.ResponseWriter, r *http.Request, from peer, page session.Viewable) (paths []string, discard func(), err error) {
	size := r.ContentLength
	if size > maxFiles {
		return nil, nil, tooLarge(maxFiles).With("size", size)
	}
	held := int64(filesBuffer)
	if size >= 0 { // it is known
		held = min(max(size, uncounted), held)
	}
	if held > uncounted {
		if err := s.queued.take(from, held); err != nil {
			return nil, nil, err
		}
		defer s.queued.give(from, held)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxFiles)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, nil, filesError(err)
	}
	return page.Uploads().StoreStream(make([]byte, held), func() (string, io.Reader, error) {
		for {
			part, err := parts.NextPart()
			if err == io.EOF { // of the form: read what follows it too, as long as there is time for the body
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					return "", nil, filesError(err)
				}
			}
			if err != nil {
				return "", nil, filesError(err)
			}
			if part.FormName() == "file" {
				return part.FileName(), filePart{part}, nil
			}
		}
	})
}

// filePart is the content of a file in the body.
type filePart struct{ part *multipart.Part }

func (f filePart) Read(p []byte) (int, error) {
	n, err := f.part.Read(p)
	return n, filesError(err)
}

// filesError returns the error of reading the body; io.EOF is its end.
func filesError(err error) error {
	switch {
	case err == nil, err == io.EOF:
		return err
	case errors.As(err, new(*http.MaxBytesError)):
		return tooLarge(maxFiles)
	}
	return protocol.Errorf(protocol.InvalidRequest, "the body is no form with files, or ended early").Then("give the files again")
}
