package main

import (
	"encoding/json"
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
