package protocol

// Merge adds what happened later to e, as one effect of several actions one after the
// other. Each list stays within its limit.
func (e *Effect) Merge(later Effect) {
	for _, text := range []struct{ to, from *string }{{&e.Hit, &later.Hit}, {&e.Navigated, &later.Navigated}, {&e.Focused, &later.Focused}} {
		if *text.from != "" {
			*text.to = *text.from
		}
	}
	e.Changed = e.Changed || later.Changed
	e.mergeDialogs(later.Dialogs)
	if later.Dialog != nil {
		e.mergeDialogs([]Dialog{*later.Dialog})
	}
	e.TabsOpened = mergeList(&e.Reports, "tabs_opened", e.TabsOpened, later.TabsOpened, MaxReports)
	e.Pending = later.Pending
	e.Value = nil // of one field, which the next action left
	e.Reports.Add(later.Reports)
}

// MergeSince adds what happened between two actions.
func (e *Effect) MergeSince(s Since) {
	if s.Navigated != "" {
		e.Navigated = s.Navigated
	}
	e.Changed = e.Changed || s.Changed
	e.mergeDialogs(s.Dialogs)
	e.Reports.Add(s.Reports)
}

// maxDialogs is how many dialogs an effect has before the last one.
const maxDialogs = 20

// mergeDialogs makes the last of later the effect's last, and puts all before it where
// those before the last are.
func (e *Effect) mergeDialogs(later []Dialog) {
	for _, d := range later {
		if e.Dialog != nil {
			e.Dialogs = mergeList(&e.Reports, "dialogs", e.Dialogs, []Dialog{*e.Dialog}, maxDialogs)
		}
		e.Dialog = &d
	}
}

// mergeList is both lists, at most limit entries of them; r counts the rest.
func mergeList[T any](r *Reports, name string, list, later []T, limit int) []T {
	room := max(limit-len(list), 0)
	if len(later) > room {
		r.leaveOut(name, len(later)-room)
		later = later[:room]
	}
	return append(list[:len(list):len(list)], later...)
}
