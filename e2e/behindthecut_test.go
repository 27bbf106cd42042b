package e2e_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mailPage has 400 messages, more than a default snapshot shows. What its buttons open stands
// behind them.
var mailPage = page("Mail", `<style>.window{position:fixed;right:10px;bottom:10px;width:300px;height:200px;background:white}.shut{display:none}</style>
	<button onclick="compose()">Compose</button>
	<button onclick="document.getElementById('chat').classList.remove('shut')">Chat</button>
	<button onclick="document.getElementById('more').showPopover()">More</button>
	<button onclick="document.getElementById('note').focus()">Note</button>
	<ul>`+strings.Repeat(`<li><button>Message</button>`, 400)+`</ul>
	<input id=note aria-label="Note to self">
	<div id=chat class="window shut"><h2>Chat with Ann</h2><input aria-label="Say"></div>
	<div id=more popover><a href="/settings">Settings</a></div>
	<script>
	function compose() {
		const w = document.createElement('div')
		w.className = 'window'
		w.innerHTML = '<h2>New message</h2><input aria-label=To><button onclick="this.parentNode.remove()">Discard</button>'
		document.body.append(w)
	}
	</script>`)

// What an action opened, and what has the focus, is in its delta and in a default snapshot,
// also where the budget ends before it, and goes when it is closed. Nothing is shown twice to
// who reads the page part by part.
func TestWhatIsOpenStandsBeforeTheCut(t *testing.T) {
	t.Parallel()
	w := newPageServer(t)
	w.serve("/", mailPage, "")
	d := sharedDaemon(t)
	for _, c := range []struct {
		button string
		opens  []string // the lines that it brings, refs aside
	}{
		{"Compose", []string{`[heading level=2] "New message"`, `[textbox] "To"`, `[button] "Discard"`}},
		{"Chat", []string{`[heading level=2] "Chat with Ann"`, `[textbox] "Say"`}},
		{"More", []string{`[link href="/settings"] "Settings"`}},
		{"Note", []string{`[textbox focused] "Note to self"`}},
	} {
		t.Run(c.button, func(t *testing.T) {
			a := newAgent(t, d)
			a.exact = true // each delta, applied, gives the next snapshot
			before := a.do("open", params{"url": w.URL + "/"}).Snapshot.Text
			shown := func(text string) (lines []string) {
				for _, l := range strings.Split(text, "\n") {
					if l = anyRef.ReplaceAllString(strings.TrimLeft(l, "+~> "), ""); slices.Contains(c.opens, l) {
						lines = append(lines, l)
					}
				}
				return lines
			}
			if got := shown(before); len(got) > 0 {
				t.Fatalf("shown before it is open: %q", got)
			}
			clicked := a.do("click", params{"ref": map[string]string{"role": "button", "name": c.button}})
			if got := shown(clicked.Delta.Text); !slices.Equal(got, c.opens) {
				t.Errorf("the delta has %q, want %q:\n%.1500s", got, c.opens, clicked.Delta.Text)
			}
			text := a.do("snapshot", nil).Snapshot.Text
			if got := shown(text); !slices.Equal(got, c.opens) {
				t.Errorf("the snapshot has %q, want %q:\n%.1500s", got, c.opens, text)
			}
			whole := map[string]int{}
			for {
				counted, _, _ := strings.Cut(text, " like siblings not shown here") // who reads on from there is shown again what stands behind
				for _, m := range lineRef.FindAllStringSubmatch(counted, -1) {
					whole[m[1]]++
				}
				m := continues.FindStringSubmatch(text)
				if m == nil {
					break
				}
				text = a.do("snapshot", params{"after": m[1]}).Snapshot.Text
			}
			for ref, n := range whole {
				if n > 1 {
					t.Errorf("%s is shown %d times to who reads on", ref, n)
				}
			}
			if want := 405; len(whole) < want {
				t.Errorf("%d lines in all, want %d and more", len(whole), want)
			}
			if c.button != "Compose" {
				return
			}
			a.do("snapshot", nil)
			discarded := a.do("click", params{"ref": map[string]string{"role": "button", "name": "Discard"}})
			if got := discarded.Delta.Text; !windowGone.MatchString(got) {
				t.Errorf("with the window go %s, want its 3 lines", got)
			}
			if got := a.do("snapshot", nil).Snapshot.Text; got != before {
				t.Errorf("with the window closed the page is another than before:\n%.500s\nwant\n%.500s", got, before)
			}
		})
	}
}

var (
	anyRef     = regexp.MustCompile(`^@e\d+ `)
	lineRef    = regexp.MustCompile(`(?m)^ *(@e\d+) \[`)
	windowGone = regexp.MustCompile(`(?m)^- @e\d+ to @e\d+, 3 lines$`)
	continues  = regexp.MustCompile(`after=(@e\d+)`)
)
