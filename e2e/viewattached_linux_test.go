package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// The view of sessions in the person's own browser says on each what does not hold there, on a laptop and a
// phone, and its buttons grant a tab and take it back. A session of another daemon says nothing of the kind.
func TestViewOfAttachedSessions(t *testing.T) {
	aboutOneProcess(t, "a person's own browser")
	t.Parallel()
	w, _ := personPages(t)
	alive, _ := ownPages(w)
	own := newPerson(t, w.URL+"/notes")
	own.until("the person's tab is loaded", func() bool { return alive() > 0 })
	d := attachedDaemon(t, own, map[string]string{"BROWSERD_POLICY__AUTONOMY": "full"})
	a := newAgent(t, d)
	a.refused("session_open", nil, protocol.WaitingForConsent)
	own.presses(func() bool { return attachment(a) == "attached" }, "Tab", "Return")
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL + "/who"})
	link, err := d.Command("view", "--print")
	if err != nil {
		t.Fatal(err)
	}
	p := newDesk(t)
	p.do("open", params{"url": strings.TrimSpace(link)})
	const said = `document.querySelectorAll('.unprotected').length === 1 && document.querySelector('.unprotected').innerText.includes('neither the jail nor the egress policy')`
	for name, test := range map[string]struct {
		hash, scheme string
		width        int
		ready        string
	}{
		"card":          {"", "light", 1280, `document.querySelector('.cards .unprotected')`},
		"card-phone":    {"", "dark", 390, `document.querySelector('.cards .unprotected')`},
		"session":       {"#default%2Fshop", "dark", 1280, `document.querySelector('.session .unprotected') && document.querySelector('#live canvas')?.dataset.frames > 0`},
		"session-phone": {"#default%2Fshop", "light", 390, `document.querySelector('.session .unprotected')`},
	} {
		p.do("emulate", params{"viewport": params{"width": test.width, "height": 860}, "color_scheme": test.scheme})
		p.do("eval", params{"expression": `location.hash = "` + test.hash + `"`})
		p.shows(test.ready + " && " + said)
		got := p.do("eval", params{"expression": `(() => { const r = document.querySelector('.unprotected').getBoundingClientRect(); return [
			document.documentElement.scrollWidth - innerWidth > 0, r.width > 100 && r.height > 10 && r.left >= 0 && r.right <= innerWidth,
			[...document.querySelectorAll('button, input, select, a')].filter((e) => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length] })()`}).Value
		if fmt.Sprint(got) != "[false true 0]" {
			t.Errorf("%s: %v", name, got)
		}
	}

	p.do("emulate", params{"viewport": params{"width": 1280, "height": 860}})
	p.do("eval", params{"expression": `location.hash = "#default%2Fshop"`})
	p.shows(`document.querySelector('#live canvas')?.dataset.frames > 0`)
	p.button("Your tabs")
	p.shows(`document.querySelector('dialog[open] .tabs-of-yours')?.innerText.includes('Notes')`)
	p.button("Grant Notes")
	p.shows(`[...document.querySelectorAll('.tabs [role=tab]')].some((e) => e.innerText === 'Yours: Notes')`)
	if tabs := a.do("tab_list", nil).Tabs; len(tabs) != 2 || !tabs[1].Person {
		t.Errorf("granted: %+v", tabs)
	}
	p.button("Your tabs")
	p.shows(`document.querySelector('dialog[open] .tabs-of-yours')?.innerText.includes('Take back')`)
	p.button("Take back Notes")
	p.shows(`document.querySelectorAll('.tabs [role=tab]').length === 1`)

	// The agent's own link, which drives, has no such button; another daemon's session no such line.
	spy := newDesk(t)
	spy.do("open", params{"url": ask[struct{ URL string }](a, "view", nil).URL})
	spy.shows(`document.querySelector('.session .unprotected') && document.querySelector('.handoff button, .row button')`)
	if text := fmt.Sprint(spy.do("eval", params{"expression": `document.body.innerText`}).Value); strings.Contains(text, "Your tabs") {
		t.Errorf("the agent's view offers %s", text)
	}
	other := driven(t, "", nil)
	o := as(t, other, olga)
	b := as(t, other, ann)
	b.do("session_open", params{"name": "other"})
	b.do("open", params{"url": w.URL + "/who"})
	spy.do("open", params{"url": ask[struct{ URL string }](o, "view", nil).URL})
	spy.shows(`document.querySelector('.card') && !document.querySelector('.unprotected')`)
}
