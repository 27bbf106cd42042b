package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// clean leaves letters and digits.
var unclean = regexp.MustCompile(`[^a-zA-Z0-9]`)

func playFindWord(p *play) {
	n := ordinal(p.match(`Find the (\d+)\w+ word`)[0])
	p.look()
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
	p.look()
	p.enter(1, p.cell(label))
}

func playReadTable2(p *play) {
	p.look()
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
	p.look()
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
	p.look()
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
	p.look()
	_, html, _ := strings.Cut(p.read(Node{}, "html"), "<body") // blocks have neither words nor listeners
	p.enter(1, strconv.Itoa(strings.Count(html, "addition-block")))
}

func playTextTransform(p *play) {
	p.look()
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
	p.look()
	p.write(p.nth(1, fields...), m[0])
	p.click(p.named("Search", "button"))
	p.look()
	if page := (n-1)/3 + 1; page > 1 {
		p.click(p.named(strconv.Itoa(page)))
		p.look()
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
	p.look()
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
		p.look()
	}
}

func playTree(p *play) {
	name := p.quoted()[0]
	opened := map[string]bool{}
	p.look()
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
		p.look()
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
	p.look()
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

// playHighlight selects a paragraph.
func playHighlight(p *play) {
	i := 1
	if m := regexp.MustCompile(`(\d+)(st|nd|rd|th)`).FindString(p.ask); m != "" {
		i = ordinal(m)
	}
	p.look()
	var paragraphs []Node
	for _, n := range p.nodes {
		if n.Role != "button" && n.Role != "canvas" && len(n.Name) > 12 {
			paragraphs = append(paragraphs, n)
		}
	}
	if i > len(paragraphs) {
		p.fail("%d paragraphs", len(paragraphs))
		return
	}
	n := paragraphs[i-1]
	if n.Ref == "" {
		n = p.find(fold(n.Name))
	}
	t, ok := p.tool.(driver.TripleClicker)
	if !ok {
		p.fail("the tool does not click three times")
		return
	}
	p.do("triple click", func() error { return t.TripleClick(p.ctx, n.Ref) })
	p.submit()
}

func playTerminal(p *play) {
	ext := ""
	if m := regexp.MustCompile(`extension \.(\S+)`).FindStringSubmatch(p.ask); m != nil {
		ext = "." + m[1]
	}
	p.look()
	field := p.nth(1, "textbox")
	p.keys(field, "ls")
	p.press("Enter")
	p.look()
	said := strings.Join(p.texts(), " ")
	_, said, _ = strings.Cut(said, " ls ")
	for _, name := range strings.Fields(said) {
		if name == "user$" || !regexp.MustCompile(`^[\w-]+(\.[a-z0-9.]+)?$`).MatchString(name) {
			continue
		}
		if ext == "" && !strings.Contains(name, ".") || ext != "" && strings.HasSuffix(name, ext) {
			p.keys(field, "rm "+name)
			p.press("Enter")
			return
		}
	}
	p.fail("no file ends with %q in %q", ext, said)
}

func playTextEditor(p *play) {
	p.look()
	editor := p.nth(1, "textbox")
	text := fold(editor.Value)
	if text == "" {
		text = fold(editor.Name)
	}
	word := text
	if m := regexp.MustCompile(`give the text (.*?),? the (style|color)`).FindStringSubmatch(p.ask); m != nil {
		word = m[1]
	}
	if i := strings.Index(p.ask, "give the text "); i >= 0 { // a comma may be the word's own
		rest := p.ask[i+len("give the text "):]
		if j := strings.Index(rest, " the style "); j >= 0 {
			word = rest[:j]
		} else if j := strings.Index(rest, " the color "); j >= 0 {
			word = rest[:j]
		}
	}
	start := strings.Index(text, word)
	for _, w := range [][]int{regexp.MustCompile(`(^|\s)` + regexp.QuoteMeta(word) + `(\s|$)`).FindStringIndex(text)} {
		if w != nil && word != text {
			start = w[0]
			if start > 0 {
				start++
			}
		}
	}
	if start < 0 {
		p.fail("%q is not in %q", word, text)
		return
	}
	p.focus(editor)
	p.press("Control+Home")
	for range start {
		p.press("ArrowRight")
	}
	if word == text {
		p.press("Control+a")
	} else {
		for range len(word) {
			p.press("Shift+ArrowRight")
		}
	}
	p.sleep(200 * time.Millisecond) // the editor learns of the selection in a turn of its own
	style := ""
	for _, s := range []string{"bold", "italic", "underline"} {
		if strings.Contains(p.ask, "style "+s) {
			style = s
		}
	}
	if style != "" {
		for _, n := range p.of("button", "generic") {
			if n.Acts() && strings.Contains(n.Name+p.looks(n).class, style) {
				p.click(n)
				p.submit()
				return
			}
		}
		p.fail("no button for %s", style)
		return
	}
	color := p.match(`color (\w+)`)[0]
	hexes := map[string]string{"red": "#e60000", "orange": "#ff9900", "yellow": "#ffff00", "green": "#008a00", "blue": "#0066cc", "purple": "#9933ff"}
	for _, n := range p.nodes {
		if n.Acts() && n.Name == "" && (n.Role == "generic" || strings.Contains(p.looks(n).class, "picker")) {
			p.click(n)
			break
		}
	}
	p.look()
	want := rgbOf(hexes[color])
	for _, n := range p.nodes {
		if n.Acts() && n.Role != "textbox" && n.Role != "canvas" && fold(n.Name) != "Submit" && rgbOf(p.looks(n).color) == want {
			p.click(n)
			p.look()
			p.submit()
			return
		}
	}
	p.fail("no %s to choose", color)
}

func rgbOf(color string) [3]int {
	r, g, b, ok := rgb(color)
	if !ok {
		return [3]int{-1}
	}
	return [3]int{int(r), int(g), int(b)}
}

// playTicTacToe plays X as well as it can be played.
func playTicTacToe(p *play) {
	for p.ok() {
		p.look()
		cells := p.clickables()
		if len(cells) < 9 {
			if p.ok() {
				p.fail("the board shows %d cells", len(cells))
			}
			return
		}
		cells = cells[:9]
		var board [9]int
		for i, n := range cells {
			switch class := p.looks(n).class; {
			case strings.Contains(class, "mark-x"):
				board[i] = 1
			case strings.Contains(class, "mark-o"):
				board[i] = -1
			}
		}
		_, move := best(board, 1)
		if move < 0 {
			return
		}
		p.click(cells[move])
	}
}

// answer is where O goes who looks: three in a row, or else in the way of X; -1
// where there is neither.
func answer(board [9]int) int {
	for _, want := range []int{-2, 2} {
		for _, r := range rowsOfThree {
			if board[r[0]]+board[r[1]]+board[r[2]] != want {
				continue
			}
			for _, i := range r {
				if board[i] == 0 {
					return i
				}
			}
		}
	}
	return -1
}

var rowsOfThree = [][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

// best returns the value of a position for X against one who errs half the
// time, and the move to make; a draw counts as lost.
func best(board [9]int, turn int) (float64, int) {
	for _, r := range rowsOfThree {
		if s := board[r[0]] + board[r[1]] + board[r[2]]; s == 3 {
			return 1, -1
		} else if s == -3 {
			return 0, -1
		}
	}
	value, move, sum, n := -1.0, -1, 0.0, 0
	low := 0.0
	for i, v := range board {
		if v != 0 {
			continue
		}
		next := board
		next[i] = turn
		got, _ := best(next, -turn)
		if turn == 1 && got > value {
			value, move = got, i
		}
		sum += got
		n++
	}
	switch {
	case n == 0:
		return 0, -1
	case turn == 1:
		return value, move
	}
	reply := board
	if i := answer(board); i >= 0 {
		reply[i] = -1
		low, _ = best(reply, 1)
		return 0.55*sum/float64(n) + 0.45*low, -1
	}
	return sum / float64(n), -1
}
