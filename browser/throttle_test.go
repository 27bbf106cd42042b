package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/throttle"
	"github.com/browserd/browserd/protocol"
)

// Console events of a page that sends too many are dropped for a while, and its console says so
// once. Those of the next document are reported at once.
func TestTooManyConsoleEventsAreThrottled(t *testing.T) {
	most, pause := throttle.MaxEvents["Runtime"], throttle.FirstPause
	throttle.MaxEvents["Runtime"] = 300 // reached also where other work leaves the page little time
	throttle.FirstPause = time.Minute   // the next document does not wait for its end
	t.Cleanup(func() { throttle.MaxEvents["Runtime"], throttle.FirstPause = most, pause })
	p := openTestPage(t, `<h1>Flood</h1>`)
	p.ask(`(() => { setInterval(() => { for (let i = 0; i < 500; i++) console.log("flood", i) }, 0); return "" })()`)
	eventually(t, 20*time.Second, "the throttling", func() bool {
		said, _ := p.c.Console(protocol.Watching{Kind: "warning", Filter: "floods the console"})
		return len(said) > 0
	})
	p.load(`<h1>Next</h1><script>console.log("heard")</script>`)
	if got := p.ask(`document.querySelector("h1").textContent`); got != "Next" {
		t.Errorf("the next document says %q", got)
	}
	eventually(t, 5*time.Second, "what the next document says", func() bool {
		said, _ := p.c.Console(protocol.Watching{Filter: "heard"})
		return len(said) > 0
	})
	if all, _ := p.c.Console(protocol.Watching{}); len(all) > 0 && !strings.Contains(all[len(all)-1].Text, "heard") {
		t.Errorf("the last of %d entries is %q", len(all), all[len(all)-1].Text)
	}
}

// So is one that says little at a time and much of it: the pipe is full of it, however few its lines are.
func TestLongConsoleLinesAreThrottled(t *testing.T) {
	p := openTestPage(t, `<h1>Flood</h1>`)
	p.ask(`(() => { setInterval(() => { for (let i = 0; i < 5; i++) console.log("x".repeat(900000)) }, 100); return "" })()`)
	eventually(t, time.Minute, "the throttling", func() bool {
		said, _ := p.c.Console(protocol.Watching{Kind: "warning", Filter: "floods the console"})
		return len(said) > 0
	})
}

// One line of any length is heard.
func TestOneLongLineIsHeard(t *testing.T) {
	p := openTestPage(t, `<h1>Long</h1>`)
	p.ask(`(() => { console.log("long " + "x".repeat(5 << 20)); console.log("behind it"); return "" })()`)
	eventually(t, 20*time.Second, "the line", func() bool {
		said, _ := p.c.Console(protocol.Watching{Filter: "long x"})
		return len(said) == 1
	})
}
