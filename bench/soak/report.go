package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// columns are the figures that are judged, with what a unit of them is.
var columns = []struct {
	name string
	unit float64
	of   func(s Sample) float64
}{
	{"rss", mib, func(s Sample) float64 { return s.RSS }},
	{"heap", mib, func(s Sample) float64 { return s.Heap }},
	{"live", mib, func(s Sample) float64 { return s.Live }},
	{"goroutines", 1, func(s Sample) float64 { return s.Goroutines }},
	{"files", 1, func(s Sample) float64 { return s.Files }},
	{"processes", 1, func(s Sample) float64 { return s.Processes }},
	{"zombies", 1, func(s Sample) float64 { return s.Zombies }},
	{"chromium", mib, func(s Sample) float64 { return s.Chromium }},
	{"profiles", 1, func(s Sample) float64 { return s.Profiles }},
	{"temporary", 1, func(s Sample) float64 { return s.Temporary }},
}

// line is the sample as one line.
func (s Sample) line(kind string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s %-4s sessions=%.0f", s.At.Round(time.Second), kind, s.Sessions)
	for _, c := range columns {
		fmt.Fprintf(&b, " %s=%.*f", c.name, decimals(c.unit), c.of(s)/c.unit)
	}
	return b.String()
}

func decimals(unit float64) int {
	if unit > 1 {
		return 1
	}
	return 0
}

// Errors are the lines of the daemon's log that tell of a fault: errors, and
// warnings of what did not come from a client.
func Errors(log string) []string {
	var list []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") && !strings.Contains(line, `msg="request refused"`) ||
			strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic") {
			list = append(list, strings.TrimSuffix(line, "\n"))
		}
	}
	return list
}

// Faults lists everything that speaks against the daemon: what was answered
// as it may not be, what was left open, and what is not flat. None: it passed.
func (r *Report) Faults() []string {
	list := r.Tally.Faults()
	for _, s := range r.series() {
		for _, c := range columns {
			if t := trend(s, c.name, c.of); !t.Flat {
				list = append(list, fmt.Sprintf("%s is not flat %s: %.1f in the second quarter, %.1f in the last, climbing by %.1f, allowed %.1f",
					c.name, s.when, t.Second/c.unit, t.Last/c.unit, t.Climb/c.unit, t.Slack/c.unit))
			}
		}
	}
	for _, s := range r.Ebb {
		if s.Sessions != 0 || s.Zombies != 0 || s.Profiles > 1 {
			list = append(list, fmt.Sprintf("at the ebb after %v: %.0f sessions, %.0f zombies, %.0f profiles", s.At.Round(time.Second), s.Sessions, s.Zombies, s.Profiles))
		}
	}
	if len(r.Ebb) == 0 {
		list = append(list, "there was no ebb")
	}
	slices.Sort(list)
	return list
}

// series is one of the report's two series of samples, with what is allowed.
type series struct {
	when    string
	samples []Sample
	allowed map[string]Slack
}

func (r *Report) series() []series {
	return []series{{"while all play", r.Flow, r.Options.Flow}, {"at the ebb, nothing open", r.Ebb, r.Options.Calm}}
}

func trend(s series, name string, of func(Sample) float64) Trend {
	values := make([]float64, len(s.samples))
	for i, s := range s.samples {
		values[i] = of(s)
	}
	allowed, judged := s.allowed[name]
	t := Flat(values, allowed)
	t.Flat = t.Flat || !judged
	return t
}

// Print writes the report for people: the samples (so many of them), the trends, the
// answers, and the verdict.
func (r *Report) Print(w io.Writer, rows int) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "time\tsessions"
	for _, c := range columns {
		head += "\t" + c.name
	}
	for _, series := range r.series() {
		samples := series.samples
		fmt.Fprintf(w, "\n%s (memory in MiB)\n\n", series.when)
		fmt.Fprintln(t, head+"\t")
		every := max(1, (len(samples)+rows-1)/max(rows, 1))
		for i := 0; i < len(samples); i += every {
			s := samples[i]
			fmt.Fprintf(t, "%v\t%.0f", s.At.Round(time.Second), s.Sessions)
			for _, c := range columns {
				fmt.Fprintf(t, "\t%.*f", decimals(c.unit), c.of(s)/c.unit)
			}
			fmt.Fprintln(t, "\t")
		}
		for _, q := range []struct {
			name string
			of   func(Trend) float64
		}{
			{"second quarter", func(t Trend) float64 { return t.Second }}, {"last quarter", func(t Trend) float64 { return t.Last }},
			{"climb", func(t Trend) float64 { return t.Climb }}, {"allowed", func(t Trend) float64 { return t.Slack }},
		} {
			fmt.Fprintf(t, "%s\t", q.name)
			for _, c := range columns {
				fmt.Fprintf(t, "\t%.1f", q.of(trend(series, c.name, c.of))/c.unit)
			}
			fmt.Fprintln(t, "\t")
		}
		t.Flush()
	}
	r.Tally.print(w)
	launches := 0.0
	if n := len(r.Ebb); n > 0 {
		launches = r.Ebb[n-1].Launches
	}
	fmt.Fprintf(w, "\nseed %d, %d commands, Chromium launched %.0f times, the home grew by %.1f MiB\n", r.Options.Seed, r.Tally.Commands(), launches, float64(r.Disk)/mib)
	faults := r.Faults()
	for _, f := range faults {
		fmt.Fprintln(w, "FAULT:", f)
	}
	if len(faults) == 0 {
		fmt.Fprintln(w, "flat")
	} else {
		fmt.Fprintln(w, "not passed")
	}
}

func (t *Tally) print(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprint(w, "\nAnswers, and milliseconds until they came\n\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "command\tn\tmedian\tp99\tmost\tcodes")
	for _, method := range slices.Sorted(maps.Keys(t.answers)) {
		took := slices.Sorted(slices.Values(t.took[method]))
		at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
		var codes []string
		for _, c := range slices.Sorted(maps.Keys(t.answers[method])) {
			codes = append(codes, fmt.Sprintf("%s %d", c, t.answers[method][c]))
		}
		fmt.Fprintf(table, "%s\t%d\t%.1f\t%.0f\t%.0f\t%s\n", method, len(took), at(.5), at(.99), at(1), strings.Join(codes, ", "))
	}
	table.Flush()
	fmt.Fprintln(w)
	for _, what := range slices.Sorted(maps.Keys(t.counters)) {
		fmt.Fprintf(w, "%s: %d\n", what, t.counters[what])
	}
}
