package demoapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/demoapp"
)

// The transcript itself is played against the daemon in e2e and compared with
// docs/transcript.md; here is what it does when the daemon does not help.
func TestTranscriptStopsWhereItCannotGoOn(t *testing.T) {
	const opened = `{"snapshot":{"text":"[snapshot] url=\"http://127.0.0.1:4711/\"\n@e1 [link href=\"/items\"] \"Items\"",
		"nodes":[{"ref":"@e1","role":"link","name":"Items"}]}}`
	tests := []struct {
		name     string
		answers  map[string]string // by method; one that is missing is refused
		out, err string
	}{
		{
			"refused at once", nil,
			"→ open {\"url\":\"http://demo/\"}\n",
			`open {"url":"http://127.0.0.1:4711/"}: refused`,
		},
		{
			"no such element",
			map[string]string{"open": opened, "snapshot": `{"snapshot":{"text":"nothing","nodes":[]}}`},
			"→ open {\"url\":\"http://demo/\"}\n  [snapshot] url=\"http://demo/\"\n  @e1 [link href=\"/items\"] \"Items\"\n\n",
			"click: no link \"Items\" in the snapshot:\nnothing",
		},
		{
			"refused later",
			map[string]string{"open": `{}`, "snapshot": opened},
			"→ open {\"url\":\"http://demo/\"}\n\n→ click {\"ref\":\"@e1\"}\n",
			`click {"ref":"@e1"}: refused`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call := func(_ context.Context, method string, _ any) (json.RawMessage, error) {
				if a, ok := tt.answers[method]; ok {
					return json.RawMessage(a), nil
				}
				return nil, fmt.Errorf("refused")
			}
			var out strings.Builder
			err := demoapp.Transcript(t.Context(), call, "http://127.0.0.1:4711/", &out)
			if err == nil || err.Error() != tt.err {
				t.Errorf("err = %v\nwant  %s", err, tt.err)
			}
			if out.String() != tt.out {
				t.Errorf("out = %q\nwant  %q", out.String(), tt.out)
			}
		})
	}
}
