package schema

import (
	"reflect"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/handoff"
	"github.com/browserd/browserd/snapshot"
)

// The fields of each event beside session and type.
type (
	hello struct {
		Version  string   `json:"version"`
		Protocol int      `json:"protocol"`
		Agent    string   `json:"agent"`
		Sources  []string `json:"sources"`
	}
	navigated struct {
		Tab      string `json:"tab,omitempty"`
		URL      string `json:"url"`
		Status   int    `json:"status"`
		Document int    `json:"document"`
	}
	dialog struct {
		Tab     string `json:"tab"`
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Default string `json:"default"`
		Answer  string `json:"answer"`
	}
	download struct {
		Tab   string `json:"tab"`
		Name  string `json:"name"`
		URL   string `json:"url"`
		State string `json:"state"`
		Bytes int64  `json:"bytes,omitempty"`
		Why   string `json:"why,omitempty"`
	}
	tabOpened struct {
		Tab string `json:"tab"`
		URL string `json:"url"`
	}
	tabClosed struct {
		Tab string `json:"tab"`
	}
	consoleError struct {
		Tab  string `json:"tab"`
		Text string `json:"text"`
	}
	pageCrashed struct {
		Tab     string `json:"tab"`
		URL     string `json:"url"`
		Reason  string `json:"reason,omitempty"`
		LeftOut bool   `json:"left_out,omitempty"`
	}
	browserLost struct {
		Restored map[string]any `json:"restored"`
	}
	policyDenied struct {
		URL     string         `json:"url,omitempty"`
		Message string         `json:"message"`
		Reason  string         `json:"reason"`
		Host    string         `json:"host,omitempty"`
		Config  map[string]any `json:"config,omitempty"`
	}
	sessionClosing struct {
		Reason string `json:"reason"`
	}
	handedOff struct {
		Agent  string        `json:"agent"`
		State  handoff.State `json:"state"`
		Asked  bool          `json:"asked"`
		Since  time.Time     `json:"since"`
		Until  time.Time     `json:"until"`
		Reason string        `json:"reason,omitempty"`
		Driver string        `json:"driver,omitempty"`
		Note   string        `json:"note,omitempty"`
		URL    string        `json:"url,omitempty"`
	}
	commandEnded struct {
		Command  string             `json:"command"`
		Params   map[string]any     `json:"params"`
		Ref      *Named             `json:"ref,omitempty"`
		MS       int64              `json:"ms"`
		Code     string             `json:"code"`
		Message  string             `json:"message,omitempty"`
		Page     *protocol.Page     `json:"page,omitempty"`
		Effect   *protocol.Effect   `json:"effect,omitempty"`
		Snapshot *snapshot.Snapshot `json:"snapshot,omitempty"`
		Delta    *snapshot.Delta    `json:"delta,omitempty"`
	}
	Named struct {
		Ref  string `json:"ref"`
		Role string `json:"role"`
		Name string `json:"name"`
	}
)

// eventFields are the fields by the event's type. An open one may have more.
var eventFields = map[string]struct {
	fields reflect.Type
	open   bool
}{
	protocol.EventHello:                 {reflect.TypeFor[hello](), false},
	protocol.EventNavigated:             {reflect.TypeFor[navigated](), false},
	protocol.EventDialog:                {reflect.TypeFor[dialog](), false},
	protocol.EventDownload:              {reflect.TypeFor[download](), false},
	protocol.EventTabOpened:             {reflect.TypeFor[tabOpened](), false},
	protocol.EventTabClosed:             {reflect.TypeFor[tabClosed](), false},
	protocol.EventConsoleError:          {reflect.TypeFor[consoleError](), false},
	protocol.EventPageCrashed:           {reflect.TypeFor[pageCrashed](), false},
	protocol.EventBrowserLost:           {reflect.TypeFor[browserLost](), false},
	protocol.EventBrowserRestored:       {reflect.TypeFor[browserLost](), false},
	protocol.EventConfirmationRequested: {reflect.TypeFor[policy.Question](), false},
	protocol.EventPolicyDenied:          {reflect.TypeFor[policyDenied](), true},
	protocol.EventSessionClosing:        {reflect.TypeFor[sessionClosing](), false},
	protocol.EventSessionMoved:          {reflect.TypeFor[struct{}](), false},
	protocol.EventHandoff:               {reflect.TypeFor[handedOff](), false},
	protocol.EventCommand:               {reflect.TypeFor[commandEnded](), false},
}
