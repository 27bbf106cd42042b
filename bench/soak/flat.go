package main

import (
	"math"
	"slices"
)

// Slack is how far a figure may drift and still be flat: a part of its
// median, or so many of its own unit, whichever is more.
type Slack struct{ Part, Units float64 }

// Trend is what a series of samples, taken at even intervals, did.
type Trend struct {
	// Second and Last are the medians of its second and of its last quarter.
	Second, Last float64
	// Climb is the Theil-Sen slope of its second half, times that half's length.
	Climb float64
	// Slack is how much of either was allowed.
	Slack float64
	Flat  bool
}

// Flat judges a series: it climbs where both the last quarter lies above the
// second and the second half's own slope, seen alone, says the same. Medians
// and Theil-Sen do not follow single samples, so that a session that happened
// to be large at the end is no leak; a figure that grows all the time shows in
// both, however slowly, once its growth is more than the slack. What falls is
// flat. The first quarter is warming up. Of fewer than 8 samples the last is held
// against the first; one alone is flat.
func Flat(samples []float64, allowed Slack) Trend {
	n := len(samples)
	if n == 0 {
		return Trend{Flat: true}
	}
	t := Trend{Second: samples[0], Last: samples[n-1]}
	t.Climb = t.Last - t.Second
	if n >= 8 {
		t.Second, t.Last = median(samples[n/4:n/2]), median(samples[n-n/4:])
		half := samples[n/2:]
		t.Climb = slope(half) * float64(len(half)-1)
	}
	t.Slack = max(allowed.Units, allowed.Part*math.Abs(t.Second))
	t.Flat = t.Last-t.Second <= t.Slack || t.Climb <= t.Slack
	return t
}

func median(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	if len(s) == 0 {
		return 0
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// slope is the median of the slopes between all pairs of samples (Theil 1950,
// Sen 1968), in units per sample.
func slope(samples []float64) float64 {
	var all []float64
	for i := range samples {
		for j := i + 1; j < len(samples); j++ {
			all = append(all, (samples[j]-samples[i])/float64(j-i))
		}
	}
	return median(all)
}
