package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
)

// Warming up is a whole capture, and leaves the document unchanged.
func TestWarmUp(t *testing.T) {
	p := launchTestPage(t)
	ctx, cancel := p.limit()
	defer cancel()
	var got evaluated
	outer := func() string {
		var got evaluated
		if err := p.frame.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: "document.documentElement.outerHTML"}).Wait(ctx, &got); err != nil {
			t.Fatal(err)
		}
		return string(got.Result.Value)
	}
	before := outer()
	if err := p.frame.tab.warmUp().Wait(ctx, &got); err != nil || got.ExceptionDetails != nil {
		t.Fatalf("%v, %+v", err, got.ExceptionDetails)
	}
	answer := string(got.Result.Value)
	for _, line := range []string{`\tsearchbox\tSearch\t`, `\tcombobox\t\tselect\t`, `\tcheckbox\tOften\t`, `\theading\tAll of it\t`, `\tclickable\t`} {
		if !strings.Contains(answer, line) {
			t.Errorf("no %s in %s", line, answer)
		}
	}
	if after := outer(); after != before {
		t.Errorf("it leaves %s, there was %s", after, before)
	}
}
