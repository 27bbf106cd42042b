package snapshot

import (
	"slices"
	"sort"
)

// match pairs element a of one list with element b of another.
type match struct{ a, b int }

// maxTable is the largest table of an exact comparison, in cells.
const maxTable = 1 << 18

// common returns a common subsequence of two lists of n and m elements, in order. It is
// a longest one if the part in which the lists differ is small. In a larger part, the
// elements that each list has once are matched first (patience diff), then the gaps
// between them. It makes at most maxTable comparisons per gap, beside n log n steps.
func common(n, m int, same func(a, b int) bool, left, right func(int) string) []match {
	var out []match
	lcs := subsequence{same: same, left: left, right: right, out: &out}
	lcs.between(0, n, 0, m)
	return out
}

type subsequence struct {
	same        func(a, b int) bool
	left, right func(int) string
	out         *[]match
}

func (s subsequence) between(a1, a2, b1, b2 int) {
	for a1 < a2 && b1 < b2 && s.same(a1, b1) {
		*s.out = append(*s.out, match{a1, b1})
		a1, b1 = a1+1, b1+1
	}
	tail := 0
	for a1 < a2 && b1 < b2 && s.same(a2-1, b2-1) {
		a2, b2, tail = a2-1, b2-1, tail+1
	}
	switch {
	case a1 == a2 || b1 == b2:
	case (a2-a1+1)*(b2-b1+1) <= maxTable:
		s.table(a1, a2, b1, b2)
	default:
		for _, m := range append(s.once(a1, a2, b1, b2), match{a2, b2}) {
			if (m.a-a1+1)*(m.b-b1+1) <= maxTable {
				s.table(a1, m.a, b1, m.b)
			}
			if m.a < a2 {
				*s.out = append(*s.out, m)
			}
			a1, b1 = m.a+1, m.b+1
		}
	}
	for i := range tail {
		*s.out = append(*s.out, match{a2 + i, b2 + i})
	}
}

// table appends a longest common subsequence, by dynamic programming.
func (s subsequence) table(a1, a2, b1, b2 int) {
	n, m := a2-a1, b2-b1
	if n <= 0 || m <= 0 {
		return
	}
	// length[i*(m+1)+j] is the length for the lists from a1+i and b1+j on.
	length := make([]uint32, (n+1)*(m+1))
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			at := i*(m+1) + j
			if s.same(a1+i, b1+j) {
				length[at] = length[at+m+2] + 1
			} else {
				length[at] = max(length[at+m+1], length[at+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		at := i*(m+1) + j
		switch {
		case s.same(a1+i, b1+j):
			*s.out = append(*s.out, match{a1 + i, b1 + j})
			i, j = i+1, j+1
		case length[at+m+1] >= length[at+1]:
			i++
		default:
			j++
		}
	}
}

// once returns the pairs of equal elements that each list has once, as far as they are
// in the same order.
func (s subsequence) once(a1, a2, b1, b2 int) []match {
	type place struct{ a, b, inA, inB int }
	places := make(map[string]*place, a2-a1)
	for a := a1; a < a2; a++ {
		p := places[s.left(a)]
		if p == nil {
			p = &place{}
			places[s.left(a)] = p
		}
		p.a, p.inA = a, p.inA+1
	}
	for b := b1; b < b2; b++ {
		if p := places[s.right(b)]; p != nil {
			p.b, p.inB = b, p.inB+1
		}
	}
	var pairs []match
	for b := b1; b < b2; b++ {
		if p := places[s.right(b)]; p != nil && p.inA == 1 && p.inB == 1 {
			pairs = append(pairs, match{p.a, b})
		}
	}
	return rising(pairs)
}

// rising returns a longest subsequence of pairs that rises in a (patience sorting). The
// pairs rise in b.
func rising(pairs []match) []match {
	var tops []int // tops[k]: the pair with the smallest a that ends a run of k+1
	before := make([]int, len(pairs))
	for i, p := range pairs {
		k := sort.Search(len(tops), func(k int) bool { return pairs[tops[k]].a >= p.a })
		before[i] = -1
		if k > 0 {
			before[i] = tops[k-1]
		}
		if k == len(tops) {
			tops = append(tops, i)
		} else {
			tops[k] = i
		}
	}
	if len(tops) == 0 {
		return nil
	}
	run := make([]match, 0, len(tops))
	for i := tops[len(tops)-1]; i >= 0; i = before[i] {
		run = append(run, pairs[i])
	}
	slices.Reverse(run)
	return run
}
