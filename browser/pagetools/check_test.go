package pagetools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserd/browserd/protocol"
)

// Arguments are compared with what a schema says plainly, and with nothing else.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ schema, arguments, wrong string }{
		{``, `{"a":1}`, ""},
		{`null`, `{"a":1}`, ""},
		{`{"type":"object"}`, `{"a":1}`, ""},
		{`{"type":"array"}`, `{"a":1}`, "arguments: it is object, and the tool accepts array"},
		{`{"type":["array","object"]}`, `{}`, ""},
		{`{"required":["a","b"]}`, `{"a":1}`, "arguments.b is needed"},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.0}`, ""},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1e3}`, ""},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.5}`, "arguments.a: it is number, and the tool accepts integer"},
		{`{"properties":{"a":{"type":"number"}}}`, `{"a":null}`, "arguments.a: it is null, and the tool accepts number"},
		{`{"properties":{"a":{"enum":["x",1,null]}}}`, `{"a":1.0}`, ""},
		{`{"properties":{"a":{"enum":["x",1,null]}}}`, `{"a":true}`, "arguments.a: it is none of the values that the tool accepts"},
		{`{"properties":{"a":{"enum":[{"b":1}]}}}`, `{"a":true}`, ""},
		{`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",7]}`, "arguments.a[1]: it is number, and the tool accepts string"},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"b":2}`, "arguments.b: the tool has no such argument"},
		{`{"additionalProperties":{"type":"string"}}`, `{"a":1}`, ""},
		{`{"type":"object","properties":{"a":{"pattern":"^x$","$ref":"#/nowhere","anyOf":[{"type":"null"}]}}}`, `{"a":"y"}`, ""},
		{`{"type":"thing"}`, `{}`, ""},
		{`{"required":"a"}`, `{}`, ""}, // no schema
	} {
		err := Check(Tool{PageTool: protocol.PageTool{InputSchema: json.RawMessage(c.schema)}}, json.RawMessage(c.arguments))
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "invalid_params: ")
		}
		if got != c.wrong {
			t.Errorf("%s %s: %q, want %q", c.schema, c.arguments, got, c.wrong)
		}
	}
}

// A large schema and many values cost no more than reading them.
func TestCheckIsCheap(t *testing.T) {
	schema := `{"properties":{"a":{"items":{"type":"string","description":"` + strings.Repeat("x", 15<<10) + `"}}}}`
	arguments := `{"a":[` + strings.TrimSuffix(strings.Repeat(`"x",`, 250_000), ",") + `]}`
	began := time.Now()
	if err := Check(Tool{PageTool: protocol.PageTool{InputSchema: json.RawMessage(schema)}}, json.RawMessage(arguments)); err != nil {
		t.Fatal(err)
	}
	// Without a limit of values 250,000 schemas of 15 KB are read: minutes.
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// The list keeps what it can afford, and counts the rest; a document takes its tools with it.
func TestListLimits(t *testing.T) {
	docOf := func(id cdproto.FrameID) int { return map[cdproto.FrameID]int{"": 1, "main": 1, "frame": 2}[id] }
	added := func(l *List, name, frame, schema string) {
		l.Added(fmt.Appendf(nil, `{"tools":[{"name":%q,"frameId":%q,"inputSchema":%s}]}`, name, frame, schema), docOf)
	}
	var l List
	added(&l, "far", "frame", `{}`)
	added(&l, "left", "nowhere", `{}`)
	added(&l, "long", "main", `{"description":"`+strings.Repeat("x", maxSchema)+`"}`)
	added(&l, "deep", "main", strings.Repeat(`{"a":`, maxDepth)+`{}`+strings.Repeat("}", maxDepth))
	added(&l, "quoted", "main", `{"a":"`+strings.Repeat(`{[\"`, 100)+`"}`)
	added(&l, "deep", "main", `{"type":"object"}`) // registered anew
	added(&l, "large", "main", `"`+strings.Repeat("x", maxEvent)+`"`)
	l.Added([]byte("{"), docOf)
	tools, left := l.All()
	said := ""
	for _, tool := range tools {
		said += fmt.Sprintf("%s %d %q %d; ", tool.Name, tool.Doc, tool.SchemaLeftOut, len(tool.InputSchema))
	}
	if want := `far 2 "" 2; long 1 "too long" 0; quoted 1 "" 408; deep 1 "" 17; `; said != want || left != 2 {
		t.Errorf("got %s and %d more\nwant %s", said, left, want)
	}
	for i := range 200 {
		added(&l, fmt.Sprint("t", i), "main", `{}`)
	}
	if tools, left := l.All(); len(tools) != maxTools || left != 2+104 {
		t.Errorf("%d tools, %d more", len(tools), left)
	}
	l.Forget(1)
	if tools, left := l.All(); len(tools) != 1 || left != 0 || l.Names()[0] != "far" {
		t.Errorf("after the document was left: %v, %d more", tools, left)
	}
}
