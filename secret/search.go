package secret

import (
	"encoding/binary"
	"math/bits"
)

// search finds forms in a text in one pass, whatever their number. Every form is as long as a gram and
// a stride: so of the places that are a stride apart, one has a gram of the form, and only these
// are looked at. A gram is three or four bytes, in small letters.
type search struct {
	forms  [][]byte // lowered
	stride int
	mask   uint32   // the bytes of a gram in four
	shift  int      // of a hash to its bit
	bits   []uint64 // of the grams' hashes
	grams  map[uint32][]place
}

// place is where a gram stands in a form.
type place struct{ form, offset int32 }

// maxStride bounds the grams that are kept of each form.
const maxStride = 8

// newSearch returns one for lowered forms of at least three bytes.
func newSearch(forms [][]byte) *search {
	s := &search{forms: forms, stride: maxStride, mask: 0xffffffff, grams: map[uint32][]place{}}
	shortest := 1 << 30
	for _, f := range forms {
		shortest = min(shortest, len(f))
	}
	gram := 4
	if shortest < 6 {
		gram, s.mask = 3, 0x00ffffff
	}
	s.stride = max(1, min(maxStride, shortest-gram+1))
	for i, f := range forms {
		for at := 0; at < s.stride && at+gram <= len(f); at++ {
			g := s.gram(f, at)
			s.grams[g] = append(s.grams[g], place{int32(i), int32(at)})
		}
	}
	size := max(12, min(22, bits.Len(uint(len(s.grams)))+6)) // one bit in 32 at most
	s.shift, s.bits = 32-size, make([]uint64, 1<<size/64)
	for g := range s.grams {
		h := s.hash(g)
		s.bits[h/64] |= 1 << (h % 64)
	}
	return s
}

func (s *search) hash(gram uint32) uint32 { return gram * 0x9e3779b1 >> s.shift }

// gram returns what stands at a place, with zeros behind the end. Bit 5 is set, which makes
// ASCII's letters small and other bytes alike that are not: what is found is compared.
func (s *search) gram(text []byte, at int) uint32 {
	if at+4 <= len(text) {
		return (binary.LittleEndian.Uint32(text[at:]) | 0x20202020) & s.mask
	}
	var last [4]byte
	copy(last[:], text[at:])
	return (binary.LittleEndian.Uint32(last[:]) | 0x20202020) & s.mask
}

// find calls found with every place of every form, in no order.
func (s *search) find(text []byte, found func(from, to int)) {
	if s == nil || len(s.forms) == 0 {
		return
	}
	table, mask, shift := s.bits, s.mask, s.shift
	at := 0
	for ; at+4 <= len(text); at += s.stride {
		h := ((binary.LittleEndian.Uint32(text[at:]) | 0x20202020) & mask) * 0x9e3779b1 >> shift
		if table[h/64]&(1<<(h%64)) != 0 {
			s.compare(text, at, found)
		}
	}
	for ; at < len(text); at += s.stride {
		s.compare(text, at, found)
	}
}

// compare calls found for the forms of which a gram stands there.
func (s *search) compare(text []byte, at int, found func(from, to int)) {
	for _, p := range s.grams[s.gram(text, at)] {
		form := s.forms[p.form]
		from := at - int(p.offset)
		if from >= 0 && from+len(form) <= len(text) && same(text[from:from+len(form)], form) {
			found(from, from+len(form))
		}
	}
}

// same reports whether a text is a lowered form, of the same length, in any letters' case.
func same(text, form []byte) bool {
	for i, c := range text {
		if small[c] != form[i] {
			return false
		}
	}
	return true
}

// small has each byte, ASCII's letters small.
var small = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			table[i] += 'a' - 'A'
		}
	}
	return table
}()

// lowered returns ASCII's letters small, and all else unchanged, so that places stay where they
// are.
func lowered(text []byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		out[i] = small[c]
	}
	return out
}
