package secret

import (
	"encoding/binary"
	"math/bits"
)

// search finds any number of forms in a text in one pass. It looks only at offsets that are a stride apart.
// Every form is long enough that one of these offsets has one of the form's first grams. A gram is three or
// four bytes in lower case.
type search struct {
	forms  [][]byte // lowered
	stride int
	mask   uint32   // masks the bytes of a gram in a uint32
	shift  int      // shifts a hash to the number of its bit
	bits   []uint64 // a bit set of the grams' hashes
	grams  map[uint32][]place
}

// place is a gram's offset in a form.
type place struct{ form, offset int32 }

// maxStride limits the grams that are stored for each form.
const maxStride = 8

// newSearch returns a search for forms in lower case of at least three bytes.
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
	size := max(12, min(22, bits.Len(uint(len(s.grams)))+6)) // at most one bit in 32 is set
	s.shift, s.bits = 32-size, make([]uint64, 1<<size/64)
	for g := range s.grams {
		h := s.hash(g)
		s.bits[h/64] |= 1 << (h % 64)
	}
	return s
}

func (s *search) hash(gram uint32) uint32 { return gram * 0x9e3779b1 >> s.shift }

// gram returns the gram at an offset, with zeros after the end of the text. It sets bit 5 of every byte, which
// makes ASCII letters lower case. This also makes some other bytes equal that are not, so compare checks what
// was found.
func (s *search) gram(text []byte, at int) uint32 {
	if at+4 <= len(text) {
		return (binary.LittleEndian.Uint32(text[at:]) | 0x20202020) & s.mask
	}
	var last [4]byte
	copy(last[:], text[at:])
	return (binary.LittleEndian.Uint32(last[:]) | 0x20202020) & s.mask
}

// find calls found with the range of every occurrence of every form, in no particular order.
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

// compare calls found for the forms that have a gram at the offset and occur there.
func (s *search) compare(text []byte, at int, found func(from, to int)) {
	for _, p := range s.grams[s.gram(text, at)] {
		form := s.forms[p.form]
		from := at - int(p.offset)
		if from >= 0 && from+len(form) <= len(text) && equalFoldASCII(text[from:from+len(form)], form) {
			found(from, from+len(form))
		}
	}
}

// equalFoldASCII reports whether a text equals a form of the same length, ignoring the case of ASCII letters.
// The form is in lower case.
func equalFoldASCII(text, form []byte) bool {
	for i, c := range text {
		if lowerTable[c] != form[i] {
			return false
		}
	}
	return true
}

// lowerTable maps each byte to itself, and ASCII letters to lower case.
var lowerTable = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			table[i] += 'a' - 'A'
		}
	}
	return table
}()

// lowerASCII returns a text with its ASCII letters in lower case. Everything else, and so every offset, is
// unchanged.
func lowerASCII(text []byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		out[i] = lowerTable[c]
	}
	return out
}
