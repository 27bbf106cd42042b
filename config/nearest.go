package config

import (
	"fmt"
	"strings"
)

// suggest names the key that was most likely meant.
func (l *loader) suggest(key string) string { return suggestion(key, l.keys()) }

func suggestion(word string, known []string) string {
	best, d := nearest(word, known)
	if tooFar(word, d) {
		return ""
	}
	return fmt.Sprintf(": the nearest is %s", best)
}

// tooFar is where a suggestion would only confuse.
func tooFar(word string, distance int) bool { return distance > max(2, len(word)/3) }

// nearest returns the known word with the least distance. A word that is the
// last part of a known one counts as near: listen for server.listen.
func nearest(word string, known []string) (best string, distance int) {
	distance = 1 << 30
	for _, k := range known {
		d := editDistance(strings.ToLower(word), strings.ToLower(k))
		if strings.HasSuffix(k, "."+word) {
			d = 1
		}
		if d < distance {
			best, distance = k, d
		}
	}
	return best, distance
}

// editDistance counts the letters to insert, delete or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
