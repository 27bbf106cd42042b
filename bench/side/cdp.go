package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// bare is a Chromium that is spoken to without a tool: the DevTools protocol
// over a pipe, one page, nothing else. What it needs for a command's calls is the
// baseline of that command.
type bare struct {
	cmd     *exec.Cmd
	home    string
	in, out *os.File
	session string

	mu      sync.Mutex
	next    int
	waiting map[int]chan cdpMessage
	loaded  chan struct{} // one for each load event of the page
	frames  atomic.Int64  // of screencasts
}

type cdpMessage struct {
	ID        int                       `json:"id,omitempty"`
	Method    string                    `json:"method,omitempty"`
	SessionID string                    `json:"sessionId,omitempty"`
	Params    any                       `json:"params,omitempty"`
	Result    json.RawMessage           `json:"result,omitempty"`
	Error     *struct{ Message string } `json:"error,omitempty"`
}

type object = map[string]any

// startBare starts it with the flags that change what a page costs.
func startBare(ctx context.Context, chromium string) (*bare, error) {
	home, err := os.MkdirTemp("", "bench-bare-")
	if err != nil {
		return nil, err
	}
	toR, toW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromR, fromW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	args := []string{"--headless", "--remote-debugging-pipe", "--user-data-dir=" + filepath.Join(home, "profile"), "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--no-default-browser-check"}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	b := &bare{cmd: exec.Command(chromium, args...), home: home, in: toW, out: fromR, waiting: map[int]chan cdpMessage{}, loaded: make(chan struct{}, 16)}
	b.cmd.ExtraFiles = []*os.File{toR, fromW}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	toR.Close()
	fromW.Close()
	go b.read()
	var target struct{ TargetID, SessionID string }
	if err := b.call(ctx, "Target.createTarget", object{"url": "about:blank"}, &target); err != nil {
		b.close()
		return nil, err
	}
	if err := b.call(ctx, "Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}, &target); err != nil {
		b.close()
		return nil, err
	}
	b.session = target.SessionID
	return b, errors.Join(b.call(ctx, "Page.enable", object{}, nil), b.call(ctx, "Runtime.enable", object{}, nil))
}

func (b *bare) close() {
	b.cmd.Process.Kill()
	b.cmd.Wait()
	b.in.Close()
	os.RemoveAll(b.home)
}

// PIDs are Chromium's processes, for a Meter.
func (b *bare) PIDs() []int { return driver.Tree(b.cmd.Process.Pid) }

func (b *bare) read() {
	defer b.out.Close()
	r := bufio.NewReaderSize(b.out, 1<<20)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m cdpMessage
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		if m.Method == "Page.loadEventFired" {
			select {
			case b.loaded <- struct{}{}:
			default:
			}
		}
		if m.Method == "Page.screencastFrame" {
			b.frames.Add(1)
			if p, ok := m.Params.(map[string]any); ok {
				b.send("Page.screencastFrameAck", object{"sessionId": p["sessionId"]})
			}
		}
		b.mu.Lock()
		answer := b.waiting[m.ID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
}

// send writes a command and returns where its answer comes.
func (b *bare) send(method string, p object) (<-chan cdpMessage, error) {
	answer := make(chan cdpMessage, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	text, err := json.Marshal(cdpMessage{ID: b.next, Method: method, SessionID: b.session, Params: p})
	if err != nil {
		return nil, err
	}
	b.waiting[b.next] = answer
	_, err = b.in.Write(append(text, 0))
	return answer, err
}

func wait(ctx context.Context, answer <-chan cdpMessage, result any) error {
	select {
	case m := <-answer:
		if m.Error != nil {
			return errors.New(m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bare) call(ctx context.Context, method string, p object, result any) error {
	answer, err := b.send(method, p)
	if err != nil {
		return err
	}
	return wait(ctx, answer, result)
}

// pipelined sends all before it waits for any.
func (b *bare) pipelined(ctx context.Context, method string, all ...object) error {
	var answers []<-chan cdpMessage
	for _, p := range all {
		answer, err := b.send(method, p)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	for _, a := range answers {
		if err := wait(ctx, a, nil); err != nil {
			return err
		}
	}
	return nil
}

func (b *bare) evaluate(ctx context.Context, expression string, value any) error {
	var r struct {
		Result struct{ Value json.RawMessage }
	}
	if err := b.call(ctx, "Runtime.evaluate", object{"expression": expression, "returnByValue": true}, &r); err != nil {
		return err
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(r.Result.Value, value)
}

func (b *bare) open(ctx context.Context, url string) error {
	for len(b.loaded) > 0 {
		<-b.loaded
	}
	if err := b.call(ctx, "Page.navigate", object{"url": url}, nil); err != nil {
		return err
	}
	select {
	case <-b.loaded:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// centre finds an element and where it is, as a click must: one round trip.
func (b *bare) centre(ctx context.Context, selector string) (x, y float64, err error) {
	var at struct{ X, Y float64 }
	err = b.evaluate(ctx, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoViewIfNeeded(); const r = e.getBoundingClientRect();
		return { X: r.x + r.width / 2, Y: r.y + r.height / 2, hit: document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2) === e } })()`, selector), &at)
	return at.X, at.Y, err
}

func (b *bare) click(ctx context.Context, selector string) error {
	x, y, err := b.centre(ctx, selector)
	if err != nil {
		return err
	}
	mouse := func(kind string, count int) object {
		return object{"type": kind, "x": x, "y": y, "button": "left", "clickCount": count}
	}
	return b.pipelined(ctx, "Input.dispatchMouseEvent", object{"type": "mouseMoved", "x": x, "y": y}, mouse("mousePressed", 1), mouse("mouseReleased", 1))
}

func (b *bare) hover(ctx context.Context, selector string) error {
	x, y, err := b.centre(ctx, selector)
	if err != nil {
		return err
	}
	return b.call(ctx, "Input.dispatchMouseEvent", object{"type": "mouseMoved", "x": x, "y": y}, nil)
}

// insert puts text into a field in place of what is there.
func (b *bare) insert(ctx context.Context, selector, text string) error {
	if err := b.evaluate(ctx, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); e.select() })()`, selector), nil); err != nil {
		return err
	}
	return b.call(ctx, "Input.insertText", object{"text": text}, nil)
}

// keys types a text key by key in place of what is there.
func (b *bare) keys(ctx context.Context, selector, text string) error {
	if err := b.evaluate(ctx, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); e.select() })()`, selector), nil); err != nil {
		return err
	}
	var events []object
	for _, r := range text {
		events = append(events, object{"type": "keyDown", "text": string(r), "key": string(r)}, object{"type": "keyUp", "key": string(r)})
	}
	return b.pipelined(ctx, "Input.dispatchKeyEvent", events...)
}

func (b *bare) press(ctx context.Context) error {
	key := object{"key": "Shift", "code": "ShiftLeft", "windowsVirtualKeyCode": 16}
	down, up := object{"type": "rawKeyDown"}, object{"type": "keyUp"}
	for k, v := range key {
		down[k], up[k] = v, v
	}
	return b.pipelined(ctx, "Input.dispatchKeyEvent", down, up)
}

// overhead compares commands with the calls that they are made of, by turns, on
// the page of 30 elements.
func (b *suite) overhead() error {
	ctx, cancel := context.WithTimeout(b.ctx, 3*time.Minute)
	defer cancel()
	baseline, err := startBare(ctx, b.o.Chromium)
	if err != nil {
		return err
	}
	defer baseline.close()
	t, err := driver.Named(reference)
	if err != nil {
		return err
	}
	members, stop := b.fleet([]driver.Tool{t})
	defer stop()
	if len(members) == 0 {
		return nil
	}
	m := members[0]
	url := b.site.shop(30)
	if err := errors.Join(baseline.open(ctx, url), find(url, "button", "Count")(ctx, m)); err != nil {
		return err
	}
	field, err := m.refOf(ctx, "Search")
	if err != nil {
		return err
	}
	const button, input = "main button", "input[name=q]"
	cases := []struct {
		name, calls string
		ours, bare  func(i int) error
	}{
		{"eval 1", "Runtime.evaluate", func(int) error { _, err := m.d.Eval(ctx, "1"); return err },
			func(int) error { return baseline.evaluate(ctx, "1", nil) }},
		{"click", "find and locate; three mouse events together", func(int) error { return m.d.Click(ctx, m.ref) },
			func(int) error { return baseline.click(ctx, button) }},
		{"hover", "find and locate; one mouse event", func(int) error { return m.d.Hover(ctx, m.ref) },
			func(int) error { return baseline.hover(ctx, button) }},
		{"press", "two key events together", func(int) error { return m.d.Press(ctx, "Shift") },
			func(int) error { return baseline.press(ctx) }},
		{"type 20 characters", "focus and select; 40 key events together", func(i int) error { return m.d.Type(ctx, field, texts[i%2]) },
			func(i int) error { return baseline.keys(ctx, input, texts[i%2]) }},
		{"type 200 characters", "focus and select; Input.insertText", func(i int) error { return m.d.Type(ctx, field, strings.Repeat(texts[i%2], 10)) },
			func(i int) error { return baseline.insert(ctx, input, strings.Repeat(texts[i%2], 10)) }},
		{"open", "Page.navigate; the load event", func(int) error { return m.d.Open(ctx, url) },
			func(int) error { return baseline.open(ctx, url) }},
	}
	times := 100
	if b.quick {
		times = 20
	}
	fmt.Fprintf(b.out, "browserd's command and the same calls from a program that does nothing else, over a pipe, in a Chromium without flags, sandbox and proxy; medians of %d by turns, 30 elements.\n\n"+
		"| ms | browserd | bare | above | the calls |\n|---|---|---|---|---|\n", times)
	for _, c := range cases {
		ours, theirs, err := alternate(times, c.ours, c.bare)
		if err != nil {
			fmt.Fprintf(b.out, "| %s | failed: %s | | | |\n", c.name, oneLine(err.Error()))
			continue
		}
		fmt.Fprintf(b.out, "| %s | %s | %s | %s | %s |\n", c.name, ms(ours), ms(theirs), ms(ours-theirs), c.calls)
	}
	fmt.Fprintln(b.out)
	return nil
}

// refOf is the ref of the node with that name in the open page.
func (m *member) refOf(ctx context.Context, name string) (string, error) {
	s, err := m.d.Snapshot(ctx, driver.Interactive)
	if err != nil {
		return "", err
	}
	for _, n := range s.Nodes {
		if n.Name == name && n.Ref != "" {
			return n.Ref, nil
		}
	}
	return "", fmt.Errorf("no %q", name)
}

// alternate runs both by turns, warm, and returns their medians.
func alternate(times int, a, b func(int) error) (ofA, ofB time.Duration, err error) {
	var inA, inB []time.Duration
	timed := func(f func(int) error, i int) (time.Duration, error) {
		began := time.Now()
		err := f(i)
		return time.Since(began), err
	}
	for i := range times + 5 {
		tookA, errA := timed(a, i)
		tookB, errB := timed(b, i)
		if err := errors.Join(errA, errB); err != nil {
			return 0, 0, err
		}
		if i >= 5 {
			inA, inB = append(inA, tookA), append(inB, tookB)
		}
	}
	return quantile(inA, 0.5), quantile(inB, 0.5), nil
}
