package command_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

func TestDecodeParams(t *testing.T) {
	tests := []struct {
		command, params string
		want            any
		wrong           string // the whole sentence, where the parameters are refused
	}{
		{"click", `{"ref":"@e5"}`, &actions.ClickParams{Ref: "@e5", Button: "left", Count: 1, Shows: command.Shows{"delta"}}, ""},
		{"click", `{"ref":"e5","button":"right","count":2,"modifiers":["Shift"],"snapshot":"none"}`,
			&actions.ClickParams{Ref: "e5", Button: "right", Count: 2, Modifiers: []string{"Shift"}, Shows: command.Shows{"none"}}, ""},
		{"click", `{}`, nil, `click needs the parameter "ref": the element`},
		{"click", ``, nil, `click needs the parameter "ref": the element`},
		{"click", `{"ref":null}`, nil, `click needs the parameter "ref": the element`},
		{"click", `{"ref":7}`, nil, `ref: accepts a ref or a locator, not 7`},
		{"click", `{"ref":"@e1","count":4}`, nil, `count: accepts a whole number from 1 to 3, not 4`},
		{"click", `{"ref":"@e1","count":1.5}`, nil, `count: accepts a whole number from 1 to 3, not 1.5`},
		{"click", `{"ref":"@e5","count":2.0}`, &actions.ClickParams{Ref: "@e5", Button: "left", Count: 2, Shows: command.Shows{"delta"}}, ""},
		{"click", `{"ref":"@e5","count":20e-1}`, &actions.ClickParams{Ref: "@e5", Button: "left", Count: 2, Shows: command.Shows{"delta"}}, ""},
		{"click", `{"ref":"@e1","count":4.0}`, nil, `count: accepts a whole number from 1 to 3, not 4`},
		{"click", `{"ref":"@e1","count":"2.0"}`, nil, `count: accepts a whole number from 1 to 3, not "2.0"`},
		{"click", `{"ref":"@e1","count":1e400}`, nil, `count: accepts a whole number from 1 to 3, not 1e400`},
		{"emulate", `{"viewport":{"width":800.0,"height":6e2}}`, &actions.EmulateParams{Viewport: &session.Viewport{Width: 800, Height: 600}}, ""},
		{"emulate", `{"viewport":{"width":800.5,"height":600}}`, nil, `viewport.width: accepts a whole number, not 800.5`},
		{"http_request", `{"url":"http://a.test/","body":{"n":1.0},"timeout_secs":9.0}`,
			&actions.HTTPRequestParams{URL: "http://a.test/", Method: "GET", Body: json.RawMessage(`{"n":1.0}`), TimeoutSecs: 9, MaxChars: 1000000}, ""},
		{"click", `{"ref":"@e1","button":"first"}`, nil, `button: accepts one of left, middle, right, not "first"`},
		{"click", `{"ref":"@e1","modifiers":["Hyper"]}`, nil, `modifiers: accepts one of Alt, Control, Meta, Shift, not ["Hyper"]`},
		{"click", `{"ref":"@e1","bogus":1}`, nil, `click has no parameter "bogus"`},
		{"click", `{"reff":"@e1"}`, nil, `click has no parameter "reff"`},
		{"click", `{"ref":"@e1","ref":"@e2"}`, nil, `ref: is there twice`},
		{"click", `{"ref":"@e1","r\u0065f":"@e1"}`, nil, `ref: is there twice`},
		{"click", `{"ref":"@e1","timeout_ms":1,"timeout_ms":2}`, nil, `timeout_ms: is there twice`},
		{"click", `{"ref":"@e1","bogus":1,"bogus":1}`, nil, `bogus: is there twice`},
		{"click", `{"ref":"@e1"} {}`, nil, `params: there is more behind the object`},
		{"fill", `{"fields":[{"ref":"@e1","value":1},{"ref":"@e2","value":1,"ref":"@e3"}]}`, nil, `fields[1].ref: is there twice`},
		{"fill", `{"fields":[{"ref":"@e1","value":1,"Ref":"@e2"}]}`, nil, `fields[0].ref: is there twice`},
		{"emulate", `{"headers":{"X-A":"1","X-A":"2"}}`, nil, `headers.X-A: is there twice`},
		{"batch", `{"commands":[{"method":"ping","method":"session_close"}]}`, nil, `commands[0].method: is there twice`},
		{"http_request", `{"url":"http://a.test/","body":{"n":1,"n":2}}`,
			&actions.HTTPRequestParams{URL: "http://a.test/", Method: "GET", Body: json.RawMessage(`{"n":1,"n":2}`), TimeoutSecs: 30, MaxChars: 1000000}, ""},
		{"click", `[1]`, nil, `params: accepts an object, not [1]`},
		{"eval", "{\"expression\":\"'\xff'\"}", nil, `params: is not UTF-8`},
		{"click", `{"ref":"@e1","timeout_ms":120001}`, nil, `timeout_ms: accepts a whole number from 1 to 120000, not 120001`},
		{"select", `{"ref":"@e1","values":"Green","snapshot":"full"}`, &actions.SelectParams{Ref: "@e1", Values: []string{"Green"}, Shows: command.Shows{"full"}}, ""},
		{"select", `{"ref":"@e1","values":[1]}`, nil, `values: accepts a list of strings, not [1]`},
		{"select", `{"ref":"@e1","values":["Green",null]}`, nil, `values: accepts a list of strings, not ["Green",null]`},
		{"select", `{"ref":"@e1","values":["null"]}`, &actions.SelectParams{Ref: "@e1", Values: []string{"null"}, Shows: command.Shows{"delta"}}, ""},
		{"pdf", `{"options":7}`, nil, `options: accepts an object, not 7`},
		{"pdf", `{"options":{"foo":1}}`, nil, `options: has no field "foo"`},
		{"pdf", `{"options":{"scale":"big"}}`, nil, `options.scale: accepts a number, not "big"`},
		{"fill", `{"fields":{}}`, nil, `fields: accepts a list of objects, not {}`},
		{"fill", `{"fields":[{"ref":"@e1","value":1},7]}`, nil, `fields[1]: accepts an object, not 7`},
		{"fill", `{"fields":[{"ref":"@e1","value":1},{"ref":"@e2","valeu":1}]}`, nil, `fields[1]: has no field "valeu"`},
		{"fill", `{"fields":[{"Ref":7,"value":1}]}`, nil, `fields[0].ref: accepts a ref or a locator, not 7`},
		{"upload", `{"ref":"@e1","files":["a",7]}`, nil, `files[1]: accepts a path or {name, base64}, not 7`},
		{"upload", `{"ref":"@e1","files":["a",{"base64":"aGk="}]}`, nil, `files[1]: a file needs a name`},
		{"upload", `{"ref":"@e1","files":[{"name":"a"}]}`, nil, `files[0]: a file needs its contents in base64; an empty one has ""`},
		{"upload", `{"ref":"@e1","files":[{"name":"a","base64":null}]}`, nil, `files[0]: a file needs its contents in base64; an empty one has ""`},
		{"upload", `{"ref":"@e1","files":[{"name":"a","base64":"*"}]}`, nil, `files[0].base64: accepts base64, not "*"`},
		{"upload", `{"ref":"@e1","files":[{"name":"a","base64":"aGk=","foo":1}]}`, nil, `files[0]: has no field "foo"`},
		{"batch", `{"commands":[{"method":"ping"},{"method":7}]}`, nil, `commands[1].method: accepts a string, not 7`},
		{"batch", `{"commands":[{"method":"ping","prams":{}}]}`, nil, `commands[0]: has no field "prams"`},
		{"scroll", `{"to":"top"}`, &actions.ScrollParams{To: "top", Shows: command.Shows{"delta"}}, ""},
		{"ping", `null`, &actions.PingParams{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.command+tt.params, func(t *testing.T) {
			cmd, _ := actions.All.Lookup(tt.command)
			var common command.Common
			got, err := cmd.Decode(json.RawMessage(tt.params), &common)
			if tt.wrong != "" {
				var e *protocol.Error
				if !errors.As(err, &e) || e.Code != protocol.InvalidParams || e.Message != tt.wrong {
					t.Fatalf("got %v, want invalid_params: %s", err, tt.wrong)
				}
				if e.Details["parameter"] == nil {
					t.Fatalf("the error names no parameter: %v", e.Details)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Fatalf("got before want:\n%s", diff)
			}
			if common.TimeoutMS != 30000 {
				t.Fatalf("timeout_ms is %d without one", common.TimeoutMS)
			}
		})
	}
}

// A parameter that is misspelt is named first, with those that it may have been meant for: what it leaves
// missing is no help.
func TestMisspeltParameters(t *testing.T) {
	for _, tt := range []struct{ command, params, wrong, next string }{
		{"click", `{"reff":"@e1"}`, `click has no parameter "reff"`, "call it ref"},
		{"click", `{"ref":"@e1","reff":"@e2"}`, `click has no parameter "reff"`, ""},
		{"open", `{"link":"http://a.test/","uri":1}`, `open has no parameter "link"`, ""},
		{"open", `{"uri":"http://a.test/"}`, `open has no parameter "uri"`, "call it url"},
	} {
		cmd, _ := actions.All.Lookup(tt.command)
		_, err := cmd.Decode(json.RawMessage(tt.params), new(command.Common))
		var e *protocol.Error
		if !errors.As(err, &e) || e.Message != tt.wrong || e.Next != tt.next {
			t.Errorf("%s %s: %v, next %q; want %s, next %q", tt.command, tt.params, err, e.Next, tt.wrong, tt.next)
		}
	}
}

func FuzzDecodeParams(f *testing.F) {
	f.Add("click", `{"ref":"@e5"}`)
	f.Add("upload", `{"ref":"@e5","files":[{"name":"a","base64":"aGk="},"x/../y"]}`)
	f.Add("batch", `{"commands":[{"method":"ping"}]}`)
	f.Add("snapshot", `{"attrs":["href"],"max_chars":10}`)
	f.Fuzz(func(t *testing.T, method, params string) {
		cmd, ok := actions.All.Lookup(method)
		if !ok {
			return
		}
		var common command.Common
		if _, err := cmd.Decode(json.RawMessage(params), &common); err != nil && protocol.CodeOf(err) != protocol.InvalidParams {
			t.Fatalf("%s %q: %v", method, params, err)
		}
	})
}
