package input

import (
	"sort"
	"strings"
	"sync"
	"unicode"

	"github.com/chromedp/chromedp/kb"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Bits of Input's modifiers.
const (
	altKey     = 1
	controlKey = 2
	metaKey    = 4
	shiftKey   = 8
)

// modifierBits are the names of modifier keys.
var modifierBits = map[string]int64{"Alt": altKey, "Control": controlKey, "Meta": metaKey, "Shift": shiftKey}

// key is one key of a US keyboard, as Input.dispatchKeyEvent takes it.
type key struct {
	name  string // KeyboardEvent.key
	code  string // KeyboardEvent.code
	text  string // what it types; empty: nothing
	plain string // what it types without Shift
	vk    int64  // Windows virtual key code, which is KeyboardEvent.keyCode
	shift bool   // Shift is held to get it
}

// keyNames holds every key by its name: "Enter", "a", "A", "F5".
func keyNames() map[string]key { names, _ := keyTables(); return names }

// keyRunes holds those that type a character by it.
func keyRunes() map[rune]key { _, runes := keyTables(); return runes }

var keyTables = sync.OnceValues(func() (names map[string]key, runes map[rune]key) {
	names, runes = map[string]key{}, map[rune]key{}
	for r, k := range kb.Keys {
		one := key{name: k.Key, code: k.Code, vk: k.Windows, shift: k.Shift}
		if k.Print {
			one.text, one.plain = k.Text, k.Unmodified
			runes[r] = one
		}
		// Several codes share a name (the numeric pad): the plain one is meant.
		if was, ok := names[k.Key]; !ok || strings.HasPrefix(was.code, "Numpad") || len(was.code) > len(k.Code) && k.Code != "" {
			names[k.Key] = one
		}
	}
	runes['\n'] = runes['\r']
	for _, m := range []struct {
		name string
		vk   int64
	}{{"Shift", 16}, {"Control", 17}, {"Alt", 18}, {"Meta", 91}} {
		names[m.name] = key{name: m.name, code: m.name + "Left", vk: m.vk}
	}
	return names, runes
})

// keyAliases are other names by which people call keys.
var keyAliases = map[string]string{
	"Esc": "Escape", "Return": "Enter", "Del": "Delete", "Ins": "Insert", "Space": " ", "Spacebar": " ", "Plus": "+",
	"Ctrl": "Control", "Cmd": "Meta", "Command": "Meta", "Option": "Alt", "ControlOrMeta": "Control", "CmdOrCtrl": "Control",
	"Up": "ArrowUp", "Down": "ArrowDown", "Left": "ArrowLeft", "Right": "ArrowRight",
	"PgUp": "PageUp", "PgDn": "PageDown", "PgDown": "PageDown", "Break": "Pause",
}

// keyOf finds a key by its name, its alias, its code ("KeyA", "Digit1"), or
// the character that it types; the case of a name does not matter.
func keyOf(name string) (key, bool) {
	if k, ok := keyNames()[name]; ok {
		return k, true
	}
	if r := []rune(name); len(r) == 1 {
		// A character that no US keyboard has is typed all the same.
		return key{name: name, text: name, plain: name}, r[0] >= ' '
	}
	for alias, real := range keyAliases {
		if strings.EqualFold(alias, name) {
			return keyNames()[real], true
		}
	}
	for real, k := range keyNames() {
		if len(real) > 1 && strings.EqualFold(real, name) || k.code != "" && !k.shift && strings.EqualFold(k.code, name) && k.code != k.name {
			return k, true
		}
	}
	return key{}, false
}

// Chord is a key and the modifiers that are held with it.
type Chord struct {
	key       key
	modifiers int64
	only      string // down, up; empty: both
	held      int64  // modifiers that are down before it and stay so
}

// Only returns the chord of which only the keys' going down, or up, is written; press, and
// empty: both.
func (c Chord) Only(action string) Chord {
	if c.only = action; action == "press" {
		c.only = ""
	}
	return c
}

// ParseChord reads "Enter", "a", "Control+a", "Control+Shift+Tab", "Control++". An
// unknown key is invalid_params, which names the keys that come nearest; so is a chord
// that is the browser's own.
func ParseChord(s string) (Chord, error) {
	var c Chord
	rest := s
	for {
		name, after, more := strings.Cut(rest, "+")
		if !more || after == "" || name == "" {
			break // the last one, or the plus key itself
		}
		if real, ok := keyAliases[name]; ok {
			name = real
		}
		bit := modifierBits[name]
		if bit == 0 {
			for m, b := range modifierBits {
				if strings.EqualFold(m, name) {
					bit = b
				}
			}
		}
		if bit == 0 {
			return c, unknownKey(s, name)
		}
		c.modifiers |= bit
		rest = after
	}
	k, ok := keyOf(rest)
	if !ok {
		return c, unknownKey(s, rest)
	}
	c.key = k
	switch {
	case k.shift && c.modifiers&^shiftKey != 0 && unicode.IsLetter([]rune(k.text)[0]):
		c.key, _ = keyOf(strings.ToLower(k.name)) // Control+A is the shortcut that is written so, and not Control+Shift+a
	case k.shift:
		c.modifiers |= shiftKey
	}
	if c.modifiers&shiftKey != 0 {
		c.key = c.key.shifted()
	}
	return c, nil
}

// Windows virtual key codes of the keys that copy, cut and paste, with a modifier.
const (
	vkInsert = 0x2d
	vkDelete = 0x2e
	vkC      = 0x43
	vkV      = 0x56
	vkX      = 0x58
)

// usesClipboard reports whether the chord copies, cuts or pastes in Chromium on any system, with
// these modifiers down already.
func (c Chord) usesClipboard(held int64) bool {
	held |= c.modifiers
	switch c.key.vk {
	case vkC, vkX, vkV:
		return held&(controlKey|metaKey) != 0
	case vkInsert:
		return held&(controlKey|shiftKey) != 0
	case vkDelete:
		return held&shiftKey != 0
	}
	return false
}

// shifted is the character that Shift makes of the key; k where it makes none.
func (k key) shifted() key {
	if k.shift || len(k.text) != 1 {
		return k
	}
	for _, upper := range keyRunes() {
		if upper.code == k.code && upper.shift && upper.code != "" {
			return upper
		}
	}
	return k
}

// MustChord is ParseChord of a chord that is known to exist; it panics otherwise.
func MustChord(s string) Chord {
	c, err := ParseChord(s)
	if err != nil {
		panic(err)
	}
	return c
}

func unknownKey(whole, name string) error {
	near := nearestKeys(name)
	return protocol.Errorf(protocol.InvalidParams, "key %s: there is no key %s", snapshot.Quote(snapshot.Cut(whole, 60)), snapshot.Quote(snapshot.Cut(name, 40))).
		With("parameter", "key").With("nearest", near).
		Then("write a key as KeyboardEvent.key names it, such as Enter, ArrowDown, a, or with modifiers Control+a; nearest: %s", strings.Join(near, ", "))
}

// nearestKeys returns the names that come closest to what was written.
func nearestKeys(name string) []string {
	type scored struct {
		name string
		d    int
	}
	var list []scored
	for k := range keyNames() {
		if len(k) > 1 {
			list = append(list, scored{k, distance(strings.ToLower(k), strings.ToLower(snapshot.Cut(name, 40)))})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].d != list[j].d {
			return list[i].d < list[j].d
		}
		return list[i].name < list[j].name
	})
	near := []string{}
	for _, s := range list[:3] {
		near = append(near, s.name)
	}
	return near
}

// distance returns the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, cost)
		}
	}
	return row[len(b)]
}
