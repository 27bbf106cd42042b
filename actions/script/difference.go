package script

import (
	"slices"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// maxAlike is how many new elements a difference shows as candidates for the missing ones.
const maxAlike = 5

// Lines returns the difference between the recorded page and the current one, as lines with - and +.
// refs are those of a's elements; numbers has those of the nodes.
func (r *Replay) Lines(pages []string, a Acting, refs []string, differ []Difference, missing []Element, nodes []snapshot.Node, numbers *snapshot.Refs) (lines []string) {
	for _, was := range pages[:min(len(pages), maxAlike)] {
		lines = append(lines, "- page "+protocol.MaskURL(was))
	}
	if pages != nil {
		lines = append(lines, "+ page "+protocol.MaskURL(a.Page))
	}
	for i, is := range a.Elements {
		for _, d := range differ {
			if d.Is == is {
				lines = append(lines, "- "+d.Was.String(), "+ "+refs[i]+" "+is.String())
				break
			}
		}
	}
	roles := map[string]bool{}
	for _, was := range missing {
		if line := "- " + was.String(); !slices.Contains(lines, line) {
			lines, roles[was.Role] = append(lines, line), true
		}
	}
	alike := 0
	for _, n := range nodes {
		if is := NewElement(n.Role, n.Name); roles[n.Role] && r.Unrecorded(is) && alike < maxAlike {
			line := "+ " + snapshot.RefOf(numbers.Number(n)) + " " + is.String()
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
				alike++
			}
		}
	}
	return lines
}
