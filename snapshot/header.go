package snapshot

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The budgets at which a snapshot stops or cuts.
const (
	reasonNodes = "max_nodes"
	reasonChars = "max_chars"
	reasonDepth = "max_depth"
	reasonText  = "max_text"
)

// reasonOrder is the order in which reasons are written.
var reasonOrder = []string{reasonNodes, reasonChars, reasonDepth, reasonText}

// reasonSet is a set of reasonOrder, one bit each.
type reasonSet uint

func reasonsOf(words ...string) (set reasonSet) {
	for i, r := range reasonOrder {
		if slices.Contains(words, r) {
			set |= 1 << i
		}
	}
	return set
}

func (set reasonSet) has(word string) bool { return set&reasonsOf(word) != 0 }

// words returns the set in its order, never nil.
func (set reasonSet) words() []string {
	words := []string{}
	for i, r := range reasonOrder {
		if set&(1<<i) != 0 {
			words = append(words, r)
		}
	}
	return words
}

// where returns the header's ` url="…" title="…"`. Both are cut at maxText
// characters and, where the whole text may hold only few, at an eighth of
// these; page has them whole. Below minWhere there is no room for them: "".
func where(url, title string, maxText, maxChars int) string {
	if maxChars < minWhere {
		return ""
	}
	b := append([]byte(nil), ` url=`...)
	b = appendShort(b, url, maxText, maxChars/8)
	b = append(b, ` title=`...)
	b = appendShort(b, title, maxText, maxChars/8)
	return string(b)
}

// minWhere leaves room for a few lines beside the URL and the title.
const minWhere = 400

// appendShort appends s as a literal of at most maxText characters of s and
// maxOut characters as written.
func appendShort(dst []byte, s string, maxText, maxOut int) []byte {
	s = Cut(s, maxText)
	for chars := maxOut; ; chars /= 2 {
		start := len(dst)
		dst = appendQuoted(dst, s)
		if chars < 1 || utf8.RuneCount(dst[start:]) <= maxOut {
			return dst
		}
		dst = dst[:start]
		s = Cut(s, chars)
	}
}

// snapshotHeader returns the first line of a snapshot.
func snapshotHeader(nodes, emitted int, reasons reasonSet, where string) string {
	var b strings.Builder
	b.WriteString("[snapshot] nodes=")
	b.WriteString(strconv.Itoa(nodes))
	b.WriteString(" emitted=")
	b.WriteString(strconv.Itoa(emitted))
	b.WriteString(" truncated=")
	b.WriteString(strconv.FormatBool(reasons != 0))
	if reasons != 0 {
		b.WriteString(" reasons=")
		b.WriteString(strings.Join(reasons.words(), ","))
	}
	b.WriteString(where)
	return b.String()
}

// rest is what a text's last line, [more], says is left.
type rest struct {
	what  restKind
	count int
	after int    // continue after this ref; 0: there is none
	limit string // what to raise where there is none
	chars int    // where texts were cut
}

type restKind string

const (
	restNodes   restKind = "nodes"   // nodes with a ref, and maybe text
	restTexts   restKind = "texts"   // text only
	restDeeper  restKind = "deeper"  // nodes below max_depth; count 0: not counted
	restCut     restKind = "cut"     // texts cut at max_text; count 0: not counted
	restChanges restKind = "changes" // lines of a delta
	restOutside restKind = "outside" // changes outside of what a delta is limited to
)

const (
	moreStart   = "[more] "
	moreAfter   = " not shown; continue with after=@e"
	moreRaise   = " not shown; raise "
	moreDeeper  = "nodes not shown; raise max_depth, or set scope"
	moreCut     = " characters; read the whole with read, or raise max_text"
	moreChange  = " changes not shown; take a snapshot"
	moreOutside = " changes outside of what was shown; "
	moreBehind  = "continue with after=@e"
	moreWhole   = "take a snapshot"
)

// String returns the [more] line.
func (r rest) String() string {
	n := strconv.Itoa(r.count)
	switch r.what {
	case restDeeper:
		if r.count == 0 {
			return moreStart + "deeper " + moreDeeper
		}
		return moreStart + n + " " + moreDeeper
	case restCut:
		if r.count == 0 {
			n = "some"
		}
		return moreStart + n + " texts cut at " + strconv.Itoa(r.chars) + moreCut
	case restChanges:
		return moreStart + n + moreChange
	case restOutside:
		if r.after == 0 {
			return moreStart + n + moreOutside + moreWhole
		}
		return moreStart + n + moreOutside + moreBehind + strconv.Itoa(r.after)
	}
	if r.after == 0 {
		return moreStart + n + " " + string(r.what) + moreRaise + r.limit
	}
	return moreStart + n + " " + string(r.what) + moreAfter + strconv.Itoa(r.after)
}
