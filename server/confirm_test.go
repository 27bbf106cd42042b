package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

const (
	opsToken   = "ops-0123456789abcdef"
	otherToken = "other-0123456789abcdef"
)

// confirmTokens: alice is supervised by the configuration, carol only reads, dave has a
// free hand; ops and other are operators, other supervised too.
var confirmTokens = []Token{
	{Agent: "alice", Token: aliceToken},
	{Agent: "carol", Token: "carol-0123456789abcdef", Autonomy: "read_only"},
	{Agent: "dave", Token: "dave-0123456789abcdef", Autonomy: "full"},
	{Agent: "ops", Token: opsToken, Role: RoleOperator},
	{Agent: "other", Token: otherToken, Role: RoleOperator, Autonomy: "supervised"},
}

// supervised is a daemon whose agents are asked before open, with the real
// policy's rules on addresses. memory may be empty.
func supervised(t *testing.T, memory string, timeout time.Duration) *daemon {
	t.Helper()
	return startWith(t, nil, io.Discard, confirmTokens, supervise(t, memory, timeout))
}

func supervise(t *testing.T, memory string, timeout time.Duration) func(*command.Runtime) {
	rules, err := policy.New(policy.Config{AllowHosts: []string{"site.test"}})
	if err != nil {
		t.Fatal(err)
	}
	answers, err := policy.ReadAnswers(memory, rules.SetAdditions)
	if err != nil {
		t.Fatal(err)
	}
	return func(h *command.Runtime) {
		h.CheckURL = rules.CheckURLWithin
		h.Rules = command.Rules{
			Autonomy: policy.Supervised, Confirm: []string{"open"}, Timeout: timeout,
			Confirmations: policy.NewConfirmations(answers, true),
		}
	}
}

// event reads on to the next event of the type.
func (c *client) event(typ string) map[string]any {
	c.t.Helper()
	for {
		if m := c.message(); m.Params["type"] == typ {
			return m.Params
		}
	}
}

func answering(id int, question any, answer bool, remember string) string {
	return request(id, "confirm", fmt.Sprintf(`{"id":%q,"allow":%v,"remember":%q}`, question, answer, remember))
}

// The whole way: the agent's command waits, operators are told what, where and
// why, one of them says yes, the command runs. The agent's own connection hears
// nothing of it, nor does another agent's.
func TestConfirm(t *testing.T) {
	d := supervised(t, "", 30*time.Second)
	agent, ops, other := d.connect(t), d.connectAs(t, opsToken), d.connectAs(t, otherToken)
	agent.send(request(1, "session_open", `{"name":"s"}`))
	agent.answer()
	agent.send(request(2, "open", `{"url":"https://site.test/a?token=hunter2&q=gold#sid=hunter2","snapshot":"none"}`))

	asked := ops.event(protocol.EventConfirmationRequested)
	id := asked["id"].(string)
	for key, want := range map[string]string{
		"agent": "alice", "session": "s", "command": "open", "host": "site.test",
		"why":    "policy.confirm asks before open",
		"params": "map[source:auto url:https://site.test/a?token=(7 characters)&q=gold#sid=(7 characters) wait_until:auto]",
	} {
		if got := fmt.Sprint(asked[key]); got != want {
			t.Errorf("the event's %s: got %s, want %s", key, got, want)
		}
	}
	for _, key := range []string{"asked", "expires"} {
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(asked[key])); err != nil || time.Until(at).Abs() > time.Minute {
			t.Errorf("the event's %s: %v", key, asked[key])
		}
	}
	if again := other.event(protocol.EventConfirmationRequested); again["id"] != id {
		t.Errorf("the second operator is told %v", again)
	}
	// It does not hold up what does not queue, and an agent may not answer.
	if m := agent.call(3, "ping", `{}`); m.Error != nil {
		t.Errorf("ping while a command waits for a confirmation: %v", m.Error)
	}
	for i, token := range []string{aliceToken, "carol-0123456789abcdef", "dave-0123456789abcdef"} {
		status, _, body := d.do(t, "POST", "/v1/confirm", fmt.Sprintf(`{"id":%q,"allow":true}`, id), "Authorization", "Bearer "+token)
		if status != http.StatusForbidden || !strings.Contains(body, `"reason":"role"`) {
			t.Errorf("agent %d confirms: %d %s", i, status, body)
		}
	}
	if lines := d.site.lines(t, 0); len(lines) != 0 {
		t.Errorf("the page saw %q before anybody said yes", lines)
	}
	// Who comes later is told as well, over HTTP by status.
	if late := d.connectAs(t, opsToken).event(protocol.EventConfirmationRequested); late["id"] != id {
		t.Errorf("a late operator is told %v", late)
	}
	status, _, body := d.do(t, "POST", "/v1/status", "", "Authorization", "Bearer "+opsToken)
	if status != 200 || !strings.Contains(body, `"confirmations":[{"id":"`+id) || !strings.Contains(body, `"all_sessions":[{"session":"s","agent":"alice"`) {
		t.Errorf("an operator's status: %d %s", status, body)
	}
	if _, _, body := d.do(t, "POST", "/v1/status", "", "Authorization", "Bearer dave-0123456789abcdef"); strings.Contains(body, id) || strings.Contains(body, `"alice"`) {
		t.Errorf("an agent's status: %s", body)
	}

	if m := ops.call(1, "confirm", fmt.Sprintf(`{"id":%q,"allow":true}`, id)); m.Error != nil || m.Result["question"].(map[string]any)["command"] != "open" {
		t.Fatalf("confirm: %+v", m)
	}
	if m := agent.answer(); m.ID != 2. || m.Error != nil {
		t.Errorf("the confirmed command: %+v", m)
	}
	if m := ops.call(2, "confirm", fmt.Sprintf(`{"id":%q,"allow":false}`, id)); m.code() != protocol.InvalidParams {
		t.Errorf("a second answer: %+v", m)
	}
	// An operator that is supervised itself needs another one.
	other.send(open(5, "", "/a"))
	own := fmt.Sprintf(`{"id":%q,"allow":true}`, other.event(protocol.EventConfirmationRequested)["id"])
	if m := other.call(6, "confirm", own); m.code() != protocol.PolicyDenied || m.Error.Data.Details["reason"] != "role" {
		t.Errorf("an operator answers itself: %+v", m)
	}
	if m := ops.call(3, "confirm", own); m.Error != nil {
		t.Errorf("another operator answers it: %+v", m)
	}
	// The agent was told of its page, and never of a confirmation.
	agent.send(request(9, "ping", `{}`))
	for {
		m := agent.message()
		if m.Params["type"] == protocol.EventConfirmationRequested {
			t.Errorf("the agent is told %v", m.Params)
		}
		if m.ID == 9. {
			break
		}
	}
}

func TestConfirmationDenied(t *testing.T) {
	d := supervised(t, "", 1500*time.Millisecond)
	agent, ops := d.connect(t), d.connectAs(t, opsToken)
	reason := func(m message) string {
		if m.code() != protocol.ConfirmationDenied {
			t.Errorf("got %+v, want confirmation_denied", m)
			return ""
		}
		return fmt.Sprint(m.Error.Data.Details["reason"])
	}
	agent.send(open(1, "", "/a"))
	id := ops.event(protocol.EventConfirmationRequested)["id"]
	ops.send(answering(1, id, false, "no"))
	if got := reason(agent.answer()); got != "denied" {
		t.Errorf("after a no: %s", got)
	}
	// Nobody answers: policy.confirm_timeout, or the command's own time.
	agent.send(open(2, "", "/a"))
	if got := reason(agent.answer()); got != "no_answer" {
		t.Errorf("after policy.confirm_timeout: %s", got)
	}
	agent.send(request(3, "open", `{"url":"https://site.test/a","timeout_ms":20}`))
	if got := reason(agent.answer()); got != "no_answer" {
		t.Errorf("after timeout_ms: %s", got)
	}
	if lines := d.site.lines(t, 0); len(lines) != 0 {
		t.Errorf("the page saw %q", lines)
	}
}

// A session whose opening is refused is not there, nor is it the connection's own.
func TestRefusedSessionIsNotOpened(t *testing.T) {
	furnish := supervise(t, "", 30*time.Second)
	d := startWith(t, nil, io.Discard, confirmTokens, func(h *command.Runtime) { furnish(h); h.Rules.Confirm = []string{"session_open"} })
	agent, ops := d.connect(t), d.connectAs(t, opsToken)
	agent.send(request(1, "session_open", `{"name":"s","headers":{"Authorization":"Bearer hunter2"}}`), open(2, "s", "/a"))
	asked := ops.event(protocol.EventConfirmationRequested)
	if strings.Contains(fmt.Sprint(asked), "hunter2") {
		t.Errorf("the operator is shown %v", asked)
	}
	ops.send(answering(1, asked["id"], false, "no"))
	for range 2 {
		want := map[float64]protocol.Code{1: protocol.ConfirmationDenied, 2: protocol.SessionNotFound}
		if m := agent.answer(); m.code() != want[m.ID.(float64)] {
			t.Errorf("got %+v", m)
		}
	}
	if m := agent.call(3, "status", `{}`); fmt.Sprint(m.Result["sessions"]) != "[]" || m.Result["session"] != nil {
		t.Errorf("afterwards: %v", m.Result)
	}
}

// A command that waits for an operator is cancelled, and goes with its
// connection and its session, like any other.
func TestConfirmationEnds(t *testing.T) {
	d := supervised(t, "", 30*time.Second)
	ops := d.connectAs(t, opsToken)
	pending := func() int { return len(d.runtime.Rules.Confirmations.Pending()) }
	await := func(n int) {
		t.Helper()
		limit := time.Now().Add(10 * time.Second)
		for pending() != n {
			if time.Now().After(limit) {
				t.Fatalf("%d questions wait, want %d", pending(), n)
			}
			time.Sleep(time.Millisecond) // there is no event for a question that goes
		}
	}
	agent := d.connect(t)
	agent.send(request(1, "session_open", `{"name":"s"}`))
	agent.answer()
	agent.send(open(2, "s", "/a"))
	ops.event(protocol.EventConfirmationRequested)
	agent.send(open(3, "s", "/b")) // behind it in the queue: not asked about yet
	agent.send(request(4, "cancel", `{"id":2}`))
	if m := agent.answer(); m.ID == 4. {
		m = agent.answer()
	} else if m.code() != protocol.Cancelled {
		t.Errorf("the cancelled command: %+v", m)
	}
	if q := ops.event(protocol.EventConfirmationRequested); !strings.Contains(fmt.Sprint(q["params"]), "/b") {
		t.Errorf("the next in the queue: %v", q)
	}
	agent.send(request(5, "session_close", `{"session":"s"}`))
	for range 3 {
		if m := agent.answer(); m.ID == 3. && m.code() != protocol.SessionNotFound {
			t.Errorf("after its session is closed: %+v", m)
		} else if m.ID == 5. {
			break
		}
	}
	await(0)
	agent.send(open(6, "", "/c"))
	await(1)
	agent.ws.Close()
	await(0)
}

// An answer holds for as long as it says: for the session, or across restarts,
// for the same agent, command and host.
func TestConfirmRemember(t *testing.T) {
	memory := filepath.Join(t.TempDir(), "confirmed.json")
	d := supervised(t, memory, 30*time.Second)
	agent, ops := d.connect(t), d.connectAs(t, opsToken)
	id := 0
	asked := func(session string, answer bool, remember string) message {
		t.Helper()
		id++
		agent.send(open(id, session, "/a"))
		ops.send(answering(id, ops.event(protocol.EventConfirmationRequested)["id"], answer, remember))
		return agent.answer()
	}
	unasked := func(session, want string) {
		t.Helper()
		id++
		agent.send(open(id, session, "/a"))
		if m := agent.answer(); string(m.code()) != want {
			t.Errorf("%s: got %+v, want %q without being asked", session, m, want)
		}
	}
	for _, name := range []string{"yes", "no", "good"} {
		agent.call(1000+len(name), "session_open", fmt.Sprintf(`{"name":%q}`, name))
	}
	asked("yes", true, "no")
	asked("yes", true, "session")
	unasked("yes", "")
	asked("no", false, "session")
	unasked("no", "confirmation_denied")
	asked("good", true, "always")
	unasked("good", "")
	agent.call(2000, "session_close", `{"session":"yes"}`)

	restarted := supervised(t, memory, 30*time.Second)
	again := restarted.connect(t)
	if m := again.call(1, "open", `{"url":"https://site.test/a"}`); m.Error != nil {
		t.Errorf("after a restart: %+v", m)
	}
}

// An address that policy.allow_hosts would open: the refusal names a question,
// an operator's yes opens it, and the same command then works.
func TestConfirmOpensAnAddress(t *testing.T) {
	memory := filepath.Join(t.TempDir(), "confirmed.json")
	furnish := supervise(t, memory, 30*time.Second)
	d := startWith(t, nil, io.Discard, confirmTokens, func(h *command.Runtime) { furnish(h); h.Rules.Confirm = nil })
	dave, ops := d.connectAs(t, "dave-0123456789abcdef"), d.connectAs(t, opsToken)
	to := func(session, host string) string {
		return fmt.Sprintf(`{"session":%q,"url":"http://%s/x","snapshot":"none"}`, session, host)
	}
	for _, name := range []string{"one", "two"} {
		dave.call(900, "session_open", fmt.Sprintf(`{"name":%q}`, name))
	}
	refused := dave.call(1, "open", to("one", "192.168.1.100"))
	id := refused.Error.Data.Details["confirmation"]
	if refused.code() != protocol.PolicyDenied || id == nil || !strings.Contains(refused.Error.Data.Next, fmt.Sprint(id)) ||
		fmt.Sprint(refused.Error.Data.Details["config"]) != "map[add:[192.168.1.100] key:policy.allow_hosts]" {
		t.Fatalf("the refusal: %+v", refused.Error)
	}
	asked := ops.event(protocol.EventConfirmationRequested)
	if asked["id"] != id || fmt.Sprint(asked["config"]) != "map[add:[192.168.1.100] key:policy.allow_hosts]" || asked["agent"] != "dave" || !strings.Contains(fmt.Sprint(asked["why"]), "192.168.1.100 is a private address") {
		t.Errorf("operators are told %v", asked)
	}
	if again := dave.call(2, "open", to("one", "192.168.1.100")); again.Error.Data.Details["confirmation"] != id {
		t.Errorf("the second refusal asks anew: %v", again.Error.Data)
	}
	if m := ops.call(1, "confirm", fmt.Sprintf(`{"id":%q,"allow":true,"remember":"session"}`, id)); m.Error != nil {
		t.Fatal(m.Error)
	}
	if m := dave.call(3, "open", to("one", "192.168.1.100")); m.Error != nil {
		t.Errorf("the same command after a yes: %v", m.Error)
	}
	// The session's end takes the answer with it.
	dave.call(4, "session_close", `{"session":"one"}`)
	limit := time.Now().Add(10 * time.Second)
	for dave.call(5, "open", to("two", "192.168.1.100")).Error == nil {
		if time.Now().After(limit) {
			t.Fatal("the address is still open after the session that it was opened for")
		}
	}
	// A no leaves it shut; for good survives a restart.
	refused = dave.call(6, "open", to("two", "192.168.1.101"))
	ops.call(2, "confirm", fmt.Sprintf(`{"id":%q,"allow":false}`, refused.Error.Data.Details["confirmation"]))
	refused = dave.call(7, "open", to("two", "192.168.1.101"))
	if refused.code() != protocol.PolicyDenied {
		t.Errorf("after a no: %+v", refused)
	}
	ops.call(3, "confirm", fmt.Sprintf(`{"id":%q,"allow":true,"remember":"always"}`, refused.Error.Data.Details["confirmation"]))
	restarted := supervised(t, memory, 30*time.Second).connectAs(t, "dave-0123456789abcdef")
	if m := restarted.call(1, "open", to("", "192.168.1.101")); m.Error != nil {
		t.Errorf("after a restart: %v", m.Error)
	}
	// What no setting opens, nobody is asked about; nor for who only reads.
	for _, host := range []string{"169.254.169.254", "100.100.100.200", "metadata.google.internal"} {
		if m := dave.call(8, "open", to("two", host)); m.code() != protocol.PolicyDenied || m.Error.Data.Details["confirmation"] != nil {
			t.Errorf("%s: %+v", host, m.Error)
		}
	}
	carol := d.connectAs(t, "carol-0123456789abcdef")
	if m := carol.call(1, "open", to("", "192.168.1.102")); m.code() != protocol.PolicyDenied || m.Error.Data.Details["confirmation"] != nil {
		t.Errorf("a reader's refusal: %+v", m.Error)
	}
}

// A policy that fails to answer, for whatever reason, has said no.
func TestAPolicyThatFailsSaysNo(t *testing.T) {
	for name, check := range map[string]func(context.Context, policy.GateOptions, string) (string, error){
		"an error": func(context.Context, policy.GateOptions, string) (string, error) {
			return "", fmt.Errorf("the resolver is down")
		},
		"a panic": func(context.Context, policy.GateOptions, string) (string, error) { panic("a nil somewhere") },
	} {
		d := startWith(t, nil, io.Discard, testTokens, func(h *command.Runtime) { h.CheckURL = check })
		if m := d.connect(t).call(1, "open", `{"url":"https://site.test/a"}`); m.code() != protocol.Internal {
			t.Errorf("%s: %+v", name, m)
		}
		if lines := d.site.lines(t, 0); len(lines) != 0 {
			t.Errorf("%s: the page saw %q", name, lines)
		}
	}
	// A supervised daemon whose questions nobody could answer.
	d := startWith(t, nil, io.Discard, testTokens, func(h *command.Runtime) {
		h.Rules = command.Rules{Autonomy: policy.Supervised, Confirm: []string{"open"}}
	})
	m := d.connect(t).call(1, "open", `{"url":"https://site.test/a"}`)
	if m.code() != protocol.ConfirmationDenied || m.Error.Data.Details["reason"] != "no_operator" {
		t.Errorf("without confirmations: %+v", m)
	}
	if lines := d.site.lines(t, 0); len(lines) != 0 {
		t.Errorf("the page saw %q", lines)
	}
}

// A session belongs to its agent; another one, an operator included, finds none
// of that name.
func TestSessionsBelongToTheirAgents(t *testing.T) {
	d := start(t, nil)
	if m := d.connect(t).call(1, "session_open", `{"name":"mine"}`); m.Error != nil {
		t.Fatal(m.Error)
	}
	bob := d.connectAs(t, bobToken) // an operator
	for i, cmd := range actions.All {
		if cmd.Is(command.NoSession) || cmd.Is(command.OpensSession) {
			continue
		}
		m := bob.call(10+i, cmd.Name, `{"session":"mine"`+required(cmd)+"}")
		if m.code() != protocol.SessionNotFound {
			t.Errorf("%s in another agent's session: %+v", cmd.Name, m)
		}
	}
	for _, command := range []string{"session_list", "status"} {
		if m := bob.call(1, command, `{"session":"mine"}`); fmt.Sprint(m.Result["sessions"]) != "[]" {
			t.Errorf("%s: %+v", command, m)
		}
	}
}

// required are values for the parameters that the command cannot do without.
func required(cmd *command.Command) string {
	lists := map[string]string{
		"commands": `[{"method":"snapshot"}]`, "files": `[{"name":"a","base64":""}]`, "fields": `[{"ref":"@e1","value":"a"}]`,
		"cookies": `[{"name":"a","value":"b","url":"https://site.test/"}]`,
	}
	words := map[string]string{"ref": "@e1", "to": "@e2", "url": "https://site.test/", "key": "Enter", "tab": "t1"}
	var b strings.Builder
	for _, p := range cmd.Help().Parameters {
		value, known := lists[p.Name]
		first, _, _ := strings.Cut(strings.TrimPrefix(p.Takes, "one of "), ",")
		switch {
		case !p.Required:
			continue
		case known:
		case strings.HasPrefix(p.Takes, "one of "):
			value = strconv.Quote(first)
		case strings.HasPrefix(p.Takes, "a string"), strings.HasPrefix(p.Takes, "a ref"):
			value = strconv.Quote(cmp.Or(words[p.Name], "a"))
		case strings.HasPrefix(p.Takes, "true"):
			value = "true"
		case strings.HasPrefix(p.Takes, "a list"):
			value = `["a"]`
		default:
			value = "1"
		}
		fmt.Fprintf(&b, ",%q:%s", p.Name, value)
	}
	return b.String()
}
