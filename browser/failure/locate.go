package failure

import (
	"fmt"
	"strings"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Stale returns the error of a ref whose element is gone. near are elements like it that are
// there, in the document with that number.
func Stale(refs *snapshot.Refs, e snapshot.Entry, doc int, near []script.Element) error {
	candidates := make([]any, 0, len(near))
	for _, r := range near {
		candidates = append(candidates, map[string]any{
			"ref": snapshot.RefOf(refs.Number(r.In(doc))), "role": r.Role, "name": r.Name, "why": r.Why,
		})
	}
	err := protocol.Errorf(protocol.StaleRef, "%s is gone: it was %s", e.Ref(), Spoken(e.Role, e.Name)).With("candidates", candidates)
	if len(candidates) == 0 {
		err.Then("take a snapshot and use a ref from it")
	}
	return err
}

// Changed returns the error of an element that is no longer what the client was shown. From
// now on the client knows it as what it is.
func Changed(refs *snapshot.Refs, e snapshot.Entry, doc int, now script.Element) error {
	refs.Number(now.In(doc))
	was, is := map[string]any{"role": e.Role, "name": e.Name}, map[string]any{"role": now.Role, "name": now.Name}
	message := fmt.Sprintf("%s was %s and is now %s", e.Ref(), Spoken(e.Role, e.Name), Spoken(now.Role, now.Name))
	if e.Context != now.Context {
		was["context"], is["context"] = e.Context, now.Context
		if e.Role == now.Role && e.Name == now.Name {
			message = fmt.Sprintf("%s, %s, stands in another row now: %s", e.Ref(), Spoken(e.Role, e.Name), Quote(now.Context))
		}
	}
	return protocol.Errorf(protocol.RefChanged, "%s", message).With("was", was).With("now", is)
}

// NotActionable returns the error of an element that cannot be acted on. It says why: what
// covers it, that it is disabled, that it moves.
func NotActionable(refs *snapshot.Refs, e snapshot.Entry, doc int, got script.Located) error {
	who := e.Ref() + " " + Spoken(e.Role, e.Name)
	var err *protocol.Error
	switch got.Reason {
	case "covered":
		what := "something else"
		if got.By != nil {
			what = snapshot.RefOf(refs.Number(got.By.In(doc))) + " " + Spoken(got.By.Role, got.By.Name)
			if got.By.Says != "" {
				what += " that says " + Quote(got.By.Says)
			}
		}
		err = protocol.Errorf(protocol.NotActionable, "%s is covered by %s", who, what).
			Then("deal with what covers it first: details.by")
		if got.By != nil {
			if strings.HasPrefix(got.By.Role, "menu") || got.By.Role == "listbox" || got.By.Role == "option" {
				err.Then("choose something in it, or press Escape to close it: details.by")
			}
			by := map[string]any{
				"ref": snapshot.RefOf(refs.Number(got.By.In(doc))), "role": got.By.Role, "name": got.By.Name, "tag": got.By.Tag,
			}
			if got.By.Says != "" {
				by["says"] = got.By.Says
			}
			err.With("by", by)
		}
	case "disabled":
		err = protocol.Errorf(protocol.NotActionable, "%s is disabled", who).
			Then("do first what enables it, then take a snapshot")
	case "readonly":
		err = protocol.Errorf(protocol.NotActionable, "%s is readonly", who).
			Then("look for the control that changes it")
	case "moving":
		err = protocol.Errorf(protocol.NotActionable, "%s moves and does not come to rest", who).
			Then("try again, or use press with the keyboard")
	case "detached":
		err = protocol.Errorf(protocol.NotActionable, "%s is not in the document", who)
	default:
		err = protocol.Errorf(protocol.NotActionable, "%s cannot be seen", who)
	}
	if got.Because != "" {
		err.With("because", got.Because)
	}
	return err.With("reason", got.Reason)
}
