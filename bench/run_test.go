package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// scriptSteps is how many steps a script of BenchmarkStep has.
const scriptSteps = 100

// What a step of a script takes above the same command over WebSocket: a script with a
// hundred of them and a hundred commands by turns, less what a script without steps takes.
// Medians of the rounds.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct{ method, code string }{
		{"tab_list", "await browser.tab_list({});"},
		{"snapshot", "await browser.snapshot({});"},
		{"click", "await browser.click({ref: input.ref});"},
	} {
		b.Run(c.method, func(b *testing.B) {
			s := newShop(b)
			s.open(smallPage)
			ref := s.ref("button", "Count")
			params := map[string]any{}
			if c.method == "click" {
				params = map[string]any{"ref": ref, "snapshot": "none"}
			}
			run := func(steps int) float64 {
				code := fmt.Sprintf("for (let i = 0; i < %d; i++) %s", steps, c.code)
				began := time.Now()
				s.call("run", map[string]any{"code": code, "input": map[string]any{"ref": ref}, "snapshot": "none"}, nil)
				return ms(time.Since(began))
			}
			commands := func() float64 {
				began := time.Now()
				for range scriptSteps {
					s.call(c.method, params, nil)
				}
				return ms(time.Since(began))
			}
			run(1)
			var alone, command, more []float64
			b.ResetTimer()
			for i := range b.N {
				var script, sent float64
				empty := run(0)
				if i%2 == 0 {
					script, sent = run(scriptSteps), commands()
				} else {
					sent, script = commands(), run(scriptSteps)
				}
				alone, command = append(alone, empty), append(command, sent/scriptSteps)
				more = append(more, (script-empty-sent)/scriptSteps)
			}
			b.StopTimer()
			b.ReportMetric(median(alone), "ms/empty-script")
			b.ReportMetric(median(command), "ms/command")
			b.ReportMetric(median(more), "ms/step-above")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
