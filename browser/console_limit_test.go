package browser

import (
	"slices"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// A line that is too large for the console leaves a line that says so.
func TestALineThatIsTooLarge(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, `<title>Large</title>`)
	p.ask(`(() => { console.log("before"); console.log("x".repeat(17<<20)); console.log("behind"); return "" })()`)
	eventually(t, 20*time.Second, "the line behind it", func() bool {
		said, _ := p.c.Console(protocol.Watching{})
		var texts []string
		for _, l := range said {
			texts = append(texts, l.Kind+": "+l.Text)
		}
		return slices.Equal(texts, []string{"log: before", "warning: browserd: what the page wrote is left out: it has more than 16 MiB", "log: behind"})
	})
}
