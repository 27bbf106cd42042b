package command_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
)

// timeout_secs is not cut short by the default of timeout_ms.
func TestHTTPRequestWaitsAsLongAsItIsTold(t *testing.T) {
	for secs, want := range map[int]time.Duration{1: 30 * time.Second, 60: 61 * time.Second, 120: 120 * time.Second} {
		raw, _ := json.Marshal(map[string]any{"url": "http://api.example.com/", "timeout_secs": secs})
		job, err := (&command.Runtime{Commands: actions.All}).Prepare(&command.Caller{}, nil, "http_request", raw)
		if err != nil || command.Timeout(job) != want {
			t.Errorf("%d s: %v, %v", secs, command.Timeout(job), err)
		}
		job.Drop()
	}
}
