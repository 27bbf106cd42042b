package snapshottext_test

import (
	"testing"

	"github.com/browserd/browserd/internal/snapshottext"
	"github.com/browserd/browserd/snapshot"
)

func TestParseRefusesWhatNoSnapshotHas(t *testing.T) {
	const header = "[snapshot]\n"
	for _, text := range []string{
		"[delta] added=0 changed=0 removed=0",
		"@e1 [button]",
		"+ @e1 [button]",
		"[more] 3 nodes not shown; raise max_chars",
		header + "@e1 [button]\n",
		header + "@e1 [button]\n@e1 [button]",
		header + "+ @e1 [button]",
		header + "@e1 [button]\n[more] 0 nodes not shown; raise max_chars",
		header + "@e1 [button]\n[more] 3 changes outside of what was shown; take a snapshot",
	} {
		if p, err := snapshottext.Parse(text, snapshot.Quote); err == nil {
			t.Errorf("%q is parsed as %+v", text, p)
		}
	}
}
