package main

import (
	"math/rand/v2"
	"testing"
)

// series makes n samples of at(i), with so much noise.
func samples(n int, noise float64, at func(i int) float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	s := make([]float64, n)
	for i := range s {
		s[i] = at(i) + noise*(2*r.Float64()-1)
	}
	return s
}

func TestFlat(t *testing.T) {
	tests := map[string]struct {
		series []float64
		want   bool
	}{
		"constant":                            {samples(100, 0, func(int) float64 { return 50 }), true},
		"noise of a third":                    {samples(100, 17, func(int) float64 { return 50 }), true},
		"warms up, then stays":                {samples(100, 2, func(i int) float64 { return min(50, float64(i)*3) }), true},
		"falls":                               {samples(100, 2, func(i int) float64 { return 100 - float64(i)/2 }), true},
		"a sawtooth":                          {samples(100, 0, func(i int) float64 { return 40 + float64(i%10)*3 }), true},
		"ten large samples at the end":        {samples(100, 1, func(i int) float64 { return 50 + 100*float64(i/90) }), true},
		"grows by half":                       {samples(100, 5, func(i int) float64 { return 50 + float64(i)/4 }), false},
		"grows by half, under much noise":     {samples(400, 20, func(i int) float64 { return 50 + float64(i)/16 }), false},
		"doubles, with a fall now and then":   {samples(100, 1, func(i int) float64 { return 50 + float64(i)/2 - 20*float64(i%20/19) }), false},
		"one goroutine more in each of 12":    {samples(12, 0, func(i int) float64 { return 30 + float64(i) }), false},
		"three samples, and they grow":        {[]float64{10, 15, 20}, false},
		"three samples":                       {[]float64{10, 100, 11}, true},
		"one sample":                          {[]float64{10}, true},
		"grows less than the slack":           {samples(100, 0, func(i int) float64 { return 50 + float64(i)/100 }), true},
		"nothing, then less than slack units": {samples(8, 0, func(i int) float64 { return float64(i / 4) }), true},
	}
	for name, test := range tests {
		if got := Flat(test.series, Slack{Part: 0.1, Units: 2}); got.Flat != test.want {
			t.Errorf("%s: %+v, want flat %v", name, got, test.want)
		}
	}
}
