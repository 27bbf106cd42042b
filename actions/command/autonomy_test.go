package command_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// What a route answers a page with runs in it, as what eval is given does, whatever the
// answer consists of; its cookies are set as those of cookies_set are.
func TestARouteThatAnswersIsAsked(t *testing.T) {
	for params, want := range map[string][]string{
		`{"pattern":"*","action":"block"}`:                                                         {"route"},
		`{"pattern":"*","action":"remove"}`:                                                        {"route"},
		`{"pattern":"*","action":"answer"}`:                                                        {"route", "eval"},
		`{"pattern":"*","action":"answer","status":204,"kind":"script"}`:                           {"route", "eval"},
		`{"pattern":"*","action":"answer","body":"<script>1</script>"}`:                            {"route", "eval"},
		`{"pattern":"*","action":"answer","status":302,"headers":{"Location":"https://b.test/x"}}`: {"route", "eval"},
		`{"pattern":"*","action":"answer","headers":{"Refresh":"0;url=https://b.test/"}}`:          {"route", "eval"},
		`{"pattern":"*","action":"answer","headers":{"set-cookie":"sid=1"}}`:                       {"route", "eval", "cookies_set"},
		`{"pattern":"*","action":"answer","headers":{"Clear-Site-Data":"\"*\""}}`:                  {"route", "eval", "cookies_clear"},
		`{"pattern":"*","action":"block","headers":{"Set-Cookie":"sid=1"}}`:                        {"route"},
	} {
		c, err := prepared(t, policy.Supervised, "route", params)
		if err != nil {
			t.Fatal(err)
		}
		if got := command.Does(c); !slices.Equal(got, want) {
			t.Errorf("%s asks for %v, want %v", params, got, want)
		}
		if !command.Audited(c) {
			t.Errorf("%s is not in the audit trail", params)
		}
	}
}

func prepared(t *testing.T, autonomy policy.Autonomy, method, params string) (*command.Call, error) {
	t.Helper()
	sessions := session.NewManager(session.Config{IdleTimeout: 1 << 40, Max: 9, MaxPerAgent: 9, Queue: 9}, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { sessions.Shutdown(t.Context()) })
	h := &command.Runtime{Commands: actions.All, Sessions: sessions, Log: slog.New(slog.DiscardHandler)}
	job, err := h.Prepare(&command.Caller{Agent: "a", Autonomy: autonomy}, nil, method, json.RawMessage(params))
	if err == nil {
		return command.CallOf(job), nil
	}
	if n := sessions.Count(); n != 0 {
		t.Errorf("%s was refused, and opened %d sessions", method, n)
	}
	return nil, err
}

// An agent that only reads goes to pages and looks; it sends no input, runs no
// script, and no request of its own making. What is refused opens nothing.
func TestReadOnly(t *testing.T) {
	for _, test := range []struct {
		method, params string
		refused        string // as which command; "": allowed
	}{
		{"open", `{"url":"https://a.test/"}`, ""},
		{"reload", `{}`, ""},
		{"scroll", `{"direction":"down"}`, ""},
		{"snapshot", `{}`, ""},
		{"wait", `{"text":"a"}`, ""},
		{"wait", `{"expression":""}`, ""},
		{"session_open", `{}`, ""},
		{"batch", `{"commands":[{"method":"click"}]}`, ""}, // each of its commands is asked by itself
		{"wait", `{"expression":"fetch('/delete')"}`, "eval"},
		{"eval", `{"expression":"1"}`, "eval"},
		{"route", `{"pattern":"*","action":"answer","status":302,"headers":{"Location":"https://b.test/"}}`, "route"},
		{"click", `{"ref":"@e1"}`, "click"},
		{"type", `{"ref":"@e1","text":"a"}`, "type"},
		{"press", `{"key":"Enter"}`, "press"},
		{"select", `{"ref":"@e1","values":"a"}`, "select"},
		{"check", `{"ref":"@e1"}`, "check"},
		{"hover", `{"ref":"@e1"}`, "hover"},
		{"focus", `{"ref":"@e1"}`, "focus"},
		{"drag", `{"ref":"@e1","to":"@e2"}`, "drag"},
		{"upload", `{"ref":"@e1","files":[{"name":"a","base64":""}]}`, "upload"},
	} {
		_, err := prepared(t, policy.ReadOnly, test.method, test.params)
		if test.refused == "" {
			if err != nil {
				t.Errorf("%s %s: %v", test.method, test.params, err)
			}
			continue
		}
		e, ok := err.(*protocol.Error)
		if !ok || e.Code != protocol.PolicyDenied || e.Details["reason"] != "read_only" || e.Details["command"] != test.refused {
			t.Errorf("%s %s: got %v, want policy_denied as %s", test.method, test.params, err, test.refused)
			continue
		}
		if want := (map[string]any{"key": "auth.tokens[].autonomy", "add": []string{"full"}}); !reflect.DeepEqual(e.Details["config"], want) {
			t.Errorf("%s: the setting that would allow it: %v, want %v", test.method, e.Details["config"], want)
		}
	}

	var e *protocol.Error
	err := command.Permitted(&command.Call{Runtime: &command.Runtime{Rules: command.Rules{Autonomy: policy.ReadOnly}}, Caller: &command.Caller{Agent: "a"}, Command: actions.Click})
	if want := (map[string]any{"key": "policy.autonomy", "add": []string{"full"}}); !errors.As(err, &e) || !reflect.DeepEqual(e.Details["config"], want) {
		t.Errorf("where no token says otherwise: %v, want the setting %v", err, want)
	}
	for _, cmd := range actions.All {
		if cmd.Is(command.ReadOnly|command.Acts) && !slices.Contains([]string{"open", "back", "forward", "reload", "scroll", "tab_new", "tab_select", "tab_close"}, cmd.Name) {
			t.Errorf("%s acts on the page, and a reader may send it", cmd.Name)
		}
	}
}

// What an operator is shown of a call: all that is needed to decide, and
// nothing that could be a secret.
func TestQuestionShowsNoSecret(t *testing.T) {
	const secret = "hunter2"
	for _, test := range []struct{ name, value, want string }{
		{"url", `"https://a.test/x?q=gold&access_token=hunter2&api-key=hunter2#id=3&password=hunter2"`,
			`"https://a.test/x?q=gold&access_token=(7 characters)&api-key=(7 characters)#id=3&password=(7 characters)"`},
		{"text", `"hunter2"`, `"(7 characters)"`},
		{"key", `"Enter"`, `"Enter"`},
		{"key", `"h"`, `"(1 characters)"`},
		{"expression", `"document.title"`, `"document.title"`},
		{"headers", `{"Authorization":"Bearer hunter2","Cookie":"a=hunter2","X-Api-Key":"hunter2","Accept":"text/html"}`,
			`{"Accept":"text/html","Authorization":"(14 characters)","Cookie":"(9 characters)","X-Api-Key":"(7 characters)"}`},
		{"body", `"{\"user\":\"ann\",\"password\":\"hunter2\"}"`, `{"password":"(7 characters)","user":"ann"}`},
		{"body", `"user=ann&pwd=hunter2"`, `"user=ann&pwd=(7 characters)"`},
		{"body", `{"user":"ann","client_secret":"hunter2"}`, `{"client_secret":"(7 characters)","user":"ann"}`},
		{"cookies", `[{"name":"sid","value":"hunter2","domain":"a.test"}]`, `[{"domain":"a.test","name":"sid","value":"(7 characters)"}]`},
		{"fields", `[{"ref":"@e1","value":"hunter2"}]`, `[{"ref":"@e1","value":"(7 characters)"}]`},
		{"files", `[{"name":"cv.pdf","base64":"aHVudGVyMg=="}]`, `[{"base64":"(12 characters)","name":"cv.pdf"}]`},
	} {
		var value any
		if err := json.Unmarshal([]byte(test.value), &value); err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(command.ShownValue(test.name, value))
		if d := cmp.Diff(test.want, unescape(got)); d != "" {
			t.Errorf("%s -want +got\n%s", test.name, d)
		}
	}
	c, err := prepared(t, policy.Full, "type", `{"ref":"@e1","text":"`+secret+`","clear":true}`)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"text": "(7 characters)", "clear": true, "mode": "insert"}, command.Summary(c)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// unescape takes JSON's escapes of <, > and & back.
func unescape(text []byte) string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return string(text)
	}
	if s, ok := v.(string); ok {
		return `"` + s + `"`
	}
	return string(text)
}

// Nobody is asked about the further pieces of what was allowed, which do nothing without the first one.
func TestFurtherPiecesAreNotAskedAbout(t *testing.T) {
	for _, c := range []struct {
		method, params string
		asked          bool
	}{
		{"profile_export", `{"name":"shop","passphrase":"correct horse battery staple"}`, true},
		{"profile_export", `{"name":"shop","passphrase":"correct horse battery staple","offset":3000000}`, false},
		{"profile_import", `{"name":"shop","passphrase":"correct horse battery staple","content":"aGk=","more":true}`, true},
		{"profile_import", `{"name":"shop","passphrase":"correct horse battery staple","content":"aGk=","offset":3000000}`, false},
	} {
		call, err := prepared(t, policy.Supervised, c.method, c.params)
		if err != nil {
			t.Fatal(err)
		}
		call.Runtime.Rules.Confirm = []string{"profile_export", "profile_import"} // and there is no operator
		if err := command.Confirm(call, t.Context()); (protocol.CodeOf(err) == protocol.ConfirmationDenied) != c.asked {
			t.Errorf("%s %s: %v, asked: %v", c.method, c.params, err, c.asked)
		}
	}
}
