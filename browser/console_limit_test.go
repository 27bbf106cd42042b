package browser

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/cdp"
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

// consoleObjects keeps the first object that a page wrote to its console.
type consoleObjects struct {
	cdp.Transport
	first chan string
}

func (o *consoleObjects) Read(ctx context.Context, m *cdp.Message) error {
	err := o.Transport.Read(ctx, m)
	var e struct {
		Args []struct {
			ObjectID string `json:"objectId"`
		} `json:"args"`
	}
	if m.Method == "Runtime.consoleAPICalled" && json.Unmarshal(m.Params, &e) == nil && len(e.Args) > 0 && e.Args[0].ObjectID != "" {
		select {
		case o.first <- e.Args[0].ObjectID:
		default:
		}
	}
	return err
}

// What a page wrote to its console is not held for browserd: the page could not free it as long as
// its document is there.
func TestConsoleObjectsAreLetGo(t *testing.T) {
	t.Parallel()
	o := &consoleObjects{first: make(chan string, 1)}
	b := stageOver(t, func(transport cdp.Transport) cdp.Transport {
		o.Transport = transport
		return o
	})
	v := newStageIn(t, b).open(t, `<title>Busy</title><script>let i=0;setInterval(()=>console.log({i:i++}),2)</script>`)
	var id string
	select {
	case id = <-o.first:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was written")
	}
	ctx := limit(t, 20*time.Second)
	eventually(t, 20*time.Second, "the first object is let go", func() bool {
		err := v.c.selected.cdp.Call(ctx, "Runtime.getProperties", map[string]any{"objectId": id}, nil)
		return err != nil && strings.Contains(err.Error(), "Could not find object")
	})
}
