package snapshot

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The reasons for which a snapshot is truncated, each a budget.
const (
	reasonNodes = "max_nodes"
	reasonChars = "max_chars"
	reasonDepth = "max_depth"
	reasonText  = "max_text"
)

// reasonOrder is the order in which the header lists reasons.
var reasonOrder = []string{reasonNodes, reasonChars, reasonDepth, reasonText}

// reasonSet is a set of reasons, one bit for each of reasonOrder.
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

// words returns the reasons in their order, never nil.
func (set reasonSet) words() []string {
	words := []string{}
	for i, r := range reasonOrder {
		if set&(1<<i) != 0 {
			words = append(words, r)
		}
	}
	return words
}

// where returns the header's ` url="…" title="…"`. Each is cut at maxText characters
// and at an eighth of maxChars. where returns "" if maxChars is below minWhere.
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

// minWhere is the smallest max_chars at which a few lines fit beside URL and title.
const minWhere = 400

// appendShort appends s as a literal: at most maxText characters of s, and at most
// maxOut characters with quotes and escapes.
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

// snapshotHeader returns the first line of a snapshot. The counts are in Stats only: a
// model pays for each word here, and learns nothing from them.
func snapshotHeader(reasons reasonSet, where string) string {
	if reasons == 0 {
		return "[snapshot]" + where
	}
	return "[snapshot] reasons=" + strings.Join(reasons.words(), ",") + where
}
