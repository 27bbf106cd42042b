package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// kill kills one of Chromium's renderers every now and then, and
// Chromium itself less often, until ctx ends. Which session it hits is chance.
func (g *game) kill(ctx context.Context, r *rand.Rand, renderer, browser time.Duration) {
	next := time.Now().Add(browser)
	for {
		pause(ctx, renderer/2+time.Duration(r.Int64N(int64(renderer))))
		if !g.enter(ctx) {
			return
		}
		kind := "renderer"
		if time.Now().After(next) {
			kind, next = "browser", time.Now().Add(browser)
		}
		if list := g.daemon.Chromium(kind); len(list) > 0 {
			list[r.IntN(len(list))].Kill()
			g.tally.count("killed: " + kind)
		}
		g.leave()
	}
}
