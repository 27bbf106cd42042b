package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// How a recording is measured: rounds of clicks at once one after the other, as a script does them, and of clicks
// after each of which the client thinks, as a model does.
const (
	recordedRounds = 5
	recordedClicks = 20
	thoughtClicks  = 6
	thinks         = 1200 * time.Millisecond
	lastPicture    = 400 * time.Millisecond // by when the last click has its picture; the meter runs on, so it thins each case alike
)

// cards is a page of which a picture has something to show. Its button is called Count, as those of the other pages.
var cards = `<!doctype html><title>cards</title><h1>Shop</h1><label>Name <input></label>
	<button onclick="n=(window.n||0)+1;out.textContent=n+' in the cart';list.insertAdjacentHTML('beforeend','<li>Item '+n)">Count</button><output id=out></output><ul id=list></ul>` +
	strings.Repeat(`<article style="display:inline-block;width:200px;border:1px solid #ccc;background:linear-gradient(#fff,#eef)"><h2>Item</h2><p>Lorem ipsum dolor sit amet</p></article>`, 40)

// recordings says what a trace and a video cost, by turns, and what a picture costs a Chromium that does nothing else.
func (b *suite) recordings() error {
	var tools []driver.Tool
	for _, kind := range []string{"", "trace", "video"} {
		t, err := driver.Named(reference)
		if err != nil {
			return err
		}
		if kind != "" {
			t = t.Recorded(kind)
		}
		tools = append(tools, t)
	}
	members, stop := b.fleet(tools)
	defer stop()
	rounds := recordedRounds
	if b.quick {
		rounds = 2
	}
	fmt.Fprintf(b.out, "Processor time of a click with its delta, daemon and Chromium, medians of %d rounds by turns; in brackets times that of a session that is not recorded.\n\n| ms |", rounds)
	for _, m := range members {
		fmt.Fprintf(b.out, " %s |", m.name)
	}
	fmt.Fprintf(b.out, "\n|---|%s\n", strings.Repeat("---|", len(members)))
	pages := []struct{ name, url string }{{"40 cards", b.site.URL + "/cards"}, {"1,500 elements", b.site.shop(1500)}}
	for _, url := range b.recorded {
		pages = append(pages, struct{ name, url string }{url, url})
	}
	for _, page := range pages {
		for _, m := range members {
			if err := b.limited(m, find(page.url, "button", "Count")); err != nil {
				return fmt.Errorf("%s: %w", page.name, err)
			}
		}
		for _, how := range []struct {
			name   string
			clicks int
			pause  time.Duration
		}{{fmt.Sprintf("%d clicks at once", recordedClicks), recordedClicks, 0}, {fmt.Sprintf("%d clicks, %v between them", thoughtClicks, thinks), thoughtClicks, thinks}} {
			costs := map[string][]time.Duration{}
			for round := range rounds + 1 {
				for i := range members {
					m := members[(i+round)%len(members)]
					cost, err := b.clicks(m, how.clicks, how.pause)
					if err != nil {
						return fmt.Errorf("%s, %s: %w", m.name, page.name, err)
					}
					if round > 0 { // the first one warms
						costs[m.name] = append(costs[m.name], cost)
					}
				}
			}
			fmt.Fprintf(b.out, "| %s, %s |", page.name, how.name)
			without := quantile(costs[reference], 0.5)
			for _, m := range members {
				cost := quantile(costs[m.name], 0.5)
				fmt.Fprintf(b.out, " %s (%.2f) |", ms(cost), float64(cost)/float64(without))
			}
			fmt.Fprintln(b.out)
		}
	}
	fmt.Fprintln(b.out)
	return b.pictures(rounds)
}

// clicks returns what one of so many clicks takes of the processor.
func (b *suite) clicks(m *member, times int, pause time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(b.ctx, commandTimeout)
	defer cancel()
	before := m.meter.Read()
	for range times {
		if _, err := m.d.ClickAndSee(ctx, m.ref); err != nil {
			return 0, err
		}
		time.Sleep(pause)
	}
	time.Sleep(lastPicture)
	return (m.meter.Read() - before) / time.Duration(times), nil
}

// pictures says what the pictures of a click cost in a Chromium that is asked for nothing else.
func (b *suite) pictures(rounds int) error {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Minute)
	defer cancel()
	c, err := startBare(ctx, b.o.Chromium)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.call(ctx, "Emulation.setDeviceMetricsOverride", object{"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": false}, nil); err != nil {
		return err
	}
	if err := c.open(ctx, b.site.URL+"/cards"); err != nil {
		return err
	}
	screencast := func(format string, side, quality int) object {
		return object{"format": format, "quality": quality, "maxWidth": side, "maxHeight": side, "sendLastFrame": true}
	}
	cases := []struct {
		name string
		cast object // nil: none
		shot object // nil: none
	}{
		{"none", nil, nil},
		{"screencast, JPEG, 160 wide", screencast("jpeg", 160, 50), nil},
		{"screencast, JPEG, 800 wide", screencast("jpeg", 800, 50), nil},
		{"screencast, JPEG, 1280 wide", screencast("jpeg", 1280, 50), nil},
		{"screencast, WebP, 800 wide", screencast("webp", 800, 30), nil},
		{"screenshot, JPEG, 1280 wide", nil, object{"format": "jpeg", "quality": 50, "optimizeForSpeed": true}},
		{"screenshot, WebP, 1280 wide", nil, object{"format": "webp", "quality": 30}},
	}
	costs := map[string][]time.Duration{}
	frames := map[string]int{}
	meter := driver.NewMeter(c)
	for round := range rounds + 1 {
		for i := range cases {
			k := cases[(i+round)%len(cases)]
			if k.cast != nil {
				if err := c.call(ctx, "Page.startScreencast", k.cast, nil); err != nil {
					return err
				}
			}
			time.Sleep(lastPicture)
			before, shown := meter.Read(), c.frames.Load()
			for range recordedClicks {
				if err := c.click(ctx, "button"); err != nil {
					return err
				}
				if k.shot != nil {
					if err := c.call(ctx, "Page.captureScreenshot", k.shot, nil); err != nil {
						return err
					}
				}
				time.Sleep(150 * time.Millisecond) // a screencast has ten pictures a second at most
			}
			time.Sleep(lastPicture)
			if round > 0 {
				costs[k.name] = append(costs[k.name], (meter.Read()-before)/recordedClicks)
				frames[k.name] += int(c.frames.Load() - shown)
			}
			if k.cast != nil {
				if err := c.call(ctx, "Page.stopScreencast", object{}, nil); err != nil {
					return err
				}
			}
		}
	}
	fmt.Fprintf(b.out, "What a picture costs: bare Chromium by the DevTools protocol, the page of 40 cards, three mouse events and a picture; medians of %d rounds of %d by turns.\n\n"+
		"| picture | processor, ms | above none | pictures a click |\n|---|---|---|---|\n", rounds, recordedClicks)
	none := quantile(costs["none"], 0.5)
	for _, k := range cases {
		cost := quantile(slices.Clone(costs[k.name]), 0.5)
		pictures := float64(frames[k.name]) / float64(rounds*recordedClicks)
		if k.shot != nil {
			pictures = 1
		}
		fmt.Fprintf(b.out, "| %s | %s | %s | %.1f |\n", k.name, ms(cost), ms(cost-none), pictures)
	}
	fmt.Fprintln(b.out)
	return nil
}
