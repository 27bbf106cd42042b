package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	d := []time.Duration{40, 10, 20, 30}
	for q, want := range map[float64]time.Duration{0: 10, 0.5: 25, 0.9: 37, 1: 40} {
		if got := quantile(d, q); got != want {
			t.Errorf("the quantile %v of %v is %v, want %v", q, d, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
}

// The ratios are those of the fastest peer, which may be another one for each
// measure; browserd's command line is no peer, and one that failed is none.
func TestReport(t *testing.T) {
	ms := func(p50, p90, cpu float64) cost {
		d := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
		return cost{d(p50), d(p90), d(cpu), 5, nil}
	}
	var b strings.Builder
	report(&b, []string{"browserd", "browserd (command line)", "one", "two"}, []column{
		{"small", map[string]cost{"browserd": ms(2, 2.5, 4), "browserd (command line)": ms(1, 1, 1), "one": ms(10, 12, 8), "two": ms(6, 300, 12)}},
		{"large", map[string]cost{"browserd": ms(120, 140, 0), "one": {err: errors.New("it\nfell")}, "two": ms(60, 61, 0)}},
	})
	const want = `| ms: waited, median (90th percentile) / processor | small | large |
|---|---|---|
| browserd | 2.0 (2.5) / 4.0 | 120 (140) |
| browserd (command line) | 1.0 (1.0) / 1.0 | |
| one | 10.0 (12.0) / 8.0 | failed |
| two | 6.0 (300) / 12.0 | 60.0 (61.0) |
| **fastest peer over browserd**, waited / processor | 3.0 (two) / 2.0 (one) | 0.50 (two) |

Failed: one, large: it fell

`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
