package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// Node is one line of a tool's snapshot: what a model reads of it.
type Node driver.Node

// Is tells whether the node is there.
func (n Node) Is() bool { return n.Role != "" }

// Has tells whether a state is shown.
func (n Node) Has(state string) bool { return slices.Contains(n.States, state) }

// Acts tells whether a tool lets it be acted on and says that it can be.
func (n Node) Acts() bool {
	return n.Ref != "" && n.Role != "text" && (n.Role != "generic" || n.Has("clickable") || n.Has("focusable") || n.Attrs["cursor"] == "pointer")
}

// play is an episode as a player sees it. The first failure stays in err, and
// nothing is done after it.
type play struct {
	ctx    context.Context
	tool   driver.Driver
	ask    string            // what is asked for
	unsaid bool              // the page does not show it
	fields map[string]string // the same in parts, where the task gives them
	over   func() bool
	nodes  []Node // of the last snapshot, without the page's own words and scores
	all    []Node // the same with them
	trace  bool
	steps  int // commands
	err    error
}

func (p *play) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// ok tells whether to go on: nothing has failed and the page has not ended it.
func (p *play) ok() bool { return p.err == nil && !p.over() }

func (p *play) do(what string, f func() error) {
	if p.err != nil || p.over() {
		return
	}
	if p.steps >= maxSteps {
		p.fail("gave up after %d steps", p.steps)
		return
	}
	p.steps++
	if p.trace {
		fmt.Println("   ", what)
	}
	err := f()
	if err != nil && strings.Contains(err.Error(), "ref_changed") { // it has been said what changed: again it acts
		p.steps++
		err = f()
	}
	if err != nil {
		p.fail("%s: %w", what, err)
	}
}

// maxSteps ends a player that goes round in circles.
const maxSteps = 500

func (p *play) snapshot() []Node {
	var whole []Node
	if strings.HasPrefix(p.tool.Name(), "agent-browser") {
		whole = p.shown(driver.Whole)
	}
	if t, ok := p.tool.(driver.Shower); ok && p.ok() {
		if s, fresh := t.Shown(); fresh { // what the last answer showed: no step
			return p.seen(withText(s.Nodes))
		}
	}
	all := p.shown(driver.Default)
	if whole != nil {
		all = both(whole, all)
	}
	return p.seen(all)
}

func (p *play) seen(all []Node) []Node {
	p.all, p.nodes = all, all
	if !p.unsaid {
		p.nodes = task(all, p.ask)
	}
	return p.nodes
}

func (p *play) shown(kind driver.Kind) (nodes []Node) {
	p.do("snapshot", func() error {
		got, err := p.tool.Snapshot(p.ctx, kind)
		nodes = withText(got.Nodes)
		return err
	})
	return nodes
}

// both puts agent-browser's two snapshots together: the one for interactive
// elements says nothing of the page's text, which most tasks are about, and the
// whole one does not show all that the first one does. Refs are those of the
// first, which was taken last.
func both(whole, acting []Node) (out []Node) {
	j := 0
	for _, n := range whole {
		if n.Ref != "" {
			k := j
			for k < len(acting) && (acting[k].Role != n.Role || acting[k].Name != n.Name) {
				k++
			}
			n.Ref = ""
			if k < len(acting) {
				out = append(out, acting[j:k]...)
				n.Ref, n.States, j = acting[k].Ref, acting[k].States, k+1
			}
		}
		out = append(out, n)
	}
	return append(out, acting[j:]...)
}

// withText gives an element without a name that holds a text and nothing else
// that text as its name: its ref is what one takes to click the text.
func withText(nodes []driver.Node) []Node {
	var out []Node
	for i := 0; i < len(nodes); i++ {
		n := nodes[i]
		alone := i+1 < len(nodes) && isText(nodes[i+1]) && nodes[i+1].Depth > n.Depth && (i+2 == len(nodes) || nodes[i+2].Depth <= n.Depth)
		if alone && n.Ref != "" && n.Name == "" && !Node(n).fields() && !isText(n) {
			n.Name = nodes[i+1].Name
			i++
		}
		if isText(n) {
			n.Role = "text"
		}
		out = append(out, Node(n))
	}
	return out
}

func isText(n driver.Node) bool { return n.Role == "text" || n.Role == "StaticText" }

var scores = regexp.MustCompile(`^(Last reward:|Last 10 average:|Time left:|Episodes done:)`)

// task leaves out what the page repeats of what it asks, and its scores.
func task(nodes []Node, ask string) []Node {
	var out []Node
	left := len(fold(ask))
	asking, scoring := true, 0
	for _, n := range nodes {
		name := fold(n.Name)
		if scores.MatchString(name) {
			scoring = 0
			if strings.HasSuffix(name, ":") {
				scoring = 1 // its figure follows
			}
			continue
		}
		if scoring > 0 && n.Role != "canvas" {
			scoring--
			continue
		}
		if asking && left > 0 && name != "" && !n.fields() && (strings.Contains(fold(ask), name) || strings.Contains(name, fold(ask))) {
			left -= len(name) + 1
			continue
		}
		if asking && name != "" {
			asking = left > 2
		}
		out = append(out, n)
	}
	return out
}

func (n Node) fields() bool {
	switch n.Role {
	case "button", "link", "textbox", "checkbox", "radio", "combobox", "listbox", "option", "tab", "menuitem", "spinbutton", "slider", "heading":
		return true
	}
	return false
}

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// of returns the nodes of the roles.
func (p *play) of(roles ...string) []Node {
	var out []Node
	for _, n := range p.nodes {
		if slices.Contains(roles, n.Role) {
			out = append(out, n)
		}
	}
	return out
}

// nth returns the nth node of the roles, from 1.
func (p *play) nth(i int, roles ...string) Node {
	if all := p.of(roles...); i >= 1 && i <= len(all) {
		return all[i-1]
	}
	if p.ok() {
		p.fail("no %d. %s", i, strings.Join(roles, " or "))
	}
	return Node{}
}

// try returns the node to act on that has the name: a control before what is
// only clickable, and that before text.
func (p *play) try(name string, roles ...string) Node {
	best, rank := Node{}, 0
	for _, n := range p.nodes {
		if n.Ref == "" || fold(n.Name) != name || len(roles) > 0 && !slices.Contains(roles, n.Role) {
			continue
		}
		r := 1
		if n.Acts() {
			r = 2
		}
		if n.fields() {
			r = 3
		}
		if r > rank {
			best, rank = n, r
		}
	}
	return best
}

// named is try, and fails where there is none.
func (p *play) named(name string, roles ...string) Node {
	n := p.try(name, roles...)
	if !n.Is() && p.ok() {
		p.fail("nothing is called %q", name)
	}
	return n
}

// clickables returns what can be clicked and is no form control.
func (p *play) clickables() []Node {
	var out []Node
	for _, n := range p.nodes {
		if n.Acts() && !n.fields() && n.Role != "canvas" {
			out = append(out, n)
		}
	}
	return out
}

// texts returns what is said, in order.
func (p *play) texts() []string {
	var out []string
	for _, n := range p.nodes {
		if s := fold(n.Name); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// at returns the index of the first node, from i on, that says what the
// expression matches; -1 where none does.
func (p *play) at(expr string, from int) int {
	re := regexp.MustCompile(expr)
	for i := max(from, 0); i < len(p.nodes); i++ {
		if re.MatchString(fold(p.nodes[i].Name)) {
			return i
		}
	}
	return -1
}

// after returns the first node of the roles behind index i.
func (p *play) after(i int, roles ...string) Node {
	for _, n := range p.nodes[max(0, min(i, len(p.nodes))):] {
		if slices.Contains(roles, n.Role) {
			return n
		}
	}
	if p.ok() {
		p.fail("no %s follows", strings.Join(roles, " or "))
	}
	return Node{}
}

func (p *play) click(n Node) {
	if n.Ref == "" {
		if p.ok() {
			p.fail("%s %q has no ref", n.Role, n.Name)
		}
		return
	}
	p.do("click "+n.Role+" "+n.Name, func() error {
		err := p.tool.Click(p.ctx, n.Ref)
		if err != nil && strings.Contains(err.Error(), "covered") && !strings.HasPrefix(p.tool.Name(), "browserd") { // which waits by itself
			p.sleep(500 * time.Millisecond)
			p.steps++
			err = p.tool.Click(p.ctx, n.Ref)
		}
		return err
	})
}

// finish clicks what ends the episode; where the page has not answered, it
// looks and clicks again, as a person would.
func (p *play) finish(find func() Node) {
	for range 3 {
		p.click(find())
		for range 5 {
			if !p.ok() {
				return
			}
			p.sleep(20 * time.Millisecond)
		}
		p.snapshot()
	}
}

func (p *play) write(n Node, text string) {
	if n.Ref == "" {
		p.fail("%s %q has no ref", n.Role, n.Name)
		return
	}
	p.do("type", func() error { return p.tool.Type(p.ctx, n.Ref, text) })
}

func (p *play) press(keys ...string) {
	for _, k := range keys {
		p.do("press", func() error { return p.tool.Press(p.ctx, k) })
	}
}

func (p *play) choose(n Node, labels ...string) {
	if n.Ref == "" {
		p.fail("%s %q has no ref", n.Role, n.Name)
		return
	}
	p.do("select", func() error { return p.pick(n.Ref, labels) })
}

func (p *play) pick(ref string, labels []string) error {
	if len(labels) == 1 {
		return p.tool.Select(p.ctx, ref, labels[0])
	}
	m, ok := p.tool.(driver.ManySelector)
	if !ok {
		return errors.New("the tool selects one option only")
	}
	return m.SelectMany(p.ctx, ref, labels)
}

func (p *play) hover(n Node) {
	p.do("hover", func() error { return p.tool.Hover(p.ctx, n.Ref) })
}

func (p *play) drag(from, to Node) {
	if from.Ref == "" || to.Ref == "" {
		if p.ok() {
			p.fail("nothing to drag, or nowhere to")
		}
		return
	}
	p.do("drag", func() error { return p.tool.Drag(p.ctx, from.Ref, to.Ref) })
}

// focus puts the focus on a node, by a click where the tool has nothing else.
func (p *play) focus(n Node) {
	if f, ok := p.tool.(driver.Focuser); ok && n.Ref != "" {
		p.do("focus", func() error { return f.Focus(p.ctx, n.Ref) })
		return
	}
	p.click(n)
}

// keys types key by key where the tool can.
func (p *play) keys(n Node, text string) {
	if k, ok := p.tool.(driver.KeyTyper); ok && n.Ref != "" {
		p.do("type", func() error { return k.TypeKeys(p.ctx, n.Ref, text) })
		return
	}
	p.write(n, text)
}

func (p *play) read(n Node, kind string) string {
	r, ok := p.tool.(driver.Reader)
	if !ok {
		p.fail("the tool does not read %s", kind)
		return ""
	}
	var s string
	p.do("read "+kind, func() (err error) {
		s, err = r.Read(p.ctx, n.Ref, kind)
		return err
	})
	return s
}

// find returns what shows a text: as the tool finds it, otherwise from the last snapshot.
func (p *play) find(text string) Node {
	if f, ok := p.tool.(driver.Finder); ok && p.ok() {
		var found []driver.Node
		p.do("find", func() (err error) {
			found, err = f.Find(p.ctx, text)
			return err
		})
		for _, n := range found {
			if fold(n.Name) == text {
				return Node(n)
			}
		}
		if len(found) == 1 {
			return Node(found[0])
		}
	}
	if n := p.try(text); n.Is() {
		return n
	}
	for _, n := range p.all {
		if n.Ref != "" && strings.Contains(fold(n.Name), text) {
			return n
		}
	}
	if p.ok() {
		p.fail("%q is not found", text)
	}
	return Node{}
}

func (p *play) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.ctx.Done():
	}
}

// submit presses what ends the form.
func (p *play) submit() {
	for _, name := range []string{"Submit", "submit", "Search", "Login", "OK", "Go!"} {
		if n := p.try(name); n.Is() && n.Ref != "" {
			p.click(n)
			return
		}
	}
	if p.ok() {
		p.fail("there is no Submit")
	}
}

// box is where an element is.
func (p *play) box(n Node) (b driver.Box) {
	m, ok := p.tool.(driver.Pointer)
	if !ok {
		p.fail("the tool does not say where an element is")
		return
	}
	p.do("box", func() (err error) {
		b, err = m.Box(p.ctx, n.Ref)
		return err
	})
	return b
}

// middle is the point in the middle of an element.
func (p *play) middle(n Node) (x, y float64) {
	b := p.box(n)
	return b.X + b.Width/2, b.Y + b.Height/2
}

func (p *play) mouse(action string, x, y float64) {
	m, ok := p.tool.(driver.Pointer)
	if !ok {
		p.fail("the tool has no mouse by coordinates")
		return
	}
	p.do("mouse "+action, func() error { return m.Mouse(p.ctx, action, x, y) })
}

// pull drags with the mouse from one point to another.
func (p *play) pull(x, y, toX, toY float64) {
	p.mouse("move", x, y)
	p.mouse("down", x, y)
	p.mouse("move", (x+toX)/2, (y+toY)/2)
	p.mouse("move", toX, toY)
	p.mouse("up", toX, toY)
}

// quoted returns what stands in double quotes in what is asked, in order.
func (p *play) quoted() []string {
	var out []string
	for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(p.ask, -1) {
		out = append(out, m[1])
	}
	return out
}

// match returns the groups of the expression in what is asked, each a string;
// where it does not match the player fails and they are empty.
func (p *play) match(expr string) []string {
	re := regexp.MustCompile(expr)
	m := re.FindStringSubmatch(p.ask)
	if m == nil {
		p.fail("does not understand %q", p.ask)
		m = make([]string, re.NumSubexp()+1)
	}
	return m[1:]
}
