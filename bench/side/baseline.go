package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/bench/driver"
)

// baselineName is the row of a daemon that does only what every daemon must. For
// a default snapshot it asks Chromium once for the number 1; for a whole page it
// walks the page and computes nothing. No tool that runs script in pages can be
// faster.
const baselineName = "(baseline)"

// baselineVariable makes this program the baseline's daemon, with the Chromium of that path.
const baselineVariable = "BENCH_BASELINE"

// bareWalk asks of each element for tag, display, visibility, the width of its box,
// attributes and text.
const bareWalk = `(() => { let out = ''; const go = (el, depth) => {
	const tag = el.localName; if (tag === 'script' || tag === 'style' || tag === 'head') return;
	const s = getComputedStyle(el); if (s.display === 'none' || s.visibility !== 'visible') return;
	out += tag + depth + el.getBoundingClientRect().width;
	for (const name of el.getAttributeNames()) out += name + el.getAttribute(name);
	for (let c = el.firstChild; c; c = c.nextSibling) if (c.nodeType === 3) out += c.data; else if (c.nodeType === 1) go(c, depth + 1);
}; go(document.documentElement, 0); return out })()`

type baselineAsk struct {
	URL   string // go there
	Whole bool   // else: what is looked at
}

// serveBaseline is the baseline's daemon: a WebSocket, a pipe to Chromium and one page. It
// writes its address to standard output, and ends when standard input does.
func serveBaseline(ctx context.Context, chromium string) error {
	b, err := startBare(ctx, chromium)
	if err != nil {
		return err
	}
	defer b.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			var ask baselineAsk
			if conn.ReadJSON(&ask) != nil || conn.WriteMessage(websocket.TextMessage, b.answer(ctx, ask)) != nil {
				return
			}
		}
	}))
	fmt.Println(l.Addr())
	bufio.NewReader(os.Stdin).ReadByte()
	return nil
}

// answer is what a look brings, or an error as a text that begins with "error".
func (b *bare) answer(ctx context.Context, ask baselineAsk) []byte {
	var text json.RawMessage
	var err error
	switch {
	case ask.URL != "":
		text, err = json.RawMessage("true"), b.open(ctx, ask.URL)
	case ask.Whole:
		err = b.evaluate(ctx, bareWalk, &text)
	default:
		err = b.evaluate(ctx, "1", &text)
	}
	if err != nil {
		return []byte("error: " + err.Error())
	}
	return text
}

// baseline is the client of the baseline's daemon: a driver that opens pages and looks at
// them, and does nothing else.
type baseline struct {
	driver.Driver
	cmd   *exec.Cmd
	stdin io.Closer
	conn  *websocket.Conn
}

func startBaseline(ctx context.Context, chromium string) (*baseline, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), baselineVariable+"="+chromium)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		f := &baseline{cmd: cmd, stdin: stdin}
		if f.conn, _, err = websocket.DefaultDialer.DialContext(ctx, "ws://"+strings.TrimSpace(addr), nil); err == nil {
			return f, nil
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	return nil, err
}

func (f *baseline) ask(ctx context.Context, a baselineAsk) (string, error) {
	at, _ := ctx.Deadline()
	f.conn.SetReadDeadline(at)
	if err := f.conn.WriteJSON(a); err != nil {
		return "", err
	}
	_, text, err := f.conn.ReadMessage()
	if err == nil && strings.HasPrefix(string(text), "error") {
		err = errors.New(string(text))
	}
	return string(text), err
}

func (f *baseline) Name() string { return baselineName }
func (f *baseline) PIDs() []int  { return driver.Tree(f.cmd.Process.Pid) }

func (f *baseline) Open(ctx context.Context, url string) error {
	_, err := f.ask(ctx, baselineAsk{URL: url})
	return err
}

func (f *baseline) Text(ctx context.Context, kind driver.Kind) (string, error) {
	return f.ask(ctx, baselineAsk{Whole: kind == driver.Whole})
}

// Close ends the daemon by the end of its standard input.
func (f *baseline) Close() error {
	f.conn.Close()
	f.stdin.Close()
	return f.cmd.Wait()
}
