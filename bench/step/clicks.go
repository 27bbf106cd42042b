package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func playClickTest(p *play) {
	p.snapshot()
	p.click(p.nth(1, "button"))
}

// playClickNamed clicks what is named in quotes, or in capitals.
func playClickNamed(p *play) {
	p.snapshot()
	if q := p.quoted(); len(q) > 0 {
		p.click(p.named(q[0]))
		return
	}
	p.click(p.named(p.match(`button ([A-Z]+)`)[0], "button"))
}

func playButtonSequence(p *play) {
	p.snapshot()
	p.click(p.named("ONE"))
	p.snapshot()
	p.click(p.named("TWO"))
}

func playButtonDelay(p *play) {
	p.snapshot()
	p.click(p.named("ONE"))
	n, _ := strconv.Atoi(p.match(`wait (\d+) seconds`)[0])
	p.sleep(time.Duration(n)*time.Second + 20*time.Millisecond)
	p.click(p.named("TWO"))
}

// playCheckboxes checks the boxes whose names are listed.
func playCheckboxes(p *play) {
	wanted := strings.Split(p.match(`Select (.*) and click Submit`)[0], ", ")
	for _, n := range p.snapshot() {
		if n.Role == "checkbox" && slices.Contains(wanted, fold(n.Name)) {
			p.click(n)
		}
	}
	p.submit()
}

// synonyms are groups of words that mean alike.
var synonyms = []string{
	"big large huge enormous gigantic", "small tiny little mini petite", "red scarlet crimson vermillion",
	"happy cheerful joyful gleeful delighted", "sad unhappy sorrowful miserable tragic", "angry mad furious irritated",
	"evil wicked immoral sinful corrupt depraved", "wrong incorrect mistaken erroneous", "real genuine actual",
	"strange odd peculiar unusual weird", "stop cease halt end finish", "scared terrified panicked fearful frightened afraid",
	"quiet calm peaceful serene mild", "old aged archaic", "love like adore favor", "kill murder assassinate",
	"keep retain preserve sustain maintain", "hide conceal camouflage", "hate despise loathe detest dislike",
	"funny humorous amusing comical laughable", "fat fleshy plump chubby", "stupid dumb dull unwise",
	"delicious savory delectable appetizing", "cut slice carve chop", "brave courageous fearless", "begin start initiate launch",
	"answer reply response", "television televisions TV TVs", "house home houses homes", "fire flame fires flames",
	"pig pork swine", "rabbit rabbits bunny bunnies", "car cars automobile automobiles vehicle vehicles", "water",
}

func playCheckboxesSoft(p *play) {
	alike := map[string]bool{}
	for _, word := range strings.Split(p.match(`similar to (.*) and click`)[0], ", ") {
		alike[word] = true
		for _, group := range synonyms {
			if words := strings.Fields(group); slices.Contains(words, word) {
				for _, w := range words {
					alike[w] = true
				}
			}
		}
	}
	for _, n := range p.snapshot() {
		if n.Role == "checkbox" && alike[fold(n.Name)] {
			p.click(n)
		}
	}
	p.submit()
}

func playOption(p *play) {
	name := p.match(`Select (.*) and click`)[0]
	p.snapshot()
	p.click(p.named(name, "radio"))
	p.submit()
}

func playChooseList(p *play) {
	name := p.match(`Select (.*) from the list`)[0]
	p.snapshot()
	p.choose(p.nth(1, "combobox", "listbox"), name)
	p.submit()
}

func playScrollList(p *play) {
	names := strings.Split(p.match(`Select (.*) from the scroll list`)[0], ", ")
	p.snapshot()
	p.choose(p.nth(1, "listbox", "combobox"), names...)
	p.submit()
}

// section returns the heading of a collapsible section.
func (p *play) section(i int) Node {
	for _, n := range p.nodes {
		if n.Ref != "" && strings.HasPrefix(fold(n.Name), fmt.Sprintf("Section #%d", i)) {
			return n
		}
	}
	return Node{}
}

func playCollapsible(p *play) {
	p.snapshot()
	for _, n := range p.nodes {
		if n.Ref != "" && strings.HasPrefix(n.Name, "Section #") {
			p.click(n)
			break
		}
	}
	p.await(func() bool { n := p.try("Submit", "button"); return n.Is() && !n.Has("invisible") && !n.Has("covered") })
	p.click(p.named("Submit", "button"))
}

// await looks until something is to be seen, a few times.
func (p *play) await(seen func() bool) {
	for range 6 {
		p.snapshot()
		if !p.ok() || seen() {
			return
		}
		p.sleep(100 * time.Millisecond)
	}
}

// playCollapsibleLink opens one section after the other until the link is there.
func playCollapsibleLink(p *play) {
	link := p.quoted()[0]
	p.snapshot()
	for i := 1; p.ok(); i++ {
		s := p.section(i)
		if !s.Is() {
			p.fail("no section has %q", link)
			return
		}
		p.click(s)
		p.sleep(300 * time.Millisecond) // it slides open
		p.snapshot()
		if n := p.link(link); n.Is() {
			p.click(n)
			return
		}
	}
}

// link is what is called so and can be clicked.
func (p *play) link(name string) Node {
	for _, n := range p.nodes {
		if n.Acts() && !n.Has("invisible") && fold(n.Name) == name && n.Role != "tab" && n.Role != "tabpanel" {
			return n
		}
	}
	for _, n := range p.nodes { // a tool may show it as text that has a ref
		if n.Ref != "" && n.Role != "tab" && n.Role != "tabpanel" && fold(n.Name) == name {
			return n
		}
	}
	return Node{}
}

func playTab(p *play) {
	name := p.match(`Click on (Tab #\d+)`)[0]
	p.snapshot()
	p.click(p.named(name, "tab", "link"))
}

// playTabLink goes through the tabs until the link is there.
func playTabLink(p *play) {
	link := p.quoted()[0]
	p.snapshot()
	tabs := len(p.of("tab"))
	for i := 1; p.ok(); i++ {
		if n := p.link(link); n.Is() {
			p.click(n)
			return
		}
		if i > tabs {
			p.fail("no tab has %q", link)
			return
		}
		p.click(p.nth(i, "tab"))
		p.snapshot()
	}
}

func playDialog(p *play) {
	p.snapshot()
	name := "x"
	if q := p.quoted(); len(q) > 0 {
		name = q[0]
	}
	if name == "x" {
		for _, n := range p.of("button") {
			if fold(n.Name) == "Close" || fold(n.Name) == "x" {
				p.click(n)
				return
			}
		}
	}
	p.click(p.named(name, "button"))
}

func playLink(p *play) {
	p.snapshot()
	n := p.link(p.quoted()[0])
	if !n.Is() {
		n = p.named(p.quoted()[0])
	}
	p.click(n)
}

// playMenu goes down a menu whose parts are opened by the mouse.
func playMenu(p *play) {
	path := strings.Split(p.match(`Select (.*)`)[0], ">")
	p.snapshot()
	for _, name := range path[:len(path)-1] {
		p.hover(p.menuItem(name))
		want := path[slices.Index(path, name)+1]
		p.await(func() bool { return p.visible(want) })
		if !p.visible(want) {
			p.click(p.menuItem(name))
			p.await(func() bool { return p.visible(want) })
		}
	}
	p.click(p.menuItem(path[len(path)-1]))
}

func (p *play) menuItem(name string) Node {
	if n := p.try(name, "menuitem"); n.Is() {
		return n
	}
	return p.named(name)
}

func (p *play) visible(name string) bool {
	n := p.try(name)
	return n.Is() && !n.Has("invisible")
}

func playMenuIcons(p *play) {
	icons := map[string]string{"disk": "Save", "seek-start": "Prev", "stop": "Stop", "play": "Play", "seek-end": "Next", "zoomin": "Zoom In", "zoomout": "Zoom Out"}
	p.snapshot()
	label := ""
	if q := p.quoted(); len(q) > 1 {
		label = q[1]
	} else {
		html := p.read(Node{}, "html") // the words show a picture in their place
		if m := regexp.MustCompile(`ui-icon ui-icon-([a-z-]+)`).FindStringSubmatch(html); m != nil {
			label = icons[m[1]]
		}
	}
	if label == "" {
		p.fail("the icon is not to be seen")
		return
	}
	p.click(p.named("Menu", "button"))
	p.await(func() bool { return p.visible("Save") })
	if !p.visible(label) {
		p.hover(p.menuItem("Playback"))
		p.await(func() bool { return p.visible(label) })
	}
	p.click(p.menuItem(label))
}

func playPie(p *play) {
	p.snapshot()
	p.click(p.named("+"))
	item := p.quoted()[0]
	p.await(func() bool { return p.visible(item) })
	p.sleep(600 * time.Millisecond) // the slices turn into place
	p.snapshot()
	p.finish(func() Node { return p.named(item) })
}

func playWidget(p *play) {
	want := p.quoted()[0]
	for _, n := range p.snapshot() {
		role := n.Role
		switch {
		case want == "text" && role == "textbox" && !n.Has("multiline"), want == "textarea" && role == "textbox" && n.Has("multiline"), want == role && n.Acts():
			p.click(n)
			return
		}
	}
	p.fail("no %s", want)
}

func playColor(p *play) {
	want := p.match(`Click on the (\w+) colored box`)[0]
	var best Node
	for _, n := range p.snapshot() {
		if n.Acts() && n.Role != "canvas" && named(p.appearance(n).color) == want {
			best = n // the words may show the colour too, before the boxes
		}
	}
	p.click(best)
}

func playShades(p *play) {
	want := p.match(`shades of (\w+)`)[0]
	for _, n := range p.snapshot() {
		if n.Acts() && n.Role != "button" && n.Role != "canvas" && hue(p.appearance(n).color) == want {
			p.click(n)
		}
	}
	p.submit()
}

func hue(color string) string {
	r, g, b, ok := rgb(color)
	switch m := math.Max(r, math.Max(g, b)); {
	case !ok || r == g && g == b:
		return ""
	case r == m:
		return "red"
	case g == m:
		return "green"
	}
	return "blue"
}

// playAscending clicks the numbers in order. The first click hides them: then
// those that are left stand in the order in which they were.
func playAscending(p *play) {
	p.snapshot()
	p.click(p.named("1"))
	for p.ok() {
		p.snapshot()
		var left []Node
		for _, n := range p.clickables() {
			if n.Name == "" {
				left = append(left, n)
			}
		}
		if len(left) == 0 {
			p.fail("nothing is left to click")
			return
		}
		p.click(left[0])
	}
}

func playBuyTicket(p *play) {
	p.snapshot()
	p.click(p.ticket(regexp.MustCompile(`cheap|cost|expensive`).MatchString(p.ask), regexp.MustCompile(`longest|most expensive`).MatchString(p.ask)))
}

var hours = regexp.MustCompile(`(\d+)h (\d+)m`)
var dollars = regexp.MustCompile(`\$(\d+)`)

// ticket returns the button that books the flight of the least price, or of the
// least duration; of the greatest where most is set.
func (p *play) ticket(byPrice, most bool) Node {
	best, least, minutes := Node{}, math.MaxInt, 0
	for _, n := range p.nodes {
		if m := hours.FindStringSubmatch(n.Name); m != nil {
			h, _ := strconv.Atoi(m[1])
			mm, _ := strconv.Atoi(m[2])
			minutes = h*60 + mm
		}
		m := dollars.FindStringSubmatch(n.Name)
		if m == nil || n.Role != "button" {
			continue
		}
		cost := minutes
		if byPrice {
			cost, _ = strconv.Atoi(m[1])
		}
		if most {
			cost = -cost
		}
		if cost < least {
			best, least = n, cost
		}
	}
	return best
}
