package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// run is a file that bench/side printed.
type run struct {
	commit, date string
	tables       []table
}

// table is one table of a run; a cell is text, as it stands there.
type table struct {
	section string // the heading above it
	header  []string
	rows    [][]string
}

var (
	commit = regexp.MustCompile(`(?m)^Commit: (\S+)$`)
	date   = regexp.MustCompile(`(?m)^Conditions: (\d{4}-\d{2}-\d{2})`)
	number = regexp.MustCompile(`\d+(?:\.\d+)?`)
)

func parse(text string) (*run, error) {
	r := &run{}
	c, d := commit.FindStringSubmatch(text), date.FindStringSubmatch(text)
	if c == nil || d == nil {
		return nil, errors.New("it does not say its commit and its conditions")
	}
	r.commit, r.date = c[1], d[1]
	section, inTable := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			section = heading
		}
		if !strings.HasPrefix(line, "|") {
			inTable = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !inTable:
			r.tables = append(r.tables, table{section: section, header: cells})
		case !strings.HasPrefix(cells[0], "---"):
			t := &r.tables[len(r.tables)-1]
			t.rows = append(t.rows, cells)
		}
		inTable = true
	}
	return r, nil
}

// panel is one comparison. Less is better in each.
type panel struct {
	title  string
	unit   string
	values []value
}

type value struct {
	tool string
	of   float64
}

// tools are the rows of a panel, with the names that tables have for them: the
// first that has a figure counts. A peer that can share one Chromium among its
// sessions is taken so.
var tools = []struct {
	name string
	rows []string
}{
	{"browserd", []string{"browserd"}},
	{"agent-browser", []string{"agent-browser"}},
	{"Playwright MCP", []string{"playwright-mcp (HTTP)", "playwright-mcp"}},
	{"Chrome DevTools MCP", []string{"chrome-devtools-mcp"}},
	{"pinchtab", []string{"pinchtab"}},
}

// panels are what is drawn, in order. Snapshots are those of a page that has
// changed since the last one, which is what an agent meets.
func (r *run) panels() ([]panel, error) {
	var drawn []panel
	for _, p := range []struct {
		title, unit, section string
		nth                  int // of the section's tables, from 0
		column               string
		figure               int // of the cell's numbers, from 0
	}{
		{"Snapshot of a page of 1,500 elements", "ms", "Snapshots", 2, "1500 elements, default", 0},
		{"Click, and what it changed, on that page", "ms", "Click, type and open", 1, "1500 elements", 0},
		{"Tokens of that page's snapshot", "", "Tokens", 0, "1500 elements", 0},
		{"Opening one more session", "ms", "Sessions", 0, "a session with its page", 0},
		{"Memory of one more session", "MB", "Sessions", 1, "both, for each added session", 0},
		{"Processor time of open, snapshot, click", "ms", "Throughput", 0, "8 sessions", 1},
	} {
		var here []table
		for _, t := range r.tables {
			if t.section == p.section {
				here = append(here, t)
			}
		}
		if p.nth >= len(here) {
			return nil, fmt.Errorf("%q has %d tables, want more than %d", p.section, len(here), p.nth)
		}
		t := here[p.nth]
		column := slices.Index(t.header, p.column)
		if column < 0 {
			return nil, fmt.Errorf("table %d of %q has no column %q: %q", p.nth, p.section, p.column, t.header)
		}
		drawing := panel{title: p.title, unit: p.unit}
		for _, tool := range tools {
			v, err := t.value(tool.rows, column, p.figure)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.title, err)
			}
			drawing.values = append(drawing.values, value{tool.name, v})
		}
		drawn = append(drawn, drawing)
	}
	return drawn, nil
}

// value is a number of the first of the rows that is there.
func (t table) value(rows []string, column, figure int) (float64, error) {
	for _, name := range rows {
		for _, row := range t.rows {
			if row[0] != name || column >= len(row) {
				continue
			}
			if numbers := number.FindAllString(row[column], -1); figure < len(numbers) {
				return strconv.ParseFloat(numbers[figure], 64)
			}
		}
	}
	return 0, fmt.Errorf("no row of %q has a figure", rows)
}
