package form

import (
	"fmt"
	"sync"

	"golang.org/x/text/encoding/japanese"
)

// legacy encodes one character as the Encoding standard does for encodings whose decoder
// accepts more than the encoder may write. ok is false if the encoding does not have it.
var legacy = map[string]func(cs charset, r rune) (b []byte, ok bool){
	// 10.2.2: the rows before ETEN (Hong Kong's supplement) are decoded, never encoded.
	"Big5": func(cs charset, r rune) ([]byte, bool) {
		b, ok := cs.plain(r)
		return b, ok && b[0] >= 0xa1
	},
	// 12.1.2: JIS X 0212, with its prefix 8F, is decoded, never encoded.
	"EUC-JP": func(cs charset, r rune) ([]byte, bool) {
		b, ok := cs.plain(yen(r))
		return b, ok && b[0] != 0x8f
	},
	// 12.3.2: IBM's characters are written in IBM's rows, not in NEC's.
	"Shift_JIS": func(cs charset, r rune) ([]byte, bool) {
		b, ok := cs.plain(yen(r))
		if ok && (b[0] == 0xed || b[0] == 0xee) {
			b, ok = ibmRows()[r]
		}
		return b, ok
	},
}

// yen maps characters to the ones that the Japanese encodings encode in their place.
func yen(r rune) rune {
	switch r {
	case '¥':
		return '\\'
	case '‾':
		return '~'
	case '−':
		return '－'
	}
	return r
}

// plain encodes one character as golang.org/x/text does.
func (cs charset) plain(r rune) ([]byte, bool) {
	if r < 0x80 {
		return []byte{byte(r)}, true
	}
	b, err := cs.enc.NewEncoder().Bytes([]byte(string(r)))
	return b, err == nil && len(b) > 0
}

// each encodes s character by character.
func (cs charset) each(s string, one func(charset, rune) ([]byte, bool)) []byte {
	var out []byte
	for _, r := range s {
		if r < 0x80 {
			out = append(out, byte(r))
			continue
		}
		b, ok := one(cs, r)
		if !ok {
			b = fmt.Appendf(nil, "&#%d;", r)
		}
		out = append(out, b...)
	}
	return out
}

// ibmRows are the characters of the rows FA to FC of Shift_JIS.
var ibmRows = sync.OnceValue(func() map[rune][]byte {
	rows := map[rune][]byte{}
	for lead := 0xfa; lead <= 0xfc; lead++ {
		for trail := 0x40; trail <= 0xfc; trail++ {
			b := []byte{byte(lead), byte(trail)}
			text, err := japanese.ShiftJIS.NewDecoder().Bytes(b)
			if r := []rune(string(text)); err == nil && len(r) == 1 && r[0] != '\ufffd' && rows[r[0]] == nil {
				rows[r[0]] = b
			}
		}
	}
	return rows
})
