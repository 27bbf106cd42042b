package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A batch gets the first piece of a large profile. It is not saved as if it were the whole, and what the
// other commands answered is shown all the same.
func TestABatchSavesNoPieceOfAProfile(t *testing.T) {
	t.Chdir(t.TempDir())
	sent := map[string]any{"commands": []any{
		map[string]any{"method": "profile_export", "params": map[string]any{"name": "large"}},
		map[string]any{"method": "profile_export", "params": map[string]any{"name": "small"}},
		map[string]any{"method": "eval"},
	}}
	var shown strings.Builder
	err := showBatch(&shown, json.RawMessage(`{"results":[
		{"result":{"name":"large","content":"AAAA","size":7000000,"next_offset":3,"export":"x"}},
		{"result":{"name":"small","content":"AAAA","size":3}},
		{"result":{"value":7}}]}`), sent, nil)
	if err == nil || !strings.Contains(err.Error(), "1 profile_export: nothing is saved") || !strings.Contains(err.Error(), nextMark+"browserd profile_export") {
		t.Errorf("the error is %v", err)
	}
	if diff := cmp.Diff("1 profile_export\n2 profile_export\n  small-1.profile\n3 eval\n  value: 7\n", shown.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	files, _ := os.ReadDir(".")
	if len(files) != 1 || files[0].Name() != "small-1.profile" {
		t.Errorf("the files are %v, want small-1.profile alone", files)
	}
}

// full is written to until it has had that many lines.
type full int

var errFull = errors.New("the disk is full")

func (f *full) Write(p []byte) (int, error) {
	if *f--; *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// What was not saved is said, also if a later command's answer cannot be shown.
func TestABatchThatIsNotShownSaysWhatItDidNotSave(t *testing.T) {
	t.Chdir(t.TempDir())
	const large = `{"result":{"name":"large","content":"AAAA","size":7000000,"next_offset":3,"export":"x"}}`
	for what, c := range map[string]struct {
		to     full
		method string
		result string
	}{
		"an answer that cannot be written": {1, "eval", `{"value":7}`},
		"an answer that cannot be shown":   {2, "profile_export", `{"name":"small","content":7}`},
	} {
		sent := map[string]any{"commands": []any{map[string]any{"method": "profile_export", "params": map[string]any{"name": "large"}}, map[string]any{"method": c.method}}}
		err := showBatch(&c.to, json.RawMessage(`{"results":[`+large+`,{"result":`+c.result+`}]}`), sent, nil)
		if err == nil || !strings.Contains(err.Error(), "1 profile_export: nothing is saved") || errors.Is(err, errFull) != (c.to < 0) {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
}
