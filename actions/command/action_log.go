package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// logEntry is one line of a session's action log.
type logEntry struct {
	Number  int              `json:"n"`
	Time    time.Time        `json:"time"`
	Agent   string           `json:"agent"`
	Session string           `json:"session"`
	Command string           `json:"command"`
	Params  any              `json:"params"` // secrets masked
	Ref     *loggedElement   `json:"ref,omitempty"`
	MS      int64            `json:"ms"`
	Code    string           `json:"code"` // ok, or the error's
	Message string           `json:"message,omitempty"`
	Page    *protocol.Page   `json:"page,omitempty"` // with the snapshot's revision
	Effect  *protocol.Effect `json:"effect,omitempty"`
	Picture string           `json:"picture,omitempty"` // a file beside the log
	Run     string           `json:"run,omitempty"`     // the id of the script that sent the command
	Step    int              `json:"step,omitempty"`    // of that script, from 1
}

// loggedElement is the element that a command acts on, as the client was shown it.
type loggedElement struct {
	Ref  string `json:"ref"`
	Role string `json:"role"`
	Name string `json:"name"`
}

// PageResult returns what a result says about the page.
func (r Result) PageResult() Result { return r }

// logAction prepares the log entry of a command that is about to run. The func that it returns writes the entry
// when the command has ended, and emits it as an event. The func is nil if there is no action log, recording or
// listener.
func (c *Call) logAction(ctx context.Context) func(result any, err error) {
	if c.Session == nil || c.Command.Is(NoSession) || c.Command.Is(Group) || c.Command.Is(Unqueued) && !c.Command.Is(Acts) {
		return nil
	}
	j, heard, recorder := c.Session.ActionLog(), c.Session.HasListener(protocol.EventCommand), c.Runtime.Sessions.Recorder(c.Session)
	if j == nil && !heard && !recorder.On() {
		return nil
	}
	l := logEntry{Time: time.Now().UTC(), Agent: c.Caller.Agent, Session: c.Session.Name(), Command: c.Command.Name}
	l.Params, l.Ref = c.maskedParams(ctx)
	if c.script != nil {
		l.Run, l.Step = c.script.Run, c.script.Step
	}
	recorded := record(ctx, c, recorder, &l)
	return func(result any, err error) {
		var shown Result
		l.MS, l.Code = time.Since(l.Time).Milliseconds(), "ok"
		if err != nil {
			l.Code = string(protocol.CodeOf(err))
			var e *protocol.Error
			if errors.As(err, &e) {
				l.Message = protocol.MaskText(e.Message)
			}
		}
		if r, ok := result.(interface{ PageResult() Result }); ok && err == nil {
			shown = r.PageResult()
			page := shown.Page
			page.URL = protocol.MaskURL(page.URL)
			l.Page = &page
			if e := shown.Effect; e != nil {
				masked := *e
				masked.Navigated = protocol.MaskURL(masked.Navigated)
				masked.Value = nil // what a field holds may be a secret
				l.Effect = &masked
			}
		}
		recorded(shown)
		if heard {
			c.Session.Emit(protocol.EventCommand, l.event(shown))
		}
		if j == nil {
			return
		}
		werr := j.Write(c.screenshot(ctx, j), func(n int, picture string) any {
			l.Number, l.Picture = n, picture
			return redactedLine(c, l)
		})
		if werr != nil {
			c.Runtime.Log.WarnContext(ctx, "writing an action down", "session", c.Session.Name(), "error", werr)
		}
	}
}

// redactedLine returns the line as JSON, without the secrets that the agent was given.
func redactedLine(c *Call, l logEntry) any {
	text, err := json.Marshal(l)
	if err != nil {
		return err.Error()
	}
	return json.RawMessage(c.Runtime.Secrets.Redact(c.Caller.Agent, text))
}

// event returns the entry as the fields of an event, with the snapshot or delta of the command's result.
func (l logEntry) event(shown Result) map[string]any {
	e := map[string]any{"command": l.Command, "params": l.Params, "ms": l.MS, "code": l.Code}
	if l.Ref != nil {
		e["ref"] = l.Ref
	}
	if l.Run != "" {
		e["run"], e["step"] = l.Run, l.Step
	}
	if l.Message != "" {
		e["message"] = l.Message
	}
	if l.Page != nil {
		e["page"] = l.Page
	}
	if l.Effect != nil {
		e["effect"] = l.Effect
	}
	if s := shown.Snapshot; s != nil {
		e["snapshot"] = snapshot.Snapshot{Text: s.Text, Stats: s.Stats}
	}
	if shown.Delta != nil {
		e["delta"] = shown.Delta
	}
	return e
}

// screenshot returns an image of the page after an acting command; nil if none is wanted
// or possible.
func (c *Call) screenshot(ctx context.Context, j *session.ActionLog) []byte {
	page := c.Session.Page()
	renderer, ok := page.(session.Renderer)
	if !j.Screenshots || !c.Command.Is(Acts) || c.Command.Is(Unqueued) || !ok || ctx.Err() != nil {
		return nil
	}
	if CheckPicture(ctx, c, page) != nil {
		return nil // it shows a secret, or a dialog blocks the page
	}
	pic, err := renderer.Screenshot(ctx, c.Session.Refs(), protocol.Screenshot{Format: "jpeg", Quality: 60})
	if err != nil {
		return nil // a dialog blocks the page
	}
	return pic.Image
}

// maxLogged is how many characters of one text of the parameters are logged.
const maxLogged = 1000

// maskedParams returns the parameters with their secrets masked, and the element
// that the command is for.
func (c *Call) maskedParams(ctx context.Context) (any, *loggedElement) {
	raw, err := json.Marshal(c.Params)
	if err != nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var params map[string]any
	if d.Decode(&params) != nil {
		return nil, nil
	}
	var of *loggedElement
	if ref, _ := params["ref"].(string); ref != "" && !c.Command.Is(Unqueued) {
		if e, err := c.Session.Refs().Lookup(ref); err == nil {
			of = &loggedElement{e.Ref(), e.Role, protocol.MaskText(e.Name)}
		}
	}
	return c.masked(ctx, "", params), of
}

// masked returns a value of the parameters with secrets masked. What is written into a field is masked if the
// page says that the field holds a secret, or cannot say.
func (c *Call) masked(ctx context.Context, name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		ref, _ := v["ref"].(string)
		out := map[string]any{}
		for k, inner := range v {
			writes := c.Command.Typed != "" && k == c.Command.Typed || k == "value"
			switch {
			case inner == nil || inner == "":
				continue
			case k == "base64":
				s, _ := inner.(string)
				inner = len(s) * 3 / 4
			case writes && ref == "", writes && c.secretField(ctx, ref):
				inner = protocol.Masked // of a cookie, or of such a field
			case name == "headers":
				s, _ := inner.(string)
				inner = protocol.MaskHeader(k, s)
			case protocol.IsSecret(k) && k != "key" && k != "cookies": // press has a key
				inner = protocol.Masked
			default:
				inner = c.masked(ctx, k, inner)
			}
			out[k] = inner
		}
		return out
	case []any:
		for i := range v {
			v[i] = c.masked(ctx, name, v[i])
		}
		return v
	case string:
		if name == "url" || name == "urls" || name == "pattern" {
			return protocol.MaskURL(v)
		}
		return protocol.MaskText(protocol.Cut(v, maxLogged))
	}
	return value
}

// maskedValue is what a page reports as the value of a field that holds a secret.
const maskedValue = "\u2022\u2022\u2022"

// secretField reports whether a field holds a secret. It returns true if the page cannot say.
func (c *Call) secretField(ctx context.Context, ref string) bool {
	e, err := c.Session.Refs().Lookup(ref)
	page := c.Session.Page()
	if err != nil || page == nil || protocol.IsSecret(e.Name) {
		return true
	}
	text, err := page.Read(ctx, c.Session.Refs(), ref, "attrs", "")
	var attrs map[string]any
	if err != nil || json.Unmarshal([]byte(text), &attrs) != nil {
		return true
	}
	if held, err := page.Read(ctx, c.Session.Refs(), ref, "value", ""); err == nil && held == maskedValue {
		return true // the page has changed the field's type since
	}
	said := func(name string) string { s, _ := attrs[name].(string); return s }
	auto := said("autocomplete")
	return said("type") == "password" || auto == "one-time-code" || len(auto) > 3 && auto[:3] == "cc-" ||
		protocol.IsSecret(auto) || protocol.IsSecret(said("name")) || protocol.IsSecret(said("id"))
}
