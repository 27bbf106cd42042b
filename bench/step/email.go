package main

import (
	"regexp"
	"strings"
)

// order is what an email task asks for.
type order struct{ task, by, to, message string }

func (p *play) order() order {
	if f := p.fields; f["by"] != "" {
		o := order{f["task"], f["by"], f["to"], f["message"]}
		if o.task == "" {
			o.task = "forward"
		}
		return o
	}
	find := func(expr string) string {
		if m := regexp.MustCompile(expr).FindStringSubmatch(p.ask); m != nil {
			return m[1]
		}
		return ""
	}
	o := order{by: find(`email by (\w+)`)}
	switch {
	case strings.Contains(p.ask, "delete"):
		o.task = "delete"
	case strings.Contains(p.ask, "important"):
		o.task = "star"
	case strings.Contains(p.ask, "reply"):
		o.task, o.message = "reply", find(`with the text "(.*)"`)
	case strings.Contains(p.ask, "forward"):
		o.task, o.to = "forward", find(`forward that email to (\w+)`)
	}
	return o
}

func playEmail(p *play) {
	o := p.order()
	p.snapshot()
	thread := -1
	for i, n := range p.nodes {
		if fold(n.Name) == o.by || strings.HasPrefix(fold(n.Name), o.by+" ") {
			thread = i
			break
		}
	}
	if thread < 0 {
		p.fail("no email by %s", o.by)
		return
	}
	if o.task == "delete" || o.task == "star" {
		icon := map[string]string{"delete": "trash", "star": "star"}[o.task]
		var icons []Node
		for _, n := range p.nodes[thread+1:] {
			if n.Acts() && n.Name == "" && n.Role != "canvas" {
				icons = append(icons, n)
			}
			if len(icons) == 2 {
				break
			}
		}
		for _, n := range icons {
			if strings.Contains(p.appearance(n).class, icon) {
				p.click(n)
				return
			}
		}
		p.fail("no %s beside the email", icon)
		return
	}
	p.click(p.nodes[thread])
	p.snapshot()
	verb := map[string]string{"reply": "Reply", "forward": "Forward"}[o.task]
	p.click(p.named(verb))
	p.snapshot()
	if o.task == "reply" {
		boxes := p.of("textbox")
		if len(boxes) == 0 {
			p.fail("nowhere to write")
			return
		}
		p.write(boxes[len(boxes)-1], o.message)
	} else {
		p.write(p.nth(1, "textbox"), o.to)
	}
	for _, n := range p.nodes {
		if n.Acts() && n.Name == "" && n.Role != "canvas" && n.Role != "textbox" && strings.HasPrefix(p.appearance(n).id, "send") {
			p.click(n)
			return
		}
	}
	p.fail("nothing to send it with")
}

// playSocial clicks a button below one user's post.
func playSocial(p *play) {
	m := p.match(`For the user (@\S+), click on the "(.*)" button`)
	p.snapshot()
	post := p.post(m[0], 0)
	if post < 0 {
		p.fail("no post by %s", m[0])
		return
	}
	class := strings.ToLower(m[1])
	switch m[1] {
	case "Reply", "Retweet", "Like":
		p.finish(func() Node { return p.icon(p.post(m[0], 0), class) })
		return
	}
	for range 3 {
		p.click(p.icon(post, "more"))
		p.snapshot()
		for _, n := range p.nodes {
			if n.Ref != "" && n.Acts() && !n.Has("invisible") && (fold(n.Name) == m[1] || fold(n.Name) == m[1]+" "+m[0]) {
				p.click(n)
				return
			}
		}
	}
	p.fail("the menu has no %q", m[1])
}

// post returns the index of the first line, from i on, that names the user.
func (p *play) post(user string, i int) int {
	return p.at(`(^|\s)`+regexp.QuoteMeta(user)+`(\s|$)`, i)
}

// icon is the icon of that class that follows line i, before the next post.
func (p *play) icon(i int, class string) Node {
	for j := i + 1; j < len(p.nodes) && p.ok(); j++ {
		n := p.nodes[j]
		if strings.Contains(n.Name, "@") && !n.Acts() {
			break
		}
		if n.Acts() && n.Name == "" && strings.Contains(p.appearance(n).class, class) {
			return n
		}
	}
	if p.ok() {
		p.fail("no %s there", class)
	}
	return Node{}
}

// playSocialMany clicks a button below several posts of one user.
func playSocialMany(p *play) {
	m := p.match(`Click the "(.*)" button on (all|\d+) posts? by (@\S+) and`)
	left := 1000
	if m[1] != "all" {
		left = ordinal(m[1])
	}
	p.snapshot()
	var icons []Node
	for i := p.post(m[2], 0); i >= 0 && left > 0 && p.ok(); i = p.post(m[2], i+1) {
		icons = append(icons, p.icon(i, strings.ToLower(m[0])))
		left--
	}
	for _, n := range icons {
		p.click(n)
	}
	p.submit()
}
