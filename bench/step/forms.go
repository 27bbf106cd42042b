package main

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var fields = []string{"textbox", "searchbox", "spinbutton", "combobox"}

// enter writes into the nth field and submits.
func (p *play) enter(i int, text string) {
	p.write(p.nth(i, fields...), text)
	p.submit()
}

func playEnterText(p *play) {
	p.snapshot()
	p.enter(1, p.quoted()[0])
}

func playEnterText2(p *play) {
	text := p.quoted()[0]
	if strings.Contains(p.ask, "upper case") {
		text = strings.ToUpper(text)
	} else if strings.Contains(p.ask, "lower case") {
		text = strings.ToLower(text)
	}
	p.snapshot()
	p.enter(1, text)
}

func playEnterPassword(p *play) {
	p.snapshot()
	p.write(p.nth(1, fields...), p.quoted()[0])
	p.write(p.nth(2, fields...), p.quoted()[0])
	p.submit()
}

func playEnterTime(p *play) {
	m := p.match(`Enter (\d+):(\d+) (AM|PM)`)
	h, _ := strconv.Atoi(m[0])
	h %= 12
	if m[2] == "PM" {
		h += 12
	}
	p.snapshot()
	if p.parts(map[string]string{"Hours": m[0], "Minutes": m[1], "AM/PM": m[2]}) {
		return
	}
	n := p.dateField()
	p.write(n, pad(h)+":"+m[1])
	p.submit()
}

// parts fills in a date or a time that the tool shows as its parts, by their
// keys; false where it shows a field.
func (p *play) parts(values map[string]string) bool {
	var found []Node
	for _, n := range p.of("spinbutton") {
		for name := range values {
			if strings.HasPrefix(n.Name, name) {
				found = append(found, n)
			}
		}
	}
	if len(found) != len(values) {
		return false
	}
	for _, n := range found {
		p.click(n)
		for name, v := range values {
			if strings.HasPrefix(n.Name, name) {
				for _, c := range v {
					p.press(string(c))
				}
			}
		}
	}
	p.submit()
	return true
}

// dateField is the field for a date or a time, however the tool calls it.
func (p *play) dateField() Node {
	for _, n := range p.nodes {
		if n.Ref != "" && n.Role != "button" && n.Role != "canvas" {
			return n
		}
	}
	p.fail("no field for it")
	return Node{}
}

func pad(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

func playEnterDate(p *play) {
	m := p.match(`Enter (\d+)/(\d+)/(\d+)`)
	p.snapshot()
	if p.parts(map[string]string{"Month": m[0], "Day": m[1], "Year": m[2]}) {
		return
	}
	n := p.dateField()
	p.write(n, m[2]+"-"+m[0]+"-"+m[1])
	p.submit()
}

// ordinal reads 1st, 2nd, 3rd, 4th.
func ordinal(s string) int {
	n, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(s))
	return n
}

func playFocus(p *play) {
	p.snapshot()
	n := p.nth(1, fields...)
	if m := regexp.MustCompile(`(\d+)(st|nd|rd|th)`).FindString(p.ask); m != "" {
		n = p.nth(ordinal(m), fields...)
	}
	p.focus(n)
}

func playFormSequence(p *play) {
	m := p.match(`Select (-?\d+) with the slider, click the (\S+) checkbox`)
	want, _ := strconv.Atoi(m[0])
	p.snapshot()
	p.slide(0, want)
	p.snapshot()
	p.click(p.nth(ordinal(m[1]), "checkbox"))
	p.submit()
}

func playFormSequence2(p *play) {
	m := p.match(`Check the (\S+) radio button and enter the number "(-?\d+)" into the (\S+) textbox`)
	p.snapshot()
	p.click(p.nth(ordinal(m[0]), "radio"))
	p.write(p.nth(ordinal(m[2]), "textbox"), m[1])
	p.submit()
}

func playFormSequence3(p *play) {
	m := p.match(`Choose (.*) from the dropdown, then click the button labeled "(.*)"`)
	p.snapshot()
	if n := p.after(0, "combobox", "listbox"); n.Ref != "" {
		p.choose(n, m[0])
		p.snapshot()
		if item := p.try(m[0], "listitem"); item.Is() { // a styled list has opened
			p.click(item)
		}
	} else {
		p.err = nil
		all := p.clickables()
		if len(all) == 0 {
			p.fail("no dropdown is to be seen")
			return
		}
		p.click(all[0])
		p.await(func() bool { return p.visible(m[0]) })
		p.click(p.named(m[0]))
	}
	p.snapshot()
	p.click(p.named(m[1], "button"))
}

func playLogin(p *play) {
	q := p.quoted()
	p.snapshot()
	p.write(p.nth(1, fields...), q[0])
	p.write(p.nth(2, fields...), q[1])
	p.submit()
}

// playLoginPopup is a login that a message may interrupt.
func playLoginPopup(p *play) {
	q := p.quoted()
	for i := 0; i < 2 && p.ok(); i++ {
		p.snapshot()
		p.write(p.nth(i+1, fields...), q[i])
		if p.err != nil || p.popup() {
			p.err = nil
			p.dismiss()
			p.snapshot()
			p.write(p.nth(i+1, fields...), q[i])
		}
	}
	p.snapshot()
	p.submit()
}

func (p *play) popup() bool {
	err := p.err
	p.err = nil
	p.snapshot()
	if p.err == nil {
		p.err = err
	}
	return p.try("Cancel", "button").Is()
}

func (p *play) dismiss() {
	p.snapshot()
	p.click(p.named("Cancel", "button"))
}

// playMovies fills in a form whose labels and order differ.
func playMovies(p *play) {
	m := p.match(`Search for (.*) movies directed by (.*) from year (\d+)`)
	p.snapshot()
	var boxes []Node
	var labels []string
	for _, n := range p.nodes {
		switch {
		case n.Role == "textbox":
			boxes = append(boxes, n)
			if n.Name != "" {
				labels = append(labels, n.Name)
			}
		case regexp.MustCompile(`(?i)genre|director|year|date`).MatchString(n.Name) && len(n.Name) < 20:
			if len(labels) == 0 || labels[len(labels)-1] != n.Name {
				labels = append(labels, n.Name)
			}
		}
	}
	// Labels stand before their fields or behind them: the order is the same.
	for i, b := range boxes {
		if i >= len(labels) {
			p.fail("field %d has no label", i+1)
			return
		}
		text := m[2]
		switch label := strings.ToLower(labels[i]); {
		case strings.Contains(label, "genre"):
			text = m[0]
		case strings.Contains(label, "director"):
			text = m[1]
		}
		p.write(b, text)
	}
	p.submit()
}

func playNumberCheckboxes(p *play) {
	patterns := []string{
		"0110100110011001100110010110", "0010011000100010001000100010", "0110100110010010010010001111", "0110100100010110000110010110",
		"1000101010101111001000100010", "1111100010001110000110010110", "0110100110001110100110010110", "1111100100010010001001000100",
		"0110100110010110100110010110", "0110100110010111000110010110",
	}
	n, _ := strconv.Atoi(p.quoted()[0])
	p.snapshot()
	boxes := p.of("checkbox")
	for i, c := range patterns[n] {
		if c == '1' && i < len(boxes) {
			p.click(boxes[i])
		}
	}
	p.submit()
}

func playOddEven(p *play) {
	p.snapshot()
	var odd Node
	var number string
	for _, n := range p.nodes {
		name := fold(n.Name)
		switch {
		case name == "Odd":
			odd, number = n, ""
		case integer.MatchString(name):
			number = name
		case name == "Even" && number != "":
			if strings.ContainsAny(number[len(number)-1:], "13579") {
				p.click(odd)
			} else {
				p.click(n)
			}
		}
	}
	p.submit()
}

func playGenerateNumber(p *play) {
	good := func(n int) bool {
		m := regexp.MustCompile(`(less|greater) than (\d+)`).FindStringSubmatch(p.ask)
		if m == nil {
			return n%2 != 0 == strings.Contains(p.ask, "odd number")
		}
		limit, _ := strconv.Atoi(m[2])
		return m[1] == "less" && n < limit || m[1] == "greater" && n > limit
	}
	p.snapshot()
	for p.ok() {
		p.click(p.named("Generate"))
		p.snapshot()
		if n := p.numbers(); len(n) > 0 && good(n[0]) {
			p.submit()
			return
		}
	}
}

func playGuessNumber(p *play) {
	low, high := 0, 9
	for p.ok() && low <= high {
		p.snapshot()
		guess := (low + high) / 2
		p.enter(1, strconv.Itoa(guess))
		if p.over() {
			return
		}
		p.snapshot()
		switch said := strings.Join(p.texts(), " "); {
		case strings.Contains(said, "higher than"):
			low = guess + 1
		case strings.Contains(said, "lower than"):
			high = guess - 1
		}
	}
}

// playStock buys right after the price has changed to one that is low enough:
// then it stays for a tenth of a second.
func playStock(p *play) {
	limit, _ := strconv.ParseFloat(p.match(`less than \$([\d.]+\d)`)[0], 64)
	last := 0.0
	for p.ok() {
		p.snapshot()
		for _, s := range p.texts() {
			m := regexp.MustCompile(`\$([\d.]+)$`).FindStringSubmatch(s)
			if m == nil {
				continue
			}
			price, _ := strconv.ParseFloat(m[1], 64)
			if last != 0 && price != last && price <= limit {
				p.click(p.named("Buy"))
				return
			}
			last = price
		}
		p.sleep(15 * time.Millisecond)
	}
}
