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
	"github.com/browserd/browserd/internal/untested"
)

// miniwob is a copy of the tasks: that of MINIWOB, or the one that an earlier run has cloned.
func miniwob() string {
	if dir := os.Getenv("MINIWOB"); dir != "" {
		return dir
	}
	cache, _ := os.UserCacheDir()
	return filepath.Join(cache, "browserd-bench", "miniwob-"+commit[:12])
}

// A handful of episodes, one of each kind of player, are won, and what they took is told.
func TestEpisodes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	peers, err := driver.PeersDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.Install(ctx, peers, nil); err != nil {
		untested.Missing(t, "TodoMVC: %v", err)
	}
	tasks := []string{"todomvc-backbone", "todomvc-react"}
	root, names := "", []string(nil)
	if root, names, err = tasksIn(miniwob()); len(names) > 0 {
		tasks = append(tasks, "click-color", "drag-circle", "email-inbox", "use-slider", "use-autocomplete-nodelay")
	} else {
		t.Log(err)
	}
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(testdaemon.RemoveBinary)
	s, err := newSite(root, driver.TodoMVC(peers))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	count, err := driver.TokenCounter()
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat("/proc/self/schedstat")
	counted := err == nil
	for _, name := range []string{"browserd", "browserd (MCP)"} {
		tool, err := driver.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := newContender(ctx, tool, driver.Options{Browserd: bin}, count)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { c.driver.Close() }()
		for _, task := range tasks {
			if err := c.play(ctx, s, task, 1, false); err != nil {
				t.Fatal(err)
			}
			r := c.played[len(c.played)-1]
			if !r.Won {
				t.Errorf("%s, %s was lost: %s", name, task, r.Lost)
			}
			if r.Calls == 0 || r.Tokens < 10*r.Calls || r.Opening <= 0 || r.Waited <= 0 || r.Processor <= 0 && counted {
				t.Errorf("%s, %s: it took %+v", name, task, r)
			}
		}
	}
}

// Every task is played, or it is said why not.
func TestEveryTask(t *testing.T) {
	_, names, err := tasksIn(miniwob())
	if err != nil {
		untested.Skip(t, "%v; MINIWOB names one, make step clones one", err)
	}
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
