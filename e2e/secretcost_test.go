package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// BenchmarkSecretCost is what it costs that an agent has used a secret: of two daemons, by turns, one was
// given a secret for a field of a page of a megabyte and the other a text of its own. It reports of each
// the median of what a command waited and of the processor time of the daemon and its Chromium.
//
//	go test ./e2e -run xxx -bench SecretCost -benchtime 60x
func BenchmarkSecretCost(b *testing.B) {
	w := newPageServer(b)
	w.mux.HandleFunc("/long", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, "<!doctype html><title>Long</title><label>Field <input></label>")
		for i := range 1000 {
			fmt.Fprintf(rw, "<p>Line %d: %s</p>", i, strings.Repeat("the quick brown fox jumps over the \"lazy\" dog, and says what it has seen since 1998 (or so). ", 11))
		}
	})
	w.serve("/short", page("short", `<h1>Short</h1><label>Field <input></label>`), "")
	bin, err := testdaemon.PlainBinary()
	if err != nil {
		b.Fatal(err)
	}
	type side struct {
		*agent
		daemon      *testdaemon.Daemon
		wait, spent []time.Duration
	}
	var sides [2]*side
	for i := range sides {
		d := testdaemon.Start(b, testdaemon.Options{Binary: bin, Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
		secretSetter(b, d)("correct horse battery staple", "shop", "--origin", w.URL)
		sides[i] = &side{agent: newAgent(b, d), daemon: d}
	}
	whole := params{"interactive_only": false, "max_nodes": 20000, "max_chars": 1000000, "max_text": 100000}
	for _, c := range []struct {
		page, name string
		with       params
	}{
		{"long", "read", params{"max_chars": 1000000}}, {"long", "snapshot", whole},
		// A picture is sent after the page was asked whether it shows a secret.
		{"long", "screenshot", params{"format": "jpeg"}}, {"short", "screenshot", params{"format": "jpeg"}},
	} {
		for i, s := range sides {
			s.open(w.URL + "/" + c.page)
			s.do("type", params{"ref": "label=Field", "text": []string{"korrect horse battery staple", "{{secret:shop}}"}[i], "snapshot": "none"})
			if text := s.do("read", params{"ref": "label=Field", "kind": "value"}).Content; strings.Contains(text, "•") != (i == 1) {
				b.Error(text)
			}
		}
		b.Run(c.name+"/"+c.page, func(b *testing.B) {
			for _, s := range sides {
				s.wait, s.spent = nil, nil
			}
			for turn := 0; b.Loop(); turn++ {
				for i := range sides {
					s := sides[(turn+i)%2]
					before, began := spentBy(s.daemon), time.Now()
					var answer rawAnswer
					if err := s.c.Call(b.Context(), c.name, c.with, &answer); err != nil {
						b.Fatal(err)
					}
					s.wait, s.spent = append(s.wait, time.Since(began)), append(s.spent, spentBy(s.daemon)-before)
				}
			}
			for i, with := range []string{"text", "secret"} {
				b.ReportMetric(medianMS(sides[i].wait), with+"-wait-ms")
				b.ReportMetric(medianMS(sides[i].spent), with+"-cpu-ms")
			}
			b.ReportMetric(medianMS(sides[1].wait)/medianMS(sides[0].wait), "times-wait")
			b.ReportMetric(medianMS(sides[1].spent)/medianMS(sides[0].spent), "times-cpu")
		})
	}
}

func medianMS(d []time.Duration) float64 {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2].Seconds() * 1000
}

// spentBy returns the processor time of a daemon and its Chromium, in the scheduler's own nanoseconds; 0 where
// there is no schedstat of proc(5).
func spentBy(d *testdaemon.Daemon) (sum time.Duration) {
	pids := []int{d.PID}
	for _, p := range testdaemon.Descendants(d.PID) {
		pids = append(pids, p.PID)
	}
	for _, pid := range pids {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, t := range threads {
			text, _ := os.ReadFile(t)
			running, _, _ := strings.Cut(string(text), " ")
			ns, _ := strconv.ParseInt(running, 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}

// rawAnswer is a result that is not decoded.
type rawAnswer []byte

func (r *rawAnswer) UnmarshalJSON(b []byte) error {
	*r = append((*r)[:0], b...)
	return nil
}
