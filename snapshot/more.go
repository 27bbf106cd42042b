package snapshot

import "strconv"

// rest is what a text leaves out, for its last line, [more].
type rest struct {
	what  restKind
	count int
	least bool   // there are more than count
	after int    // the ref to continue after, 0 for none
	limit string // the budget to raise, where after is 0
	chars int    // for restCut: the characters at which texts were cut
}

type restKind string

const (
	restNodes    restKind = "nodes"   // nodes with a ref, and maybe text
	restTexts    restKind = "texts"   // text only
	restDeeper   restKind = "deeper"  // nodes below max_depth; count 0: not counted
	restCut      restKind = "cut"     // texts cut at max_text; count 0: not counted
	restOffScope restKind = "outside" // changes outside of the window that a delta compares
)

const (
	moreStart    = "[more] "
	moreLeast    = "at least "
	moreAfter    = " not shown; continue with after=@e"
	moreRaise    = " not shown; raise "
	moreDeeper   = "nodes not shown; raise max_depth, or set scope"
	moreCut      = " characters; read the whole with read, or raise max_text"
	moreOffScope = " changes outside of what was shown; "
	moreBehind   = "continue with after=@e"
	moreWhole    = "take a snapshot"
	moreFolded   = " nodes not shown here" // of a [more] line within the text,
	moreSiblings = " like siblings not shown here"
)

// String returns the [more] line.
func (r rest) String() string {
	n := strconv.Itoa(r.count)
	if r.least {
		n = moreLeast + n
	}
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
	case restOffScope:
		if r.after == 0 {
			return moreStart + n + moreOffScope + moreWhole
		}
		return moreStart + n + moreOffScope + moreBehind + strconv.Itoa(r.after)
	}
	if r.after == 0 {
		return moreStart + n + " " + string(r.what) + moreRaise + r.limit
	}
	return moreStart + n + " " + string(r.what) + moreAfter + strconv.Itoa(r.after)
}
