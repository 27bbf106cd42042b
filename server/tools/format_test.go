package tools

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Format does not say that nothing changed if the action changed the page.
func TestAChangeThatIsNotShownIsNotNothing(t *testing.T) {
	for result, silent := range map[string]bool{
		`{"effect":{"changed":true},"delta":{"text":""}}`: false,
		`{"effect":{"hit":"@e1"},"delta":{"text":""}}`:    true,
		`{"delta":{"text":""}}`:                           true,
	} {
		text := Format(json.RawMessage(result), nil, nil).Content[0].(*mcp.TextContent).Text
		if strings.Contains(text, "nothing changed") != silent || strings.Contains(text, "take a snapshot") == silent {
			t.Errorf("%s is told as %q", result, text)
		}
	}
}

// An effect's line leaves out what the call or the lines below it say.
func TestOfAnEffectOnlyTheNewsIsTold(t *testing.T) {
	const onShop = `"snapshot":{"text":"[snapshot] url=\"http://shop/\" title=\"Shop\""}`
	for _, c := range []struct{ call, result, want string }{
		{`{"ref":"@e2"}`, `{"effect":{"hit":"@e2","changed":true,"focused":"@e2"},"delta":{"text":"~ @e2 [textbox focused value=\"]\"] \"From\""}}`, `~ @e2 [textbox focused value="]"] "From"`},
		{`{"ref":"@e2"}`, `{"effect":{"hit":"@e3","changed":true},"delta":{"text":"+ text \"Done\""}}`, "effect: {\"hit\":\"@e3\"}\n+ text \"Done\""},
		{`{"ref":{"text":"Pay"}}`, `{"effect":{"hit":"@e3","changed":true},"delta":{"text":"+ text \"Done\""}}`, "effect: {\"hit\":\"@e3\"}\n+ text \"Done\""},
		{`{"ref":"@e2"}`, `{"effect":{"hit":"@e2","focused":"@e4"},"delta":{"text":"- @e4 [textbox focused]\n~ @e5 [textbox value=\"focused\"] \"@e4 [focused]\""}}`, "effect: {\"focused\":\"@e4\"}\n- @e4 [textbox focused]\n~ @e5 [textbox value=\"focused\"] \"@e4 [focused]\""},
		{`{"ref":"@e2","snapshot":"none"}`, `{"effect":{"hit":"@e2","changed":true}}`, `effect: {"changed":true}`},
		{`{"ref":"@e2"}`, `{"effect":{"hit":"@e2"},"since":{"changed":true},"delta":{"text":"+ text \"Saved\""}}`, "since: {\"changed\":true}\nnothing changed; this had changed before\n+ text \"Saved\""},
		{`{"url":"http://shop"}`, `{"effect":{"navigated":"http://shop/","changed":true},` + onShop + `}`, "[snapshot] url=\"http://shop/\" title=\"Shop\""},
		{`{"url":"http://shop","snapshot":"none"}`, `{"effect":{"navigated":"http://shop/","changed":true}}`, `effect: {"navigated":"http://shop/","changed":true}`},
		{`{"ref":"@e2"}`, `{"effect":{"hit":"@e2","navigated":"http://shop/","changed":true},` + onShop + `}`, "effect: {\"navigated\":\"http://shop/\"}\n[snapshot] url=\"http://shop/\" title=\"Shop\""},
		{`{"ref":"@e2"}`, `{"effect":{"hit":"@e2","announced":["a<b&c\u007f\u202e"]}}`, `effect: {"announced":["a<b&c\u007f\u202e"]}`},
		{``, `{"effect":{"hit":"@e2","requests_failed":[{"method":"GET","url":"http://shop/","status":500}]},"delta":{"text":""}}`, "effect: {\"hit\":\"@e2\",\"requests_failed\":[{\"method\":\"GET\",\"url\":\"http://shop/\",\"status\":500}]}\nnothing changed"},
	} {
		if got := Format(json.RawMessage(c.result), json.RawMessage(c.call), nil).Content[0].(*mcp.TextContent).Text; got != c.want {
			t.Errorf("%s %s is told as\n%s\nwant\n%s", c.call, c.result, got, c.want)
		}
	}
}

// Content stands alone if there is nothing else to say. truncated is mentioned only if it is true.
func TestOnlyTruncatedContentSaysSo(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":"Tea","truncated":false}`:                     "Tea",
		`{"content":"Tea","truncated":true,"next_offset":3}`:      "next_offset: 3\ntruncated: true|Tea",
		`{"effect":{"hit":"@e1"},"content":"","truncated":false}`: `effect: {"hit":"@e1"}|`,
		`{"truncated":false}`:                                     "done",
	} {
		var parts []string
		for _, part := range Format(json.RawMessage(result), nil, nil).Content {
			parts = append(parts, part.(*mcp.TextContent).Text)
		}
		if got := strings.Join(parts, "|"); got != want {
			t.Errorf("%s is told as %q, want %q", result, got, want)
		}
	}
}

// An answer says which page it is about only as far as the conversation's earlier answers have not, for each
// session.
func TestWhereIsSaidOnce(t *testing.T) {
	page := func(session, tab string, document int, url, shown string) string {
		return `{"session":"` + session + `","page":{"tab":"` + tab + `","document":` + strconv.Itoa(document) + `,"url":"` + url + `","title":"T","status":200,"source":"chromium","ready":"complete"},` + shown + `}`
	}
	snapshot, delta := `"snapshot":{"text":"[snapshot] url=\"u\" title=\"T\"\ntext \"x\""}`, `"delta":{"text":"+ text \"y\""}`
	var told ReportedState
	for i, c := range []struct{ result, want string }{
		{page("a", "t1", 1, "u", snapshot), "session=a tab=t1 status=200 source=chromium\n[snapshot] url=\"u\" title=\"T\"\ntext \"x\""},
		{page("a", "t1", 1, "u", delta), `+ text "y"`},
		{page("a", "t1", 1, "u#2", delta), `url="u#2"` + "\n" + `+ text "y"`},
		{page("a", "t2", 2, "v", delta), `tab=t2 url="v" status=200` + "\n" + `+ text "y"`},
		{page("b", "t1", 1, "u", delta), `session=b tab=t1 url="u" title="T" status=200 source=chromium` + "\n" + `+ text "y"`},
		{page("a", "t2", 2, "v", delta), `session=a` + "\n" + `+ text "y"`},
		{page("a", "t2", 2, "w", `"snapshot":{"text":"[snapshot]"}`), `[snapshot]`},
		{page("a", "t2", 2, "w", delta), `url="w"` + "\n" + `+ text "y"`},
	} {
		if got := Format(json.RawMessage(c.result), nil, &told).Content[0].(*mcp.TextContent).Text; got != c.want {
			t.Errorf("answer %d:\n%s\nwant\n%s", i, got, c.want)
		}
	}
}
