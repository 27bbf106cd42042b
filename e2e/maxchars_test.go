package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// hostile is a page with too much of everything: names, text, values, links,
// depth, a title and an address without an end, and characters of four bytes.
func hostile() string {
	long := strings.Repeat("𝒜\"\\\u202e\n金 ", 1000)
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><meta charset=utf-8><title>" + long + "</title><h1 id=top data-much=\"" + strings.ReplaceAll(long, `"`, "&quot;") + "\">" + long + "</h1>")
	b.WriteString("<script>document.modelContext.registerTool({name: 'much', description: 'd', execute: () => '𝒜 wordy'.repeat(1200)});" +
		"document.modelContext.registerTool({name: 'little', description: 'd', execute: () => 7})</script>")
	b.WriteString("<textarea id=area aria-label=Area>" + long + "</textarea><a href=/file download=file.txt>Get it</a><a href=/bytes download=bytes.bin>Get bytes</a>")
	for i := range 60 {
		fmt.Fprintf(&b, "<article><h2>%d %s</h2><button>Buy %d</button><p>%s<table><tr><td>%s</table></article>", i, long[:70], i, long[:140], long[:70])
	}
	b.WriteString(strings.Repeat("<div>", 400) + "deep")
	return b.String()
}

// greedy are the commands that take max_chars, with what makes them say much;
// a null ref is the page's first heading, or its textarea.
var greedy = map[string][]string{
	"read": {`{}`, `{"kind":"markdown"}`, `{"kind":"html"}`, `{"kind":"article"}`, `{"ref":"HEADING"}`, `{"ref":"HEADING","kind":"html"}`,
		`{"ref":"HEADING","kind":"markdown"}`, `{"ref":"HEADING","kind":"attrs"}`, `{"ref":"HEADING","attr":"data-much"}`, `{"ref":"AREA","kind":"value"}`, `{"offset":7}`},
	"snapshot": {`{}`, `{"interactive_only":false,"max_nodes":5000,"max_depth":500,"max_text":50000}`, `{"format":"json"}`, `{"scope":"HEADING","max_text":100000}`,
		`{"delta":true}`, `{"scope":"article:nth-of-type(9)"}`},
	"web_fetch": {`{"url":"PAGE"}`, `{"url":"PAGE","format":"markdown"}`, `{"url":"PAGE","format":"html"}`, `{"url":"PAGE","format":"json"}`, `{"url":"PAGE","format":"raw","offset":3}`,
		`{"url":"FILE"}`, `{"url":"BYTES"}`, `{"url":"PAGE","extract":"the price"}`},
	"http_request": {`{"url":"PAGE"}`, `{"url":"FILE"}`, `{"url":"BYTES"}`, `{"url":"PAGE","extract":"the price"}`},
	"eval":         {`{"expression":"document.title"}`, `{"expression":"[1,2,3]"}`},
	"run":          {`{"code":"return '𝒜 wordy'.repeat(1200)","snapshot":"none"}`, `{"code":"return 7","snapshot":"none"}`},
	"page_tool":    {`{"name":"much","snapshot":"none"}`, `{"name":"little","snapshot":"none"}`},
	"network":      {`{"id":ENTRY,"body":true}`, `{"format":"har","body":true}`},
	"recordings":   {`{"name":"long-chromium-1.zip"}`, `{"name":"long-chromium-1.zip","offset":5}`},
	"downloads":    {`{"name":"file.txt"}`, `{"name":"bytes.bin"}`, `{"name":"file.txt","offset":11}`},
}

// bounded are the members of a result that max_chars is about, wherever they are.
func bounded(v any, under string, found func(name, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			text, ok := inner.(string)
			if ok && (k == "content" || k == "body" || k == "response_body" || k == "request_body" || k == "text" && (under == "snapshot" || under == "delta" || under == "content" || under == "postData")) {
				found(under+"."+k, text)
			}
			bounded(inner, k, found)
		}
	case []any:
		for _, inner := range v {
			bounded(inner, under, found)
		}
	}
}

// others are the characters of a result that max_chars is not about.
func others(v any) int {
	total := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			total += utf8.RuneCountInString(v)
		case map[string]any:
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(v)
	bounded(v, "", func(_, text string) { total -= utf8.RuneCountInString(text) })
	return total
}

// networkID is the id of the request whose address holds part.
func networkID(t *testing.T, a *agent, part string) int {
	t.Helper()
	var got struct{ Entries []struct{ ID int } }
	if err := a.c.Call(t.Context(), "network", params{"filter": part}, &got); err != nil || len(got.Entries) != 1 {
		t.Fatalf("requests with %s: %v, %v", part, got, err)
	}
	id := got.Entries[0].ID
	got.Entries = nil
	if err := a.c.Call(t.Context(), "network", params{"filter": "browserd.invalid"}, &got); err != nil || len(got.Entries) != 0 {
		t.Errorf("the daemon's own request is among the page's: %v, %v", got, err)
	}
	return id
}

// Nothing that a command returns is longer than its max_chars, whatever the page
// holds and whoever serves it, Chromium or a static document.
func TestNothingExceedsMaxChars(t *testing.T) {
	t.Parallel()
	page, file := hostile(), strings.Repeat("𝒜 line of a file\r\n", 20000)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			io.WriteString(w, file)
		case "/bytes":
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write(append(make([]byte, 30000), 0xff, 0xfe, 0x80))
		case "/v1/chat/completions":
			json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"content": strings.Repeat("𝒜 wordy answer ", 3000)}}}})
		default:
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, page)
		}
	}))
	t.Cleanup(site.Close)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_EXTRACT__BASE_URL": site.URL + "/v1", "BROWSERD_EXTRACT__MODEL": "wordy",
	}})
	var help struct {
		Commands []struct {
			Command    string
			Parameters []struct{ Name string }
		}
	}
	first := newAgent(t, d)
	if err := first.c.Call(t.Context(), "help", params{}, &help); err != nil {
		t.Fatal(err)
	}
	for _, c := range help.Commands {
		one := help
		if err := first.c.Call(t.Context(), "help", params{"command": c.Command}, &one); err != nil {
			t.Fatal(err)
		}
		for _, p := range one.Commands[0].Parameters {
			if p.Name == "max_chars" && greedy[c.Command] == nil {
				t.Errorf("%s takes max_chars, and this test does not know how to ask it for much", c.Command)
			}
		}
	}
	commands := make([]string, 0, len(greedy))
	for name := range greedy {
		commands = append(commands, name)
	}
	slices.Sort(commands)
	for _, source := range []string{"chromium", "http"} {
		t.Run(source, func(t *testing.T) {
			a := newAgent(t, d)
			a.do("session_open", params{"source": source, "name": "long-" + source, "trace": true})
			a.open(site.URL + "/?" + strings.Repeat("q=%F0%9D%92%9C&", 200))
			a.do("trace", params{"action": "stop"})
			live := a.do("snapshot", params{"max_text": 5}).Page.Source == "chromium"
			shown := view{*a.do("snapshot", params{"format": "json", "max_text": 20}).Snapshot}
			entry := 1
			if live {
				entry = networkID(t, a, "q=")
			}
			words := strings.NewReplacer("ENTRY", fmt.Sprint(entry), "PAGE", site.URL+"/", "FILE", site.URL+"/file", "BYTES", site.URL+"/bytes",
				"HEADING", shown.all("heading", "")[0], "AREA", shown.all("textbox", "")[0])
			if live {
				for _, name := range []string{"Get it", "Get bytes"} {
					a.do("click", click(shown.ref(t, "link", name), nil))
				}
				a.do("downloads", params{"wait": true})
			}
			asked := commands
			if !live {
				asked = []string{"read", "snapshot"} // the others ask no static document
			}
			rapid.Check(t, func(t *rapid.T) {
				max := rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(20, 500), rapid.IntRange(500, 30000)).Draw(t, "max_chars")
				command := rapid.SampledFrom(asked).Draw(t, "command")
				p := params{}
				if err := json.Unmarshal([]byte(words.Replace(rapid.SampledFrom(greedy[command]).Draw(t, "params"))), &p); err != nil {
					t.Fatal(err)
				}
				p["max_chars"] = max
				var got any
				err := a.c.Call(a.t.Context(), command, p, &got)
				switch code := protocol.CodeOf(err); {
				case err == nil, code == protocol.TooLarge, code == protocol.InvalidParams:
				case code == protocol.Unsupported && !live:
				default:
					t.Fatalf("%s %v: %v", command, p, err)
				}
				seen := 0
				bounded(got, "", func(name, text string) {
					seen++
					if n := utf8.RuneCountInString(text); n > max {
						t.Fatalf("%s %v: %s has %d characters: %.200q", command, p, name, n, text)
					}
				})
				if (command == "run" || command == "page_tool") && err == nil {
					if text, ok := got.(map[string]any)["value"].(string); ok && utf8.RuneCountInString(text) > max {
						t.Fatalf("%s %v: the value has %d characters", command, p, utf8.RuneCountInString(text))
					}
				}
				if n := others(got); n > 30000 && p["format"] != "json" && p["format"] != "har" {
					t.Fatalf("%s %v: %d characters beside those of max_chars: %.300v", command, p, n, got)
				}
				if err == nil && seen == 0 && command != "eval" && command != "run" && command != "page_tool" && live {
					t.Fatalf("%s %v: nothing was looked at: %.300v", command, p, got)
				}
			})
		})
	}
}
