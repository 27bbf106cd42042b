package snapshottext_test

import (
	"testing"

	"github.com/browserd/browserd/internal/snapshottext"
	"github.com/browserd/browserd/snapshot"
)

func TestParseRefusesWhatNoDeltaHas(t *testing.T) {
	for _, text := range []string{
		"[delta] added=0 changed=0 removed=0",
		"+",
		"+@e1 [button]",
		"@e1 [button]",
		"~ text \"x\"",
		"+ @e1 [button]\n",
		"+ @e1 [button]\n@e2 [button]",
		"+ @e1 [button]\n- @e1 [button]",
		"+ @e1 [button]\n[more] 0 changes not shown; take a snapshot",
		"+ @e1 [button]\n[more] 3 nodes not shown; continue with after=@e1",
		"[more] 3 nodes not shown; raise max_chars",
		"[more] 3 changes not shown; take a snapshot\n+ @e1 [button]",
		"[snapshot] nodes=1 emitted=1 truncated=false\n+ @e1 [button]",
		"[snapshot] nodes=1 emitted=0 truncated=true reasons=max_chars\n[more] 3 changes not shown; take a snapshot",
	} {
		if p, err := snapshottext.Parse(text, snapshot.Quote); err == nil {
			t.Errorf("%q is parsed as %+v", text, p)
		}
	}
}
