package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// egress is how the pages of one Chromium reach the network.
type egress struct {
	browser *browser.Browser
	options browser.ContextOptions
}

// egresses are the ones that BenchmarkEgress compares: straight out, which no
// daemon does, and through the egress proxy.
var egresses = []string{"none", "flags", "jail"}

func newEgress(b *testing.B, name string) egress {
	b.Helper()
	cfg := chromium.Config{Headless: true, ComputedNames: true, AnswerTimeout: 10 * time.Second}
	cfg.StateDir = b.TempDir()
	var o browser.ContextOptions
	var pool browser.Pool
	if name != "none" {
		rules, err := policy.New(policy.Config{AllowHosts: []string{"127.0.0.1"}})
		if err != nil {
			b.Fatal(err)
		}
		e, err := policy.NewEgress(policy.EgressOptions{EgressConfig: policy.EgressConfig{MaxMB: -1}, Jailed: name == "jail"}, rules.AddSelf)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { e.Close() })
		cfg.ProxyServer = e.Refusing()
		if name == "jail" {
			if err := chromium.CanJail(cfg); err != nil {
				b.Skip(err)
			}
			cfg.Adopt, cfg.JailPort = e.Serve, e.Port()
		}
		pool.Egress = func() (browser.Egress, error) { return e.Unbound() }
		o.Bind = func(w browser.Egress, _ func(map[string]any)) error {
			gate, err := rules.Gate(policy.GateOptions{})
			if err == nil {
				w.Bind(gate, "bench", nil)
			}
			return err
		}
	}
	log := slog.New(slog.DiscardHandler)
	c := chromium.Start(context.Background(), cfg, log)
	b.Cleanup(func() { c.Close(context.Background()) })
	if err := c.Warm(context.Background()); err != nil {
		b.Fatal(err)
	}
	contexts := browser.New(c, log)
	contexts.StartPool(pool)
	return egress{contexts, o}
}

func (w egress) open(b *testing.B) *browser.Context {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := w.browser.NewContext(ctx, w.options, func(string, map[string]any) {})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// What the egress proxy costs, beside no proxy in the same run: opening a
// session's context, loading a page of 40 parts, a page's small requests, and
// its bulk.
func BenchmarkEgress(b *testing.B) {
	const parts, bulk = 40, 64 << 20
	block := make([]byte, 1<<20)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<title>parts</title>")
			for i := range parts {
				fmt.Fprintf(w, "<script src=/part%d.js></script>", i)
			}
		case r.URL.Path == "/bulk":
			for range bulk / len(block) {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
			w.Write(block[:0])
		default:
			w.Write(block[:1000])
		}
	}))
	b.Cleanup(site.Close)
	eval := func(b *testing.B, c *browser.Context, script string) {
		b.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		if _, err := c.EvalAt(ctx, nil, "", script, nil); err != nil {
			b.Fatal(err)
		}
	}
	load := func(b *testing.B, c *browser.Context) {
		b.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if _, err := c.Open(ctx, site.URL+"/", protocol.WaitLoad); err != nil {
			b.Fatal(err)
		}
	}
	compare := func(what string, op func(b *testing.B, w egress, c *browser.Context)) {
		b.Run(what, func(b *testing.B) {
			for _, name := range egresses {
				b.Run(name, func(b *testing.B) {
					w := newEgress(b, name)
					c := w.open(b)
					load(b, c)
					op(b, w, c) // the first one pays for what later ones find ready
					b.ResetTimer()
					for range b.N {
						op(b, w, c)
					}
				})
			}
		})
	}
	compare("context", func(b *testing.B, w egress, _ *browser.Context) { w.open(b).Close(context.Background()) })
	compare("load", func(b *testing.B, _ egress, c *browser.Context) { load(b, c) })
	const requests = 200
	compare("requests", func(b *testing.B, _ egress, c *browser.Context) {
		eval(b, c, fmt.Sprintf(`(async () => { let n = %d; const one = async () => { while (n-- > 0) await (await fetch("/x" + n)).arrayBuffer() };
			await Promise.all([one(), one(), one(), one(), one(), one()]) })()`, requests))
		b.ReportMetric(requests*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	})
	compare("bulk", func(b *testing.B, _ egress, c *browser.Context) {
		b.SetBytes(bulk)
		eval(b, c, `(async () => { const r = (await fetch("/bulk")).body.getReader(); while (!(await r.read()).done); })()`)
	})
}
