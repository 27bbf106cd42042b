package e2e_test

import (
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var viewPictures = flag.String("view.pictures", "", "a folder that TestViewPictures writes the pictures of the live view to: docs/images")

// The live view as people see it: all sessions and one, on a laptop and a phone, light and
// dark. Nothing is wider than the screen, nothing is asked for elsewhere, and every control
// has a name. With -view.pictures it writes the pictures of the documentation.
func TestViewPictures(t *testing.T) {
	aboutOneProcess(t, "a view of all sessions drives those of its own node")
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "click"})
	app := demoServer(t)
	a, o := as(t, d, ann), as(t, d, olga)
	a.do("session_open", params{"name": "groceries"})
	view := ask[struct{ URL string }](o, "view", nil).URL
	a.do("open", params{"url": app + "items"})
	a.do("type", params{"ref": "label=New item", "text": "Oat milk"})
	a.do("session_open", params{"name": "invoice"})
	a.do("open", params{"url": app, "session": "invoice"})
	a.handsOff(params{"session": "invoice", "reason": "The shop asks for a code from your phone. Please sign in.", "minutes": 20})
	a.do("session_open", params{"name": "reading", "source": "http"})
	a.do("open", params{"url": app + "about", "session": "reading"})
	pending := a.send("click", params{"ref": `role=button[name="Add"]`, "session": "groceries", "timeout_ms": 120000})

	p := newDesk(t)
	p.do("open", params{"url": view})
	for name, test := range map[string]struct {
		hash, scheme  string
		width, height int
		ready         string
	}{
		"view":          {"", "light", 1280, 860, `[...document.querySelectorAll('.cards canvas')].filter((c) => c.dataset.frames > 0).length === 2 && document.querySelector('.question')`},
		"view-dark":     {"", "dark", 1280, 860, `[...document.querySelectorAll('.cards canvas')].filter((c) => c.dataset.frames > 0).length === 2`},
		"session":       {"#ann%2Finvoice", "light", 1280, 860, `document.querySelector('#live canvas')?.dataset.frames > 0 && document.querySelectorAll('.lines [tabindex]').length > 3`},
		"session-dark":  {"#ann%2Finvoice", "dark", 1280, 860, `document.querySelector('#live canvas')?.dataset.frames > 0 && document.querySelectorAll('.lines [tabindex]').length > 3`},
		"view-phone":    {"", "light", 390, 844, `[...document.querySelectorAll('.cards canvas')].filter((c) => c.dataset.frames > 0).length === 2`},
		"session-phone": {"#ann%2Finvoice", "dark", 390, 844, `document.querySelector('#live canvas')?.dataset.frames > 0`},
	} {
		t.Run(name, func(t *testing.T) {
			p.t, p.agent.t = t, t
			p.do("emulate", params{"viewport": params{"width": test.width, "height": test.height}, "color_scheme": test.scheme})
			p.do("eval", params{"expression": `location.hash = "` + test.hash + `"`})
			p.shows(test.ready)
			if test.hash != "" {
				p.do("eval", params{"expression": `document.querySelectorAll('.lines [tabindex]')[2]?.dispatchEvent(new MouseEvent('mouseenter'))`})
			}
			got := p.do("eval", params{"expression": `({
				wide: document.documentElement.scrollWidth - innerWidth > 0,
				nameless: [...document.querySelectorAll('button, input, select, a')].filter((e) => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length,
				elsewhere: performance.getEntriesByType('resource').filter((r) => !r.name.startsWith(location.origin)).length,
			})`}).Value.(map[string]any)
			if got["wide"] != false || got["nameless"] != 0.0 || got["elsewhere"] != 0.0 {
				t.Errorf("%v", got)
			}
			if *viewPictures == "" {
				return
			}
			shot := ask[struct{ Image string }](p.agent, "screenshot", params{"format": "jpeg", "quality": 75})
			image, err := base64.StdEncoding.DecodeString(shot.Image)
			if err == nil {
				err = os.WriteFile(filepath.Join(*viewPictures, "live-"+name+".jpg"), image, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	p.t, p.agent.t = t, t
	p.do("emulate", params{"viewport": params{"width": 1280, "height": 860}})
	p.do("eval", params{"expression": `location.hash = ""`})
	p.button("Allow")
	if _, err := a.wait(pending); err != nil {
		t.Error(err)
	}
	if errors := ask[struct {
		Messages []struct{ Level, Text string }
	}](p.agent, "console", nil).Messages; len(errors) > 0 {
		for _, e := range errors {
			if strings.Contains(e.Level, "error") || strings.Contains(e.Text, "Content Security") {
				t.Errorf("the console says %v", e)
			}
		}
	}
}
