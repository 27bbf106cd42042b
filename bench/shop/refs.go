package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// visit is a player who sees and acts by refs. The first failure stays in err, and nothing is
// done after it.
type visit struct {
	ctx    context.Context
	d      driver.Driver
	shown  driver.Snapshot
	answer string
	err    error
}

// look reads what the tool shows: what its last answer showed, or else a snapshot.
func (v *visit) look() {
	if v.err != nil {
		return
	}
	if s, ok := v.d.(driver.Shower); ok {
		if shown, fresh := s.Shown(); fresh {
			v.shown = shown
			return
		}
	}
	v.shown, v.err = v.d.Snapshot(v.ctx, driver.Default)
}

// text is what the page says. agent-browser's default snapshot has its controls alone.
func (v *visit) text() string {
	if v.err != nil || v.d.Name() != "agent-browser" {
		return v.shown.Text
	}
	v.shown, v.err = v.d.Snapshot(v.ctx, driver.Whole)
	return v.shown.Text
}

// find returns the ref of the control with the name. A list that comes a moment later is
// looked at again.
func (v *visit) find(role, name string) string {
	for range 20 {
		i := slices.IndexFunc(v.shown.Nodes, func(n driver.Node) bool { return n.Role == role && n.Name == name && n.Ref != "" })
		if v.err != nil {
			return ""
		}
		if i >= 0 {
			return v.shown.Nodes[i].Ref
		}
		time.Sleep(100 * time.Millisecond) // a model takes longer
		v.look()
	}
	v.fail("no %s %q in:\n%s", role, name, v.shown.Text)
	return ""
}

func (v *visit) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf(format, args...)
	}
}

// on acts on a control, and looks.
func (v *visit) on(role, name string, act func(ref string) error) {
	if v.err != nil {
		return
	}
	ref := v.find(role, name)
	if v.err == nil {
		if err := act(ref); err != nil {
			v.fail("%s %q: %w", role, name, err)
		}
	}
	v.look()
}

func (v *visit) click(role, name string) {
	v.on(role, name, func(ref string) error { return v.d.Click(v.ctx, ref) })
}

func (v *visit) write(role, name, text string) {
	v.on(role, name, func(ref string) error { return v.d.Type(v.ctx, ref, text) })
}

func (v *visit) choose(name, option string) {
	v.on("combobox", name, func(ref string) error { return v.d.Select(v.ctx, ref, option) })
}

// read answers with the first match in what the page says. What comes a moment later, such as
// the next page, is looked at again.
func (v *visit) read(pattern string) {
	for n := 0; v.err == nil; n++ {
		text := v.text()
		if v.answer = regexp.MustCompile(pattern).FindString(text); v.answer != "" {
			return
		}
		if n == 20 {
			v.fail("nothing like %s in:\n%s", pattern, text)
		}
		time.Sleep(100 * time.Millisecond)
		v.look()
	}
}

// byRefs are the players of the tasks.
var byRefs = map[string]func(*visit){
	"order": func(v *visit) {
		v.write("textbox", "User", "ann")
		v.write("textbox", "Password", "tea-4711")
		v.click("button", "Log in")
		v.click("link", "Order 1042")
		v.read(`(?s)Total:.*?\d+\.\d\d`)
	},
	"prices": func(v *visit) {
		v.write("textbox", "Search the shop", "kettle")
		v.click("button", "Search")
		var found []string
		for n := range 3 {
			if n > 0 {
				v.click("link", "Next page")
			}
			v.read(fmt.Sprintf("Page %d of 3", n+1))
			found = append(found, regexp.MustCompile(`Kettle \d+: [\d.]+\d`).FindAllString(v.shown.Text, -1)...)
		}
		v.answer = cheapest(found)
	},
	"form": func(v *visit) {
		v.write("textbox", "Full name", "Ann Lee")
		v.write("textbox", "Phone", "12 34 56")
		v.click("button", "Next")
		v.read("digits only|Step 2 of 2")
		if v.answer == "digits only" {
			v.write("textbox", "Phone", "123456")
			v.click("button", "Next")
		}
		v.choose("Plan", "Family")
		v.click("button", "Register")
		v.read("Welcome, Ann Lee")
	},
	"table": func(v *visit) {
		v.choose("Category", "Tea")
		v.click("button", "Price")
		v.read(`Tea \d+`)
		v.click("link", "Export")
	},
	"cart": func(v *visit) {
		v.click("button", "Add Oolong to the cart")
		v.read("In the cart: 1")
		v.click("button", "Add Cocoa to the cart")
		v.read("In the cart: 2")
		v.click("link", "Cart")
		v.write("spinbutton", "Quantity of Cocoa", "3")
		v.click("button", "Order")
		v.read(`N-\d+`)
	},
	"autocomplete": func(v *visit) {
		v.write("combobox", "Product", "lap")
		v.click("option", "Lapsang Souchong")
		v.read(`LS-\d+`)
	},
}

// cheapest returns the product with the lowest price.
func cheapest(found []string) string {
	price := func(s string) (n float64) {
		_, after, _ := strings.Cut(s, ": ")
		fmt.Sscan(after, &n)
		return n
	}
	if len(found) == 0 {
		return ""
	}
	return slices.MinFunc(found, func(a, b string) int {
		if price(a) < price(b) {
			return -1
		}
		return 1
	})
}
