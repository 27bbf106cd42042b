package script

import (
	"slices"
	"sync"
)

// Values are the values of the last scripts that were too long for one answer, so that the
// rest can be read without running a script again. The zero value holds none. Any goroutine
// may call its methods.
type Values struct {
	mu   sync.Mutex
	list []value // the newest last
}

type value struct{ owner, run, text string }

// maxValues is how many values are kept, of all owners together. Each has at most
// maxValueChars characters.
const maxValues = 32

// Keep keeps the value of a run for its owner, in place of the owner's last one.
func (v *Values) Keep(owner, run, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = slices.DeleteFunc(v.list, func(k value) bool { return k.owner == owner })
	v.list = append(v.list, value{owner, run, text})
	if len(v.list) > maxValues {
		v.list = slices.Delete(v.list, 0, 1)
	}
}

// Of returns the value of an owner's run, and whether it is still kept.
func (v *Values) Of(owner, run string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, k := range v.list {
		if k.owner == owner && k.run == run {
			return k.text, true
		}
	}
	return "", false
}
