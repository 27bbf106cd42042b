package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"
)

func main() {
	dir := flag.String("miniwob", "", "")
	show := flag.String("show", "", "")
	only := flag.String("tasks", "", "")
	seed := flag.Int("seed", 1, "")
	seeds := flag.Int("seeds", 3, "")
	trace := flag.Bool("trace", false, "")
	only1 := flag.Int("one", 0, "")
	verbose := flag.Bool("v", false, "")
	flag.Parse()
	root, names, err := tasksIn(*dir)
	if err != nil {
		panic(err)
	}
	s, err := newSite(root)
	if err != nil {
		panic(err)
	}
	t, err := startBrowserd()
	if err != nil {
		panic(err)
	}
	defer t.Close()
	ctx := context.Background()
	if *show != "" {
		for _, n := range names {
			if *show != "all" && !strings.Contains(","+*show+",", ","+n+",") {
				continue
			}
			e, url := s.begin(n, *seed)
			if err := t.Open(ctx, url); err != nil {
				fmt.Println("=====", n, err)
				continue
			}
			w, err := s.words(ctx, e)
			text, err2 := t.SnapText(ctx)
			fmt.Println("=====", n, err, err2, "\nASK:", w)
			fmt.Println(text)
		}
		return
	}
	sort.Strings(names)
	won, total, steps := 0, 0, 0
	for _, n := range names {
		f := players[n]
		if *only != "" && !strings.Contains(","+*only+",", ","+n+",") {
			continue
		}
		if f == nil {
			if leftOut[n] == "" {
				fmt.Println("no player:", n)
			}
			continue
		}
		w := 0
		reasons := map[string]int{}
		begin := time.Now()
		for seed := 1; seed <= *seeds; seed++ {
			if *only1 > 0 && seed != *only1 {
				continue
			}
			e, url := s.begin(n, seed)
			ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
			if err := t.Open(ctx, url); err != nil {
				reasons[err.Error()]++
				continue
			}
			words, err := s.words(ctx, e)
			if err != nil {
				reasons[err.Error()]++
				continue
			}
			p := &play{ctx: ctx, tool: t, ask: words, fields: e.Fields, over: func() bool { return s.over(e, 0) }, trace: *trace}
			f(p)
			s.over(e, 300*time.Millisecond)
			total++
			steps += p.steps
			if e.Done && e.Reward >= 0.99 {
				w++
			} else {
				r := fmt.Sprintf("seed %d %q: done=%v reward=%v %s err=%v", seed, words, e.Done, e.Reward, e.Reason, p.err)
				reasons[r]++
				if *verbose {
					text, _ := t.SnapText(ctx)
					fmt.Println(r)
					fmt.Println(text)
				}
			}
			cancel()
		}
		won += w
		fmt.Printf("%-30s %d/%d %v\n", n, w, *seeds, time.Since(begin).Round(time.Millisecond))
		for r := range reasons {
			fmt.Println("     ", r)
		}
	}
	fmt.Printf("%d/%d = %.1f%%, %.1f steps\n", won, total, 100*float64(won)/float64(total), float64(steps)/float64(total))
	_ = os.Args
}
