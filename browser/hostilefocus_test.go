package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/protocol"
)

// buildStages runs a test with a stage in a Chromium of its own: the build that
// BROWSERD_BROWSER__PATH names (make test-change: full Chromium), else the headless shell.
func buildStages(t *testing.T, f func(t *testing.T, s *stage)) {
	cfg := testConfig(t)
	cfg.Path = os.Getenv("BROWSERD_BROWSER__PATH")
	for found := range chromium.Installed() {
		if cfg.Path == "" && found.Shell {
			cfg.Path = found.Path
		}
	}
	if cfg.Path == "" {
		t.Fatal("chromium-headless-shell is not installed")
	}
	t.Run(filepath.Base(cfg.Path), func(t *testing.T) { f(t, newStageIn(t, New(started(t, cfg), discard()))) })
}

const (
	typedSecret = "Zx7!qWv9"
	// thief is what a page has that frames another's login: an input of its own, and a note
	// of every key and text that comes to it.
	thief = `<input id=own aria-label=Own><script>
let got='';const keep=e=>{got+=(e.key||e.data||'');};
for(const k of ['keydown','keypress','keyup','beforeinput','textInput','input','paste'])addEventListener(k,keep,true);
const steal=()=>own.focus();
</script>`
	victim = `<form action="/sent"><input type=password id=p aria-label=Password></form>`
)

// thefts are how a page takes the focus from a frame in it.
var thefts = map[string]string{
	"when the frame gains it": `<script>onblur=()=>{steal();setTimeout(steal)}</script>`,
	"by timer":                `<script>onblur=()=>{for(let i=0;i<200;i+=2)setTimeout(steal,i)}</script>`,
	"at once and for ever":    `<script>onblur=()=>setInterval(steal,1)</script>`,
	"in a new frame": `<script>onblur=()=>setTimeout(()=>{const f=document.createElement('iframe');document.body.append(f);const d=f.contentDocument;
const i=d.createElement('input');d.body.append(i);for(const k of ['keydown','keypress','input'])f.contentWindow.addEventListener(k,keep,true);i.focus()},2)</script>`,
}

// thieves are pages that take the focus from their own frame's fields besides, with what
// only frames of the same origin allow.
var thievesOfTheSameOrigin = map[string]string{
	"on each keydown": `<script>setInterval(()=>{const w=frames[0];if(w&&w.document.querySelector('#p')&&!w.armed){w.armed=1;w.addEventListener('keydown',steal)}},1)</script>`,
	"on focus":        `<script>setInterval(()=>{const w=frames[0];const p=w&&w.document.querySelector('#p');if(p&&!w.armed){w.armed=1;p.addEventListener('focus',steal)}},1)</script>`,
	"on blur":         `<script>addEventListener('blur',steal)</script>`,
}

// What is typed goes to the field that was found, or nowhere: a page that frames it and
// takes the focus gets no key and no text.
func TestTypedTextGoesToItsFieldOnly(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		attempts, through, typed := 0, 0, 0
		try := func(name, page, frame string, o protocol.Type) {
			t.Run(name, func(t *testing.T) {
				v := s.open(t, thief+replaceAlt(frame, s.srv.URL)+page, "/login", victim)
				if strings.Contains(page, "armed") {
					v.eval(`new Promise(done=>{const t=setInterval(()=>{if(frames[0].armed||frames[0].document.querySelector('#p').armed){clearInterval(t);done()}},1)})`)
				}
				got := v.write(v.ref("textbox", "Password"), o)
				attempts++
				holds := v.text(`own.value+got`)
				if strings.ContainsAny(holds, o.Text) {
					through++
					t.Errorf("the page got %q; answer %s", holds, got)
				}
				if strings.HasPrefix(got, `{"hit"`) {
					typed++
				}
			})
		}
		for _, o := range []protocol.Type{{Text: typedSecret}, {Text: typedSecret, Mode: "keys"}, {Text: typedSecret, Clear: true}, {Text: typedSecret, Submit: true}, {Text: strings.Repeat("Zq", 80)}, {Text: "ßéñ漢字"}} {
			kind := o.Mode + " " + o.Text[:2]
			if o.Clear {
				kind += " clear"
			}
			if o.Submit {
				kind += " submit"
			}
			for name, page := range thefts {
				try(kind+", "+name, page, `<iframe src="ALT/login"></iframe>`, o)
				try(kind+", "+name+", same origin", page, `<iframe src="/login"></iframe>`, o)
			}
			for name, page := range thievesOfTheSameOrigin {
				try(kind+", "+name+", same origin", page, `<iframe src="/login"></iframe>`, o)
			}
		}
		t.Logf("%d attempts, %d through, %d typed", attempts, through, typed)
		if typed < attempts/9 {
			t.Error("so little was typed that this test proves little")
		}
	})
}

// A key that is pressed with a ref reaches its element, or none. Most attempts get as far as
// keys that are sent: the page takes the focus when the element was found to have it.
func TestAKeyGoesToItsElementOnly(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		attempts, through, sent := 0, 0, 0
		for name, page := range thefts {
			for _, frame := range []string{`<iframe src="ALT/login"></iframe>`, `<iframe src="/login"></iframe>`} {
				t.Run(name+frame, func(t *testing.T) { // which closes the page: another's thief would have the focus
					v := s.open(t, thief+replaceAlt(frame, s.srv.URL)+page, "/login", victim)
					password := v.ref("textbox", "Password")
					for _, key := range []string{"x", "Control+v", "Home", "Enter"} {
						got := answer(v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Press{Ref: password, Key: key}}))
						attempts++
						navigated := strings.Contains(got, `"navigated"`)
						if strings.Contains(got, `"by"`) || strings.HasPrefix(got, `{"hit"`) || navigated {
							sent++
						}
						if holds := v.text(`own.value+got`); holds != "" && !navigated {
							through++
							t.Errorf("%s, %s: the page got %q; answer %s", name, key, holds, got)
						}
					}
				})
			}
		}
		t.Logf("%d attempts, %d with keys that were sent, %d through", attempts, sent, through)
		if sent < attempts*3/4 {
			t.Errorf("keys were sent in %d of %d attempts, so this test proves little", sent, attempts)
		}
	})
}

// A secret is typed into the field of a frame only while every other document of the tab refuses keys: a page that
// takes the focus and is busy then could have it otherwise.
func TestASecretIsNotTypedBesideABusyPage(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		typed, refused := 0, 0
		for _, late := range []int{0, 2, 5, 10, 15, 20, 30, 40, 60} {
			for _, when := range []string{"onblur=()=>setTimeout(busy,%d)", "onblur=()=>{steal();setTimeout(busy,%d)}"} {
				when = fmt.Sprintf(when, late)
				t.Run(when, func(t *testing.T) {
					v := s.open(t, thief+replaceAlt(`<iframe src="ALT/login"></iframe>`, s.srv.URL)+
						`<script>const busy=()=>{onblur=null;steal();for(const until=performance.now()+1500;performance.now()<until;);};`+when+`</script>`, "/login", victim)
					password := v.ref("textbox", "Password")
					got := v.write(password, protocol.Type{Text: typedSecret, Secret: true})
					if holds := v.text(`own.value+got`); strings.ContainsAny(holds, typedSecret) {
						t.Errorf("the page got %q; answer %s", holds, got)
					}
					switch {
					case strings.Contains(got, `"reason":"unguarded"`):
						refused++
						if got := v.write(password, protocol.Type{Text: typedSecret, Secret: true}); !strings.HasPrefix(got, `{"hit"`) {
							t.Errorf("when the page is not busy any more: %s", got)
						}
					case strings.HasPrefix(got, `{"hit"`):
						typed++
					}
				})
			}
		}
		t.Logf("%d typed, %d refused", typed, refused)
	})
}

// A secret comes to no document that takes the focus, and is opened anew in the same task: the listeners that refuse
// keys have gone from it then, and those of the page come before the ones that are added again.
func TestASecretIsNotTypedIntoADocumentOpenedAnew(t *testing.T) {
	t.Parallel()
	const thief = `<iframe id=f></iframe><iframe src="ALT/login"></iframe><script>
let got='';const keep=e=>{got+=(e.key||e.data||'')};
const open=(w)=>{const d=w.document;d.open();d.write('<input>');d.close();for(const k of ['keydown','keypress','keyup','beforeinput','input'])w.addEventListener(k,keep,true);d.querySelector('input').focus()};
const holds=()=>got+f.contentDocument.querySelector('input')?.value;`
	buildStages(t, func(t *testing.T, s *stage) {
		typed, through := 0, 0
		for _, late := range []int{0, 1, 2, 3, 5, 8, 12, 20} {
			for _, when := range []string{"onblur=()=>setTimeout(()=>open(frames[0]),%d)", "onblur=()=>{for(let i=0;i<100;i+=2)setTimeout(()=>open(frames[0]),%d+i)}"} {
				when = fmt.Sprintf(when, late)
				t.Run(when, func(t *testing.T) {
					v := s.open(t, replaceAlt(thief, s.srv.URL)+when+`</script>`, "/login", victim)
					for range 3 {
						got := v.write(v.ref("textbox", "Password"), protocol.Type{Text: typedSecret, Secret: true})
						if holds := v.text(`holds()`); strings.ContainsAny(strings.ReplaceAll(holds, "undefined", ""), typedSecret) {
							through++
							t.Errorf("the page got %q; answer %s", holds, got)
						}
						if strings.HasPrefix(got, `{"hit"`) {
							typed++
						}
					}
				})
			}
		}
		t.Logf("%d typed, %d through", typed, through)
		if typed == 0 {
			t.Error("nothing was typed, so this test proves nothing")
		}
	})
}

// The page of the field hears that a secret is typed, and not of its keys.
func TestAPageHearsOfASecret(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, field := range []string{`<input id=i aria-label=Word `, `<input id=i type=password aria-label=Word `, `<textarea id=i aria-label=Word `} {
		v := s.open(t, field+`onkeydown="report(event.key)" oninput="report(event.inputType+','+event.isTrusted+','+value)" onkeyup="report(event.key)" value=before>`)
		equal(t, field, v.write(v.ref("textbox", "Word"), protocol.Type{Text: typedSecret, Secret: true, Clear: true}), `{"hit":"@e1","changed":true,"focused":"@e1"}`)
		equal(t, field, v.log(), "Unidentified insertText,true,"+typedSecret+" Unidentified")
	}
}
