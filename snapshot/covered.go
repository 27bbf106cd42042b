package snapshot

import (
	"strings"

	"github.com/browserd/browserd/snapshot/pagetext"
)

// minFolded is from how many lines on a delta says the same of them in one line.
const minFolded = 3

// foldCovered returns the lines of a delta for the lines whose only change is the state
// covered, and marks these lines in folded, by their index in cur.
func foldCovered(a *alignment, folded []bool) (rows []string) {
	for _, covered := range []bool{true, false} {
		var changed []int // in prev
		for i, l := range a.prev {
			j := a.to[i]
			if l.ref != 0 && j >= 0 && a.kept(j) && l.text != a.cur[j].text && pagetext.Cover(l.text, covered) == a.cur[j].text {
				changed = append(changed, i)
			}
		}
		if len(changed) < minFolded {
			continue
		}
		for _, i := range changed {
			folded[a.to[i]] = true
		}
		row := "~ not covered: "
		if covered {
			row = "~ covered: "
		}
		rows = append(rows, row+strings.Join(ranges(a.prev, changed), ", "))
	}
	return rows
}

// ranges returns the refs of the lines at the indices: "@e1 to @e9" where no other line
// with a ref stands between.
func ranges(lines []shownLine, at []int) (list []string) {
	for k := 0; k < len(at); k++ {
		first := at[k]
		last := first
		for k+1 < len(at) && nextRef(lines, last) == at[k+1] {
			k++
			last = at[k]
		}
		list = append(list, fromTo(lines[first].ref, lines[last].ref))
	}
	return list
}

// nextRef returns the index of the next line with a ref after i.
func nextRef(lines []shownLine, i int) int {
	for i++; i < len(lines) && lines[i].ref == 0; i++ {
	}
	return i
}

// fromTo returns "@e1 to @e9", or "@e1" for one ref.
func fromTo(first, last int) string {
	if first == last {
		return RefOf(first)
	}
	return RefOf(first) + " to " + RefOf(last)
}
