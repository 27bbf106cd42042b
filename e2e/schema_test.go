package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/actions/schema"
	"github.com/browserd/browserd/protocol"
)

// described is what `browserd schema` prints, and refuses members that it does not name.
type described struct {
	t        testing.TB
	document map[string]any
	compiler *jsonschema.Compiler
	compiles *sync.Mutex // tests that run at the same time share a compiler, which keeps what it has compiled
}

func newDescribed(t testing.TB) described {
	t.Helper()
	text, err := json.Marshal(schema.Document(actions.All, "test"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d := described{t, parsed.(map[string]any), jsonschema.NewCompiler(), &sync.Mutex{}}
	defs := d.document["$defs"].(map[string]any)
	// What is embedded becomes the struct's own, and nothing else may be there.
	var own func(s map[string]any)
	own = func(s map[string]any) {
		bases, _ := s["allOf"].([]any)
		delete(s, "allOf")
		for _, b := range bases {
			base := defs[strings.TrimPrefix(b.(map[string]any)["$ref"].(string), "#/$defs/")].(map[string]any)
			own(base)
			maps.Copy(s["properties"].(map[string]any), base["properties"].(map[string]any))
			required, _ := base["required"].([]any)
			more, _ := s["required"].([]any)
			s["required"] = append(append([]any{}, more...), required...)
		}
		if _, ok := s["additionalProperties"]; !ok && s["properties"] != nil {
			s["additionalProperties"] = false
		}
	}
	for _, s := range defs {
		own(s.(map[string]any))
	}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("browserd.json", d.document); err != nil {
		t.Fatal(err)
	}
	return d
}

// result validates what a command answered, and event what an event said.
func (d described) result(cmd *command.Command, answer json.RawMessage) error {
	d.t.Helper()
	return d.validate("commands/"+cmd.Name+"/result", answer)
}

func (d described) event(e protocol.Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return d.validate("events/"+e.Type, text)
}

func (d described) validate(path string, text []byte) error {
	d.compiles.Lock()
	s, err := d.compiler.Compile("browserd.json#/" + path)
	d.compiles.Unlock()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := s.Validate(value); err != nil {
		return fmt.Errorf("%s is not as the schema says: %w\n%s", path, err, protocol.Cut(string(text), 2000))
	}
	return nil
}

// What a session sends as it goes, and what it sends when something ends or a person comes.
// session_moved is played by TestANodeIsDrainedUnderLoad.
var (
	commonEvents = []string{
		protocol.EventHello, protocol.EventNavigated, protocol.EventDialog, protocol.EventDownload, protocol.EventTabOpened, protocol.EventTabClosed,
		protocol.EventConsoleError, protocol.EventPolicyDenied, protocol.EventSessionClosing, protocol.EventCommand,
	}
	rareEvents = []string{protocol.EventPageCrashed, protocol.EventBrowserLost, protocol.EventBrowserRestored, protocol.EventConfirmationRequested, protocol.EventHandoff}
)

// Each type of event that a session sends is as the schema says.
func TestEventsAreAsTheSchemaSays(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	d := sharedDaemon(t)
	described := newDescribed(t)
	a := newAgent(t, d)
	a.do("subscribe", params{"events": protocol.EventTypes})
	a.do("session_open", params{"downloads": true})
	a.open(shop.URL + "/")
	shown := a.do("snapshot", nil).Snapshot.Text
	a.do("click", params{"ref": refIn(t, shown, "link", "Price list")})
	a.do("tab_new", params{"url": "about:blank"})
	a.do("tab_close", nil)
	a.do("click", params{"ref": refIn(t, shown, "button", "Delete")})
	a.do("dialog", params{"accept": false})
	a.do("eval", params{"expression": "fetch('http://192.0.2.1:8080/').catch(() => 0)"})
	a.do("session_close", nil)
	played := slices.Sorted(slices.Values(slices.Concat(commonEvents, rareEvents, []string{protocol.EventSessionMoved})))
	if diff := cmp.Diff(slices.Sorted(slices.Values(protocol.EventTypes)), played); diff != "" {
		t.Errorf("the types of events (-all +played):\n%s", diff)
	}
	for _, typ := range commonEvents {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		for n := 0; ; n++ {
			e, err := a.c.Event(ctx, func(e protocol.Event) bool { return e.Type == typ })
			if n == 0 && err != nil {
				t.Errorf("no event %s: %v", typ, err)
			}
			if err != nil {
				break
			}
			if err := described.event(e); err != nil {
				t.Error(err)
			}
			cancel() // from now on only those that are there already
		}
		cancel()
	}
}

// So is what is sent when a page or Chromium ends, and when a person is asked.
func TestRareEventsAreAsTheSchemaSays(t *testing.T) {
	aboutOneProcess(t, "its Chromium is killed")
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "eval"})
	described := newDescribed(t)
	w := newPageServer(t)
	w.serve("/", page("page", "<h1>Page</h1>"), "")
	a, o := as(t, d, ann), as(t, d, olga)
	heard := map[string]bool{}
	hears := func(a *agent, typ string) protocol.Event {
		t.Helper()
		e := a.event(typ)
		if err := described.event(e); err != nil {
			t.Error(err)
		}
		heard[typ] = true
		return e
	}
	kills := func(kind string) {
		t.Helper()
		list := d.Chromium(kind)
		if len(list) == 0 {
			t.Fatalf("there is no %s", kind)
		}
		for _, p := range list {
			p.Kill()
		}
	}
	works := func() {
		t.Helper()
		until(t, 20*time.Second, "the session works", func() bool { _, err := a.try("snapshot", nil); return err == nil })
	}
	a.open(w.URL)
	kills("renderer")
	hears(a, protocol.EventPageCrashed)
	works()
	kills("browser")
	hears(a, protocol.EventBrowserLost)
	works()
	hears(a, protocol.EventBrowserRestored)
	sent := a.send("eval", params{"expression": "1"})
	o.do("confirm", params{"id": hears(o, protocol.EventConfirmationRequested).Fields["id"], "allow": true})
	if _, err := a.wait(sent); err != nil {
		t.Error(err)
	}
	a.handsOff(nil)
	hears(o, protocol.EventHandoff)
	for _, typ := range rareEvents {
		if !heard[typ] {
			t.Errorf("no event %s", typ)
		}
	}
}
