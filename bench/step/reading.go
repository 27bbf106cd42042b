package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clean leaves letters and digits.
var unclean = regexp.MustCompile(`[^a-zA-Z0-9]`)

func playFindWord(p *play) {
	n := ordinal(p.match(`Find the (\d+)\w+ word`)[0])
	p.snapshot()
	var text string
	for _, n := range p.nodes {
		if n.Role == "textbox" {
			break
		}
		text += " " + n.Name
	}
	words := strings.Fields(text)
	if n < 1 || n > len(words) {
		p.fail("there are %d words", len(words))
		return
	}
	p.enter(1, unclean.ReplaceAllString(words[n-1], ""))
}

// cell returns what stands beside a label: in its line, or in the next one.
func (p *play) cell(label string) string {
	for i, n := range p.nodes {
		s := fold(n.Name)
		if rest, ok := strings.CutPrefix(s, label+" | "); ok {
			return rest
		}
		if s == label && i+1 < len(p.nodes) {
			return fold(p.nodes[i+1].Name)
		}
		if rest, ok := strings.CutPrefix(s, label+" "); ok && n.Role == "row" {
			return rest
		}
	}
	p.fail("the table has no %s", label)
	return ""
}

func playReadTable(p *play) {
	label := p.match(`value of (.*) into the text field`)[0]
	p.snapshot()
	p.enter(1, p.cell(label))
}

func playReadTable2(p *play) {
	p.snapshot()
	var label string
	for _, n := range p.nodes {
		if s := fold(n.Name); strings.HasSuffix(s, ":") {
			label = strings.TrimSuffix(s, ":")
		}
		if n.Role == "textbox" {
			p.write(n, p.cell(label))
		}
	}
	p.submit()
}

func playAlgebra(p *play) {
	p.snapshot()
	for _, s := range p.texts() {
		m := regexp.MustCompile(`^(\d+|x) ([+-]) (\d+|x) = (-?\d+)$`).FindStringSubmatch(s)
		if m == nil {
			continue
		}
		result, _ := strconv.Atoi(m[4])
		if m[1] == "x" {
			b, _ := strconv.Atoi(m[3])
			if m[2] == "+" {
				b = -b
			}
			p.enter(1, strconv.Itoa(result+b))
			return
		}
		a, _ := strconv.Atoi(m[1])
		if m[2] == "+" {
			a = -a
			p.enter(1, strconv.Itoa(result+a))
			return
		}
		p.enter(1, strconv.Itoa(a-result))
		return
	}
	p.fail("no equation is to be seen")
}

func playArithmetic(p *play) {
	p.snapshot()
	for _, s := range p.texts() {
		m := regexp.MustCompile(`^(\d+) ?([+x-]) ?(\d+) ?=`).FindStringSubmatch(s)
		if m == nil {
			continue
		}
		a, _ := strconv.Atoi(m[1])
		b, _ := strconv.Atoi(m[3])
		switch m[2] {
		case "+":
			a += b
		case "-":
			a -= b
		default:
			a *= b
		}
		p.enter(1, strconv.Itoa(a))
		return
	}
	p.fail("no problem is to be seen")
}

func playVisualAddition(p *play) {
	p.snapshot()
	_, html, _ := strings.Cut(p.read(Node{}, "html"), "<body") // blocks have neither words nor listeners
	p.enter(1, strconv.Itoa(strings.Count(html, "addition-block")))
}

func playTextTransform(p *play) {
	p.snapshot()
	var text string
	for _, n := range p.nodes {
		if n.Role == "textbox" {
			break
		}
		text += n.Name
	}
	p.enter(1, strings.ReplaceAll(fold(text), " ", ""))
}

func playSearch(p *play) {
	m := p.match(`enter "(.*)" and press "Search", then find and click the (\d+)\w+ search result`)
	n, _ := strconv.Atoi(m[1])
	p.snapshot()
	p.write(p.nth(1, fields...), m[0])
	p.click(p.named("Search", "button"))
	p.snapshot()
	if page := (n-1)/3 + 1; page > 1 {
		p.click(p.named(strconv.Itoa(page)))
		p.snapshot()
	}
	var results []Node
	for _, l := range p.nodes {
		if (l.Role == "link" || l.Role == "generic" && l.Acts()) && len(l.Name) > 1 && !slices.Contains([]string{"First", "Last"}, l.Name) {
			results = append(results, l)
		}
	}
	if i := (n - 1) % 3; i < len(results) {
		p.click(results[i])
		return
	}
	p.fail("%d results", len(results))
}

func playPhoneBook(p *play) {
	m := p.match(`Find (.*) in the contact book and click on their (phone|email|address)`)
	p.snapshot()
	for page := 1; p.ok(); page++ {
		if i := slices.IndexFunc(p.nodes, func(n Node) bool { return n.Role == "heading" && fold(n.Name) == m[0] }); i >= 0 {
			label := p.at(`(?i)^`+m[1]+`:`, i)
			for _, n := range p.nodes[max(label, 0)+1:] {
				if n.Acts() {
					p.click(n)
					return
				}
			}
		}
		if page > 5 {
			p.fail("%s is on no page", m[0])
			return
		}
		p.click(p.named(">"))
		p.snapshot()
	}
}

func playTree(p *play) {
	name := p.quoted()[0]
	opened := map[string]bool{}
	p.snapshot()
	for p.ok() {
		for i := len(p.nodes) - 1; i >= 0; i-- { // the innermost of what is called so
			if n := p.nodes[i]; n.Ref != "" && fold(n.Name) == name && !n.Has("invisible") {
				p.click(n)
				return
			}
		}
		// A folder has a mark to click before its name.
		var folder Node
		for _, n := range p.nodes {
			if n.Acts() && n.Name != "" && n.Role != "listitem" && n.Role != "treeitem" && !opened[n.Ref] && !n.Has("invisible") {
				folder = n
				break
			}
		}
		if !folder.Is() {
			p.fail("%q is in no folder", name)
			return
		}
		opened[folder.Ref] = true
		p.click(folder)
		p.sleep(50 * time.Millisecond)
		p.snapshot()
	}
}

func playOrderFood(p *play) {
	kinds := map[string][]string{ // what a person knows of the dishes, and the pictures say
		"vegan":       {"Caesar Salad", "Garlic bread", "Tofu and Vegetable stone pot", "Coconut mango tart"},
		"gluten-free": {"Caesar Salad", "Spinach and goat cheese dip", "Tofu and Vegetable stone pot", "Grilled Pork Tenderloin", "Cheese wheel", "Ice cream sundae"},
		"dairy":       {"Spinach and goat cheese dip", "Cheese wheel", "Chocolate cake", "Ice cream sundae"},
		"meat":        {"Chicken wings", "Spicy Thai Peanut Chicken", "Grilled Pork Tenderloin", "Spaghetti and Meatballs"},
		"peanuts":     {"Spicy Thai Peanut Chicken", "Ice cream sundae"},
	}
	p.snapshot()
	var dishes []string
	times := 1
	if m := regexp.MustCompile(`Order (\d+) items that are (\S+)`).FindStringSubmatch(p.ask); m != nil {
		times, _ = strconv.Atoi(m[1])
		dishes = kinds[m[2]][:1]
	} else {
		dishes = strings.Split(p.match(`one of each item: (.*)`)[0], ", ")
	}
	for _, d := range dishes {
		i := p.at(`^`+regexp.QuoteMeta(fold(d))+`$`, 0)
		if i < 0 {
			p.fail("%s is not on the menu", d)
			return
		}
		for _, n := range p.nodes[i:] {
			if fold(n.Name) == "+" && n.Ref != "" {
				for range times {
					p.click(n)
				}
				break
			}
		}
	}
	p.click(p.named("Order!"))
}
