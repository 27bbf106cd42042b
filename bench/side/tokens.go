package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/browserd/browserd/bench/driver"
)

func (b *suite) toolLists() error {
	count, err := driver.TokenCounter()
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "The answer to tools/list, in tokens (o200k_base):\n\n| | tools | tokens |\n|---|---|---|\n")
	row := func(t driver.Tool, name, set string) {
		ctx, cancel := context.WithTimeout(b.ctx, commandTimeout)
		defer cancel()
		raw, err := t.ToolList(ctx, b.o, set)
		var list struct{ Tools []json.RawMessage }
		if err == nil {
			err = json.Unmarshal(raw, &list)
		}
		if err != nil {
			fmt.Fprintf(b.out, "| %s | failed: %s | |\n", name, oneLine(err.Error()))
			return
		}
		fmt.Fprintf(b.out, "| %s | %d | %d |\n", name, len(list.Tools), count(string(raw)))
	}
	for _, t := range b.direct(false) {
		if t.Name != reference {
			row(t, t.Name, "")
			continue
		}
		row(t, t.Name, "default")
		row(t, t.Name+", all tools", "all")
	}
	fmt.Fprintln(b.out)
	return nil
}

// acted are roles of what one acts on, as the tools say them.
var acted = map[string]bool{
	"link": true, "button": true, "textbox": true, "searchbox": true, "checkbox": true, "radio": true, "combobox": true, "listbox": true,
	"option": true, "slider": true, "spinbutton": true, "switch": true, "tab": true, "menuitem": true, "treeitem": true,
}

// actable is whether a node is one of the interactive elements that are counted.
func actable(n driver.Node) bool { return n.Ref != "" && acted[n.Role] }

func (b *suite) tokens() error {
	count, err := driver.TokenCounter()
	if err != nil {
		return err
	}
	members, stop := b.fleet(b.direct(false))
	defer stop()
	names, urls := b.site.others()
	pages := append([]string{"30 elements", "1500 elements"}, names...)
	urls["30 elements"], urls["1500 elements"] = b.site.shop(30), b.site.shop(1500)
	fmt.Fprintf(b.out, "Tokens (o200k_base) of what a model reads, and in brackets how many interactive elements with a ref are in it "+
		"(%s). First the default snapshot; below it, where it is another, every interactive element of the page without budgets; last the lines of those elements alone, "+
		"unindented, without attributes where the tool can leave them out.\n\n| |", strings.Join(sorted(acted), ", "))
	for _, p := range pages {
		fmt.Fprintf(b.out, " %s |", p)
	}
	fmt.Fprintf(b.out, "\n|---|%s\n", strings.Repeat("---|", len(pages)))
	for _, m := range members {
		kinds := []driver.Kind{driver.Default}
		if m.name == reference {
			kinds = append(kinds, driver.Interactive)
		}
		for _, kind := range append(kinds, driver.Plain) {
			name := m.name
			switch kind {
			case driver.Interactive:
				name += ", no budgets"
			case driver.Plain:
				name += ", the elements' lines"
			}
			fmt.Fprintf(b.out, "| %s |", name)
			for _, p := range pages {
				fmt.Fprintf(b.out, " %s |", b.counted(m, urls[p], kind, count))
			}
			fmt.Fprintln(b.out)
		}
	}
	fmt.Fprintln(b.out)
	return nil
}

func (b *suite) counted(m *member, url string, kind driver.Kind, count func(string) int) string {
	ctx, cancel := context.WithTimeout(b.ctx, commandTimeout)
	defer cancel()
	if err := m.d.Open(ctx, url); err != nil {
		return "failed: " + oneLine(err.Error())
	}
	s, err := m.d.Snapshot(ctx, kind)
	if err != nil {
		return "failed: " + oneLine(err.Error())
	}
	n := 0
	for _, node := range s.Nodes {
		if actable(node) {
			n++
		}
	}
	text := s.Text
	if kind == driver.Plain {
		text = elementLines(s)
	}
	return fmt.Sprintf("%d (%d)", count(text), n)
}

// lineRef is the ref of a line, as the tools write it.
var lineRef = regexp.MustCompile(`(?:^@|\bref=|\buid=)(\w+)|^(e\d+):`)

// elementLines are the lines of a snapshot that stand for interactive elements.
func elementLines(s driver.Snapshot) string {
	refs := map[string]bool{}
	for _, n := range s.Nodes {
		if actable(n) {
			refs[strings.TrimPrefix(n.Ref, "@")] = true
		}
	}
	var b strings.Builder
	for line := range strings.Lines(s.Text) {
		line = strings.TrimSpace(line)
		if m := lineRef.FindStringSubmatch(line); m != nil && refs[m[1]+m[2]] {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
