package network

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// maxName is how many bytes the name of a download may have.
const maxName = 150

// reserved are names that Windows gives to devices, with any extension.
var reserved = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)`)
})

// downloadName returns what a page suggests as the name of a download, made fit to
// be shown and to be used as a file's name on any system: no path, no letters
// that cannot be seen or turn the text around, no name of a device, and none
// that is hidden.
func downloadName(suggested string) string {
	name := suggested
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune(" ._-()[]+,=@&'!#", r):
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return '_'
	}, name)
	name = strings.TrimRight(strings.TrimLeft(name, ". "), ". ")
	if len(name) > maxName {
		ext := filepath.Ext(name)
		if len(ext) > 20 {
			ext = ""
		}
		stem := []rune(strings.TrimSuffix(name, ext))
		for len(string(stem))+len(ext) > maxName {
			stem = stem[:len(stem)-1]
		}
		name = string(stem) + ext
	}
	if reserved().MatchString(name) {
		name = "_" + name
	}
	if name == "" {
		return "download"
	}
	return name
}
