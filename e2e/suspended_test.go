//go:build linux

package e2e_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// stop is SIGSTOP to all of them; the func it returns is SIGCONT.
func stop(t *testing.T, ps []testdaemon.Process) (goOn func()) {
	t.Helper()
	if len(ps) == 0 {
		t.Fatal("there is no process to stop")
	}
	signal := func(s syscall.Signal) {
		for _, p := range ps {
			if p.Alive() {
				syscall.Kill(p.PID, s)
			}
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	return func() { signal(syscall.SIGCONT) }
}

// answerIn is browser.answer_timeout for a test that waits for it.
func answerIn(limit string) testdaemon.Options {
	return testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__ANSWER_TIMEOUT": limit}}
}

// A browser that is stopped answers nothing: commands end in their time, and
// when the daemon has waited long enough another one takes its place, with the
// URL. That the old one is told to go on then does no harm: it is gone.
func TestStoppedChromium(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, answerIn("3s"))
	r, _ := faultPage(t, d)
	note := r.snapshot().ref(t, "textbox", "Note")
	second := newAgent(t, d)
	second.open(r.w.URL + "/next")
	old := testdaemon.Descendants(d.PID)
	goOn := stop(t, d.Chromium("browser"))
	began := time.Now()
	r.inTime("snapshot", params{"timeout_ms": 500})
	// More than the pipe to Chromium holds.
	r.inTime("type", params{"ref": note, "text": strings.Repeat("gold ", 60_000), "timeout_ms": 500})
	r.atOnce()
	waiting, err := second.c.Send("snapshot", params{"timeout_ms": 20000})
	if err != nil {
		t.Fatal(err)
	}
	lost := r.told(protocol.EventBrowserLost, 10*time.Second)
	t.Logf("noticed after %v", time.Since(began).Round(time.Millisecond))
	if restored, _ := lost.Fields["restored"].(map[string]any); restored["url"] != r.w.URL+"/faults" {
		t.Errorf("event: %v", lost.Fields)
	}
	if err := waiting.Wait(t.Context(), nil); protocol.CodeOf(err) != protocol.BrowserLost || !strings.Contains(err.Error(), "has not answered for 3s") {
		t.Errorf("the command that waited: %v, want browser_lost and why", err)
	}
	goOn()
	if left := testdaemon.AwaitGone(old, 3*time.Second); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	began = time.Now()
	r.refused("snapshot", params{"timeout_ms": 10000}, protocol.BrowserLost) // said once
	if got := r.do("snapshot", nil); got.Page.URL != r.w.URL+"/faults" {
		t.Errorf("restored: %+v", got.Page)
	}
	if got := second.do("snapshot", nil); got.Page.URL != r.w.URL+"/next" {
		t.Errorf("the other session was restored to %+v", got.Page)
	}
	t.Logf("recovered in %v", time.Since(began).Round(time.Millisecond))
	r.works()
}

// A browser that is stopped for a while and goes on is the same browser, with
// all that its pages hold. The same holds for a daemon that was stopped.
func TestStoppedForAWhile(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, answerIn("2s"))
	r, _ := faultPage(t, d)
	r.do("type", params{"ref": r.snapshot().ref(t, "textbox", "Note"), "text": "kept"})
	goOn := stop(t, d.Chromium("browser"))
	held, err := r.c.Send("snapshot", params{"timeout_ms": 20000})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // what is tested is that it may last
	goOn()
	if err := held.Wait(t.Context(), nil); err != nil {
		t.Errorf("the command that was held up: %v", err)
	}

	goOn = stop(t, []testdaemon.Process{{PID: d.PID, Start: d.Started()}})
	time.Sleep(4 * time.Second) // longer than a browser would be waited for
	goOn()
	if v := r.snapshot(); !strings.Contains(v.Text, `value="kept"`) {
		t.Errorf("what was typed is gone:\n%s", v.Text)
	}
	if launches := strings.Count(d.Log(), "Chromium runs"); launches != 1 {
		t.Errorf("Chromium was started %d times", launches)
	}
}

// rendererOf is the process of r's page: the one that works when its script does.
// Others are for pages that nobody has yet.
func rendererOf(r rowTest, d *testdaemon.Daemon) []testdaemon.Process {
	r.t.Helper()
	all := d.Chromium("renderer")
	before := make([]time.Duration, len(all))
	for i, p := range all {
		before[i] = p.CPU()
	}
	r.do("eval", params{"expression": "for (const end = Date.now() + 500; Date.now() < end;); 0"})
	most := 0
	for i, p := range all {
		if p.CPU()-before[i] > all[most].CPU()-before[most] {
			most = i
		}
	}
	return all[most : most+1]
}

// A renderer that is stopped costs its own page: the command its time, and the
// next one says that the page was replaced. Pages of other sites go on.
func TestStoppedRenderer(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	r, _ := faultPage(t, d)
	other := newAgent(t, d)
	other.open(r.w.alt() + "/next")
	mine := rendererOf(r, d)
	goOn := stop(t, mine)
	r.inTime("snapshot", params{"timeout_ms": 500})
	other.snapshot()
	began := time.Now()
	_, err := r.try("snapshot", params{"timeout_ms": 10000})
	if protocol.CodeOf(err) != protocol.PageCrashed {
		t.Errorf("the next command: %v, want page_crashed", err)
	}
	t.Logf("replaced after %v", time.Since(began).Round(time.Millisecond))
	r.told(protocol.EventPageCrashed, time.Second)
	if left := testdaemon.AwaitGone(mine, 5*time.Second); len(left) > 0 {
		t.Errorf("left over, stopped: %v", left)
	}
	goOn()
	r.works()
}

// Chromium's network service is a process of its own, and Chromium waits for it
// without end. Commands answer in their time, and the browser is replaced.
func TestStoppedNetworkService(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, answerIn("2s"))
	r, _ := faultPage(t, d)
	service := slices.DeleteFunc(d.Chromium("utility"), func(p testdaemon.Process) bool {
		return !slices.Contains(p.Args(), "--utility-sub-type=network.mojom.NetworkService")
	})
	began := time.Now()
	stop(t, service)
	r.inTime("open", params{"url": r.w.URL + "/next", "timeout_ms": 500})
	r.atOnce()
	r.told(protocol.EventBrowserLost, 10*time.Second)
	t.Logf("noticed after %v", time.Since(began).Round(time.Millisecond))
	if left := testdaemon.AwaitGone(service, 3*time.Second); len(left) > 0 {
		t.Errorf("left over, stopped: %v", left)
	}
	r.works()
}

// Without its GPU process Chromium draws nothing: a picture costs its command
// its time, and everything goes on when the process does.
func TestStoppedGPU(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	r, _ := faultPage(t, d)
	goOn := stop(t, d.Chromium("gpu-process"))
	r.inTime("screenshot", params{"timeout_ms": 1000})
	r.inTime("snapshot", params{"timeout_ms": 1000})
	r.inTime("click", params{"ref": "@e1", "timeout_ms": 1000})
	r.atOnce()
	goOn()
	r.try("snapshot", nil) // it may say that the page was replaced
	r.works()
	r.do("screenshot", params{"timeout_ms": 10000})
}
