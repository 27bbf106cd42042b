package main

import (
	"context"
	"fmt"
	"os"
	"testing"
)

func TestDbg(t *testing.T) {
	task := os.Getenv("DBG")
	root, _, _ := tasksIn("/tmp/mw")
	s, _ := newSite(root)
	b, err := startBrowserd()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	e, url := s.begin(task, 1)
	ctx := context.Background()
	b.Open(ctx, url)
	s.words(ctx, e)
	p := &play{ctx: ctx, tool: b, ask: e.Words, fields: e.Fields, over: func() bool { return false }}
	p.look()
	for _, n := range p.nodes {
		if n.Attrs["class"] == "like" || n.Attrs["class"] == "more" || n.Name == "Forward" {
			fmt.Println(n.Ref, n.Attrs, p.box(n))
			p.err = nil
		}
	}
	for _, n := range p.nodes {
		if n.Attrs["class"] == "like" {
			raw, err := b.Raw(ctx, "click", map[string]any{"ref": n.Ref})
			fmt.Println(string(raw), err)
			fmt.Println(p.box(n), p.err)
			break
		}
	}
	fmt.Println(e.Done, e.Reward)
}
