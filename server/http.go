package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/telemetry"
)

// serveCommand handles POST /v1/{command}. Body: the command's params, a
// JSON object, or nothing for no params. Answer: the result object, or
// {"error": {...}} with the code's status.
//
// A request has no session of its own. If it names none, commands that are BeginsSession, and session_open, open
// one, and every other command that needs one is refused. The response header
// Browserd-Session has the session's name; so have the results of page commands and the
// details of errors. If the command failed before it opened anything in a new session, that
// session is closed. The header Browserd-Request has the request's id in the log. cancel and
// subscribe need a lasting connection and are not available here; a client cancels by
// closing the connection.
//
// The body is parsed as JSON whatever Content-Type says, since curl and fetch declare other
// types by default. A web page cannot exploit that: it has no token, and the browser adds
// its Origin.
func (s *Server) serveCommand(w http.ResponseWriter, r *http.Request, who holder, from peer, method string) {
	params, done, err := s.readParams(w, r, from)
	defer done()
	if err != nil {
		s.answerHTTP(w, nil, err)
		return
	}
	ctx, cancel := context.WithCancelCause(s.dispatch.life)
	defer cancel(nil)
	// If the client goes away, net/http ends the request's context, which cancels the command.
	defer context.AfterFunc(r.Context(), func() { cancel(command.ErrCancelled) })()

	caller := who.caller()
	caller.Stateless = true
	t, err := s.dispatch.prepare(caller, r.Header.Get(telemetry.Header), method, params)
	if err != nil {
		s.answerHTTP(w, nil, err)
		return
	}
	w.Header().Set("Browserd-Request", t.id)
	if name := t.job.SessionName(); name != "" {
		w.Header().Set("Browserd-Session", name)
	}
	t.run(ctx, func(result json.RawMessage, err *protocol.Error) {
		if err != nil && t.job.ClosedOpened() {
			w.Header().Del("Browserd-Session")
		}
		if err != nil && t.job.OpenedSession() {
			if t.job.CloseFailedSession(r.Context().Err() != nil) {
				w.Header().Del("Browserd-Session")
			} else {
				said := *err // err may be shared: copy it
				said.Details = maps.Clone(err.Details)
				err = said.With("session", t.job.SessionName())
			}
		}
		s.answerHTTP(w, result, err)
	})
}

// readParams reads the body and returns its JSON object, or nil if there is no body. The
// bytes count against the quota until done, which is never nil, is called. Errors: those of
// readBody, parse_error, invalid_params.
func (s *Server) readParams(w http.ResponseWriter, r *http.Request, from peer) (params []byte, done func(), err *protocol.Error) {
	body, done, err := s.readBody(w, r, from)
	if err == nil {
		params, err = decodeBody(body)
	}
	return params, done, err
}

// expectBody prepares a request whose body has not been read yet, and may never be. It limits the time for the
// body and closes the connection after the answer. Otherwise net/http would read the rest of the body before
// and after the answer, and a client that stops sending would block it. Call linger when the request has been
// answered.
func (s *Server) expectBody(w http.ResponseWriter) (linger func(body io.Reader)) {
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(s.cfg.Limits.BodyTimeout))
	w.Header().Set("Connection", "close")
	// A client that is still sending has the answer at once. What it sends is read and
	// dropped, within the body's time: over bytes that nobody has read the connection would
	// be reset, and the client might lose the answer (RFC 9112 section 9.6).
	return func(body io.Reader) {
		if w.Header().Get("Connection") != "close" {
			return // readBody has read all of it
		}
		control.Flush()
		io.Copy(io.Discard, io.LimitReader(body, 16*s.cfg.ReadLimit))
	}
}

// readBody reads the whole body. The connection can be reused after it. The bytes count
// against the peer's quota from before they are read until done, which is never nil, is
// called. Errors: invalid_request, too_large, rate_limited.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, from peer) (body []byte, done func(), err *protocol.Error) {
	limit := s.cfg.ReadLimit
	size, done := r.ContentLength, func() {}
	if size < 0 {
		size = limit + 1 // unknown length: count the most that it may be
	}
	if r.ContentLength > limit {
		return nil, done, tooLarge(limit).With("size", size)
	}
	if size > uncounted {
		taken := min(size, limit)
		if err := s.queued.take(from, taken); err != nil {
			return nil, done, err
		}
		done = func() { s.queued.give(from, taken) }
	}
	var broken error
	if r.ContentLength >= 0 {
		body = make([]byte, size)
		_, broken = io.ReadFull(r.Body, body)
	} else {
		body, broken = io.ReadAll(io.LimitReader(r.Body, size))
	}
	if broken != nil {
		return nil, done, protocol.Errorf(protocol.InvalidRequest, "the body ended early").Then("send the request again")
	}
	if int64(len(body)) > limit {
		return nil, done, tooLarge(limit)
	}
	// net/http goes on reading after the body, to notice when the client leaves.
	http.NewResponseController(w).SetReadDeadline(time.Time{})
	w.Header().Del("Connection")
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, done, protocol.Errorf(protocol.InvalidRequest, "Content-Encoding %q: the body is taken only as it is", cut(coding))
	}
	return body, done, nil
}

func tooLarge(limit int64) *protocol.Error {
	return protocol.Errorf(protocol.TooLarge, "the body has more than %d bytes", limit).With("limit", limit).Then("send less")
}

// decodeBody returns body's JSON object, or nil if body is empty.
func decodeBody(body []byte) ([]byte, *protocol.Error) {
	body = trimJSON(body)
	if len(body) == 0 {
		return nil, nil
	}
	if err := checkJSON(body); err != nil {
		return nil, err.Then("send the params as one JSON object")
	}
	if body[0] != '{' {
		return nil, protocol.Errorf(protocol.InvalidParams, "the body %s: accepts a JSON object of the command's params", cut(string(body))).With("parameter", "params")
	}
	return body, nil
}

// errorBody is the body of the response to a request that failed.
type errorBody struct {
	Error protocol.ErrorData `json:"error"`
}

func httpError(err *protocol.Error) errorBody {
	data := err.Data()
	data.Message = err.Message
	return errorBody{data}
}

func (s *Server) answerHTTP(w http.ResponseWriter, result []byte, err *protocol.Error) {
	status := http.StatusOK
	if err != nil {
		status, result = s.queued.status(err), encodeError(err, httpError(err))
		if wait, ok := err.Details["retry_after_s"]; ok {
			w.Header().Set("Retry-After", fmt.Sprint(wait))
		}
	}
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime(s.cfg.WriteTimeout, len(result))))
	writeJSON(w, status, result)
}

// writeError answers with err and the given status, which may differ from its code's.
func writeError(w http.ResponseWriter, status int, err *protocol.Error) {
	if wait, ok := err.Details["retry_after_s"]; ok {
		w.Header().Set("Retry-After", fmt.Sprint(wait))
	}
	writeJSON(w, status, encodeError(err, httpError(err)))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
