package main

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var monthYear = regexp.MustCompile(`(January|February|March|April|May|June|July|August|September|October|November|December)\s*(\d{4})?`)

// pickDate opens the date picker of a field and goes to the day, month/day/year.
func (p *play) pickDate(field Node, month, day, year string) {
	mm, _ := strconv.Atoi(month)
	p.click(field)
	p.sleep(100 * time.Millisecond)
	for range 14 {
		p.snapshot()
		if !p.ok() {
			return
		}
		at := time.Month(0)
		for _, n := range p.nodes {
			if m := monthYear.FindStringSubmatch(n.Name); m != nil && n.Role != "button" {
				t, _ := time.Parse("January", m[1])
				at = t.Month()
				break
			}
		}
		switch {
		case at == 0:
			p.fail("no calendar is to be seen")
		case int(at) > mm:
			p.click(p.named("Prev"))
		case int(at) < mm:
			p.click(p.named("Next"))
		default:
			d, _ := strconv.Atoi(day)
			p.click(p.named(strconv.Itoa(d)))
			return
		}
	}
}

func playChooseDate(p *play) {
	m := p.match(`Select (\d+)/(\d+)/(\d+)`)
	p.snapshot()
	p.pickDate(p.nth(1, "textbox"), m[0], m[1], m[2])
	p.snapshot()
	p.submit()
}

func playFlight(p *play) {
	m := p.match(`Book the (\w+) one-way flight from: (.*) to: (.*) on (\d+)/(\d+)/(\d+)`)
	p.snapshot()
	for i, city := range []string{m[1], m[2]} {
		field := p.nth(i+1, "textbox")
		p.keys(field, city)
		var found Node
		p.await(func() bool {
			for _, n := range p.nodes {
				if n.Ref != "" && n.Ref != field.Ref && n.Role != "list" && n.Role != "menu" && n.Role != "textbox" && (strings.HasSuffix(fold(n.Name), "("+city+")") || strings.HasPrefix(fold(n.Name), city+" (")) {
					found = n
					return true
				}
			}
			return false
		})
		p.click(found)
		p.snapshot()
	}
	p.pickDate(p.nth(3, "textbox"), m[3], m[4], m[5])
	p.snapshot()
	p.click(p.named("Search", "button"))
	p.await(func() bool {
		return slices.ContainsFunc(p.nodes, func(n Node) bool { return dollars.MatchString(n.Name) })
	})
	p.click(p.ticket(m[0] == "cheapest", false))
}

// calendarTimes are the half hours' places in the day.
func halfHour(s string) int {
	m := regexp.MustCompile(`(\d+)(AM|PM)`).FindStringSubmatch(s)
	h, _ := strconv.Atoi(m[1])
	h %= 12
	if m[2] == "PM" {
		h += 12
	}
	return 2 * h
}

// playCalendar drags over half hours that are free.
func playCalendar(p *play) {
	m := p.match(`Create a ([\d.]+) (mins?|hours?) event named "(.*)", between (\d+[AP]M) and (\d+[AP]M)`)
	length, _ := strconv.ParseFloat(m[0], 64)
	halves := int(length / 30)
	if strings.HasPrefix(m[1], "hour") {
		halves = int(length * 2)
	}
	from, to := halfHour(m[3]), halfHour(m[4])
	p.snapshot()
	cells := p.clickables()
	if len(cells) < 48 {
		p.fail("the day shows %d half hours", len(cells))
		return
	}
	var free []Node
	for _, n := range cells {
		if n.Name == "" {
			free = append(free, n)
		}
	}
	if cells = free; len(cells) != 48 {
		p.fail("the day shows %d half hours", len(cells))
		return
	}
	for start := from; start+halves <= to && p.ok(); start++ {
		p.err = nil
		p.drag(cells[start], cells[start+halves-1])
		blocked := p.err
		p.err = nil
		p.snapshot()
		field := Node{}
		for _, n := range p.of("textbox") {
			field = n
		}
		if field.Ref == "" {
			if blocked == nil {
				blocked = errors.New("no event came")
			}
			if start+halves == to {
				p.err = blocked
			}
			continue // something is there already
		}
		p.write(field, m[2])
		p.click(p.named("Create", "button"))
		return
	}
}
