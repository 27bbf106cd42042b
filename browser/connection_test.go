package browser

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
)

func TestTypedCalls(t *testing.T) {
	t.Parallel()
	builds(t, func(t *testing.T, cfg chromium.Config) {
		c := started(t, cfg)
		conn, _, err := c.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		id, s := openPage(t, conn)

		_, err = cdproto.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{Expression: "this is no script"})
		if err != nil {
			t.Errorf("an exception is a result: %v", err)
		}
		_, err = cdproto.Call(ctx, s, page.Navigate, page.NavigateParams{URL: "not a url"})
		if refused := (*cdp.Error)(nil); !errors.As(err, &refused) {
			t.Errorf("a refused command: %v", err)
		}
		// Keys that are equal once lone surrogates are replaced.
		by := true
		_, err = cdproto.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{Expression: `({"\ud800":1,"\ud801":2})`, ReturnByValue: &by})
		if errors.Is(err, cdp.ErrGone) {
			t.Errorf("a page ended the connection: %v", err)
		}
		r, err := cdproto.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{Expression: "6*7"})
		if err != nil || string(r.Result.Value) != "42" {
			t.Errorf("%+v %v", r.Result, err)
		}

		// A call that is under way when its target closes.
		wait := true
		hanging := s.Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "new Promise(() => {})", AwaitPromise: &wait})
		if _, err := cdproto.Call(ctx, conn.Session(""), target.CloseTarget, target.CloseTargetParams{TargetID: id}); err != nil {
			t.Fatal(err)
		}
		if err := hanging.Wait(ctx, nil); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call of a closed target: %v", err)
		}
	})
}

func BenchmarkRoundTrip(b *testing.B) {
	cfg := defaults()
	c := chromium.Start(b.Context(), cfg, discard())
	defer c.Close(context.Background())
	conn, _, err := c.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s := conn.Session("")
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := cdproto.Call(b.Context(), s, browser.GetVersion, cdproto.Empty{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("pipelined10", func(b *testing.B) {
		for b.Loop() {
			var list [10]*cdp.Pending
			for i := range list {
				list[i] = s.Send(browser.CommandGetVersion, nil)
			}
			for _, p := range list {
				if err := p.Wait(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
