package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/bench/driver"
	"github.com/browserd/browserd/internal/testdaemon"
)

// pages returns a copy of the tasks: that of MINIWOB, or the one that an earlier
// run has cloned.
func pages(t *testing.T) (root string, names []string) {
	dir := os.Getenv("MINIWOB")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skip(err)
		}
		dir = filepath.Join(cache, "browserd-bench", "miniwob-"+commit[:12])
	}
	root, names, err := tasksIn(dir)
	if err != nil {
		t.Skipf("%v; MINIWOB names one, make tasks clones one", err)
	}
	return root, names
}

// A handful of episodes, one of each kind of player, are won.
func TestEpisodes(t *testing.T) {
	root, _ := pages(t)
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(testdaemon.RemoveBinary)
	s, err := newSite(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tool, err := driver.Named("browserd")
	if err != nil {
		t.Fatal(err)
	}
	d, err := tool.Start(ctx, driver.Options{Browserd: bin})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, task := range []string{"click-color", "drag-circle", "email-inbox", "use-slider", "use-autocomplete-nodelay"} {
		p, e, _ := s.play(ctx, d, task, 1, false)
		if !e.won() {
			t.Errorf("%s: %q was lost: %v %s", task, p.ask, p.err, e.Reason)
		}
	}
}

// Every task is played, or it is said why not.
func TestEveryTask(t *testing.T) {
	_, names := pages(t)
	for _, name := range names {
		if (players[name] == nil) == (leftOut[name] == "") {
			t.Errorf("%s is both played and left out, or neither", name)
		}
	}
}

// What the page repeats of its words and its scores is not the task's.
func TestTask(t *testing.T) {
	nodes := []Node{
		{Role: "text", Name: "Click on the \"Ok\" button."},
		{Role: "textbox", Ref: "@e1"},
		{Role: "button", Ref: "@e2", Name: "Ok"},
		{Role: "canvas", Ref: "@e3"},
		{Role: "text", Name: "Last reward: -"},
		{Role: "text", Name: "Time left:"},
		{Role: "text", Name: "9 / 10sec"},
		{Role: "option", Ref: "@e4", Name: "Egypt"},
	}
	want := []Node{nodes[1], nodes[2], nodes[3], nodes[7]}
	if d := cmp.Diff(task(nodes, `Click on the "Ok" button.`), want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	// A tool that shows the words in pieces.
	nodes = []Node{{Role: "text", Name: "Click on"}, {Role: "generic", Ref: "e1", Name: "Tab #1"}, {Role: "tab", Ref: "e2", Name: "Tab #1"}}
	if d := cmp.Diff(task(nodes, `Click on Tab #1.`), nodes[2:]); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
}

// An element that holds a text and nothing else is what one clicks to click it.
func TestWithText(t *testing.T) {
	got := withText([]driver.Node{
		{Ref: "e1", Role: "generic"},
		{Ref: "e2", Role: "generic", Depth: 1},
		{Role: "StaticText", Name: "One", Depth: 2},
		{Ref: "e3", Role: "generic", Depth: 1},
		{Role: "text", Name: "Two", Depth: 2},
		{Ref: "e4", Role: "button", Depth: 2},
	})
	want := []Node{
		{Ref: "e1", Role: "generic"},
		{Ref: "e2", Role: "generic", Name: "One", Depth: 1},
		{Ref: "e3", Role: "generic", Depth: 1},
		{Role: "text", Name: "Two", Depth: 2},
		{Ref: "e4", Role: "button", Depth: 2},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
}

func TestMarks(t *testing.T) {
	for html, want := range map[string]appearance{
		`<circle class="c" id="(1,2)" cx="10" cy="10" r="5" fill="red"></circle>`: {tag: "circle", class: "c", id: "(1,2)", color: "red", size: 10},
		`<polygon points="10,20 15,10 20,20" fill="aqua">`:                        {tag: "polygon", color: "aqua", size: 10},
		`<div class="color" style="background-color: rgb(1, 2, 3);"></div>`:       {tag: "div", class: "color", color: "rgb(1, 2, 3)"},
	} {
		if got := marks(html); got != want {
			t.Errorf("%s: got %+v, want %+v", html, got, want)
		}
	}
}

func TestColors(t *testing.T) {
	for color, want := range map[string][3]int{
		"#00ff00": {0, 255, 0}, "rgb(1, 2, 3)": {1, 2, 3}, "hsl(120, 100%, 25%)": {0, 127, 0}, "red": {255, 0, 0}, "nothing": {-1},
	} {
		got := rgbOf(color)
		if math.Abs(float64(got[0]-want[0])+float64(got[1]-want[1])+float64(got[2]-want[2])) > 1 {
			t.Errorf("%s: got %v, want %v", color, got, want)
		}
	}
	for color, want := range map[string]string{"#800000": "red", "hsl(120, 40%, 80%)": "green", "rgb(90, 90, 200)": "blue", "#777777": ""} {
		if got := hue(color); got != want {
			t.Errorf("%s: got %q, want %q", color, got, want)
		}
	}
}

// X takes the third of a row, and stands in the way of O's.
func TestBest(t *testing.T) {
	for _, c := range []struct {
		board [9]int
		want  int
	}{
		{[9]int{1, 1, 0, -1, -1}, 2},
		{[9]int{-1, -1, 0, 1, 0, 0, 1}, 2},
	} {
		if _, got := best(c.board, 1); got != c.want {
			t.Errorf("%v: got %d, want %d", c.board, got, c.want)
		}
	}
}

func TestTarget(t *testing.T) {
	grid := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
	for words, want := range map[string]int{
		"to the top left": 0, "to the center": 4, "to the bottom center": 7, "up by one": 1, "down by one": 7, "left by one": 3, "to the 5th position": 4,
	} {
		if got := target(words, grid, "e", 3); got != want {
			t.Errorf("%s: got %d, want %d", words, got, want)
		}
	}
}
