package extract

import (
	"crypto/rand"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// newMark returns a random word.
func newMark() string { return rand.Text()[:12] }

const (
	// passage is the approximate length of a passage, in bytes.
	passage = 1200
	// k1 and b are BM25's usual constants.
	k1, b = 1.2, 0.75
)

// Select returns at most n bytes of text. A longer text is cut into passages, and Select
// returns those that rank first for the question by BM25, in the order of the text, with
// […] where something is left out. The first passage, which says what the page is, is
// always included. Passages next to one that ranks high come before those that have
// nothing of the question.
func Select(text, question string, n int) string {
	if len(text) <= n {
		return text
	}
	parts := passages(text)
	if len(parts) == 1 {
		return head(text, n)
	}
	scores := rank(parts, terms(question))
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	spread := neighbours(scores)
	slices.SortStableFunc(order, func(x, y int) int {
		switch {
		case spread[x] > spread[y]:
			return -1
		case spread[x] < spread[y]:
			return 1
		}
		return x - y
	})
	chosen, free := map[int]bool{0: true}, n-len(parts[0])-len(gap)
	for _, i := range order {
		if cost := len(parts[i]) + len(gap); !chosen[i] && cost <= free {
			chosen[i] = true
			free -= cost
		}
	}
	var out strings.Builder
	before := -1
	for i, part := range parts {
		if !chosen[i] {
			continue
		}
		if before >= 0 && i > before+1 {
			out.WriteString(gap)
		}
		out.WriteString(part)
		before = i
	}
	if before < len(parts)-1 {
		out.WriteString(gap)
	}
	return head(out.String(), n)
}

const gap = "\n[…]\n"

// passages cuts a text at line breaks, and a long line at blanks.
func passages(text string) []string {
	var parts []string
	for text != "" {
		end := len(text)
		if end > passage {
			end = cutAt(text, passage)
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
	return parts
}

// cutAt returns where to cut text before n: after the last line break, else after the last
// blank, else between two characters.
func cutAt(text string, n int) int {
	window := text[n/2 : n]
	if i := strings.LastIndexByte(window, '\n'); i >= 0 {
		return n/2 + i + 1
	}
	if i := strings.LastIndexByte(window, ' '); i >= 0 {
		return n/2 + i + 1
	}
	return boundary(text, n)
}

// boundary returns the last offset at or before n that is between two characters.
func boundary(s string, n int) int {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// head returns at most the first n bytes of s, cut between two characters.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:boundary(s, n)]
}

// neighbours adds half of a passage's score to those next to it: an answer is often next
// to the words of the question.
func neighbours(scores []float64) []float64 {
	out := slices.Clone(scores)
	for i, s := range scores {
		if i > 0 {
			out[i-1] = max(out[i-1], s/2)
		}
		if i+1 < len(out) {
			out[i+1] = max(out[i+1], s/2)
		}
	}
	return out
}

// rank returns the BM25 score of each part for the terms.
func rank(parts []string, query []string) []float64 {
	counts := make([]map[string]int, len(parts))
	lengths := make([]float64, len(parts))
	in, total := map[string]int{}, 0.0
	for i, p := range parts {
		counts[i] = map[string]int{}
		for _, t := range terms(p) {
			counts[i][t]++
			lengths[i]++
		}
		total += lengths[i]
		for t := range counts[i] {
			in[t]++
		}
	}
	mean := max(total/float64(len(parts)), 1)
	scores := make([]float64, len(parts))
	slices.Sort(query)
	for _, t := range slices.Compact(query) {
		idf := math.Log(1 + (float64(len(parts)-in[t])+0.5)/(float64(in[t])+0.5))
		for i := range parts {
			f := float64(counts[i][t])
			scores[i] += idf * f * (k1 + 1) / (f + k1*(1-b+b*lengths[i]/mean))
		}
	}
	return scores
}

// terms returns the words of a text in lower case. For scripts without spaces between
// words it returns each pair of characters.
func terms(s string) []string {
	var list []string
	word := []rune{}
	flush := func() {
		if len(word) > 1 || len(word) == 1 && unicode.IsDigit(word[0]) {
			list = append(list, string(word))
		}
		word = word[:0]
	}
	var last rune
	for _, r := range s {
		if r < 0x80 { // the fast path: ASCII
			last = 0
			if c := lower[r]; c != 0 {
				word = append(word, rune(c))
			} else {
				flush()
			}
			continue
		}
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul) {
			flush()
			if last != 0 {
				list = append(list, string([]rune{last, r}))
			}
			last = r
			continue
		}
		last = 0
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) {
			word = append(word, unicode.ToLower(r))
			continue
		}
		flush()
	}
	flush()
	return list
}

// lower maps ASCII letters and digits to lower case, everything else to 0.
var lower = func() (table [0x80]byte) {
	for c := range table {
		switch {
		case 'A' <= c && c <= 'Z':
			table[c] = byte(c) + 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			table[c] = byte(c)
		}
	}
	return table
}()
