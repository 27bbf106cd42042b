package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCommittedPicturesAreFresh(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	for name, draw := range map[string]func() ([]byte, error){
		"peers.svg":   func() ([]byte, error) { return drawNewest(filepath.Join("..", "results")) },
		"session.svg": func() ([]byte, error) { return drawSession(docs) },
	} {
		want, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(got), string(want)); d != "" {
			t.Errorf("docs/%s is stale: make chart draws it (-committed +drawn):\n%s", name, d)
		}
	}
}

// Text has a contrast of 4 and more on a white page and on a dark one.
func TestColoursOnWhiteAndDark(t *testing.T) {
	for _, colour := range []string{textColour, accentColour} {
		for _, page := range []string{"#ffffff", "#0d1117"} {
			a, b := luminance(t, colour), luminance(t, page)
			if contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05); contrast < 4 {
				t.Errorf("%s on %s: contrast %.2f", colour, page, contrast)
			}
		}
	}
}

// The terminal's own background is dark.
func TestColoursOfTheTerminal(t *testing.T) {
	dark := luminance(t, terminalColour)
	for _, colour := range []string{plainColour, dimColour, commandColour, addedColour, changedColour, removedColour} {
		if contrast := (luminance(t, colour) + 0.05) / (dark + 0.05); contrast < 4.5 {
			t.Errorf("%s on %s: contrast %.2f", colour, terminalColour, contrast)
		}
	}
}

// luminance is WCAG's relative luminance.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(v>>(16-8*i)&0xff) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

var head = regexp.MustCompile("^# [^\n]+\n\nCommand: [^\n]+\n\nCommit: [^\n]+\n\nConditions: [^\n]+\n")

// Every run says its command, its commit and its conditions.
func TestRunsSayHowTheyWereMade(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "results", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !head.Match(text) {
			t.Errorf("%s does not begin with its title, command, commit and conditions", file)
		}
	}
}
