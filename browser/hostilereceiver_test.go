package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// noting reports every trusted input event that a page received: the label of its target
// and its type. It is run in the page and, with report sent to the page, in its frame.
const noting = `for(const k of ['pointermove','mousemove','mousedown','mouseup','click','dblclick','dragover','drop'])addEventListener(k,e=>{if(!e.isTrusted)return;const t=e.composedPath()[0];report((t.ariaLabel||t.title||t.tagName)+':'+k)},true);`

// framed is the page of a frame that comes between.
const framed = `<style>body{margin:0}button{width:100%;height:200px}</style><button aria-label=Pay ondragover="event.preventDefault()">Pay</button><script>report=x=>top.postMessage(x,'*');` + noting + `</script>`

// between is what a page may bring between a command and its element.
var between = map[string]string{
	"the page itself": `<div id=f role=button aria-label=Cover>Cover</div>`,
	"a frame":         `<iframe id=f title=Ad src="/framed"></iframe>`,
	"another origin":  `<iframe id=f title=Ad src="ALT/framed"></iframe>`,
}

// comings are when it comes.
var comings = map[string]string{
	"at the pointer's move":             `go.onpointermove=show`,
	"at the move, for a moment":         `go.onpointermove=()=>{show();setTimeout(hide,80)}`,
	"at pointerdown":                    `addEventListener('pointerdown',show,true)`,
	"at mousedown, for a moment":        `addEventListener('mousedown',()=>{show();setTimeout(hide,400)},true)`,
	"at the first click":                `go.onclick=show`,
	"at the move, until pressed":        `go.onpointermove=show;` + hiddenWhenActive,
	"at the first click, until pressed": `go.onclick=show;` + hiddenWhenActive,
	"at the first click, made new":      `go.onclick=()=>{show();go.replaceWith(go.cloneNode(true))}`,
	"when the page scrolls":             `box.style.marginTop='1500px';onscroll=show`,
	"now and then":                      `setInterval(()=>f.style.display=='block'?hide():show(),7)`,
	"never":                             ``,
}

// hiddenWhenActive takes away what came when the mouse goes down on it: the release is for what is
// below.
const hiddenWhenActive = `document.head.append(Object.assign(document.createElement('style'),{textContent:'#f:active{visibility:hidden}'}));`

// heard is what the page and its frames have received of one kind, by the labels of the targets.
func heard(log []string, kind string) (who []string) {
	for _, one := range log {
		if label, k, _ := strings.Cut(one, ":"); k == kind {
			who = append(who, label)
		}
	}
	return who
}

// labelOf is the label by which an answer names what received input, or came between.
func labelOf(name, tag string) string {
	if tag == "iframe" {
		return "Ad" // hidden again, it has no name
	}
	if name == "" {
		return strings.ToUpper(tag)
	}
	return name
}

// ownPage reports whether the page itself has received input at what came between: its own
// element, or that of its frame, as full Chromium does it for a frame of another process.
func ownPage(log []string) bool {
	return slices.ContainsFunc(log, func(one string) bool {
		return strings.HasPrefix(one, "Cover:mouse") || strings.HasPrefix(one, "Ad:mouse")
	})
}

// What an answer says received the input is what the pages saw receive it: all of it where the
// answer is a success, and where it is an error, the answer names what came between, and
// says whether a press had been received before.
func TestAnswersNameTheReceiver(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		counts := map[string]int{}
		for cover, html := range between {
			for name, coming := range comings {
				page := replaceAlt(`<style>body{margin:0;height:4000px}#box{position:relative;width:300px;height:200px}#box>*{position:absolute;left:0;top:0;width:300px;height:200px;margin:0;border:0}#f{display:none}</style>
<div id=box>GO`+html+`</div><script>`+noting+`onmessage=e=>report(e.data);const f=document.getElementById('f'),show=()=>f.style.display='block',hide=()=>f.style.display='none';`+coming+`</script>`, s.srv.URL)
				for _, act := range []protocol.Action{
					protocol.Click{}, protocol.Click{Count: 2}, protocol.Check{Checked: true}, protocol.Hover{},
					protocol.Mouse{Action: "click", X: 150, Y: 100}, protocol.Mouse{Action: "click", X: 150, Y: 100, Count: 2}, protocol.Mouse{Action: "down", X: 150, Y: 100},
				} {
					attempt := func(t *testing.T, within time.Duration) (late string) {
						act := act
						element, role, presses := `<button id=go aria-label=Go>Go</button>`, "button", 1
						if _, ok := act.(protocol.Check); ok {
							element, role = `<input type=checkbox id=go aria-label=Go>`, "checkbox"
						}
						v := s.open(t, strings.Replace(page, "GO", element, 1), "/framed", framed)
						switch o := act.(type) {
						case protocol.Click:
							o.Ref = v.ref(role, "Go")
							act, presses = o, max(o.Count, 1)
						case protocol.Check:
							o.Ref = v.ref(role, "Go")
							act = o
						case protocol.Hover:
							o.Ref = v.ref(role, "Go")
							act, presses = o, 0
						case protocol.Mouse:
							presses = max(o.Count, 1)
						}
						done, err := v.c.Act(limit(t, within), v.refs, protocol.Act{Action: act})
						got := answer(done, err)
						var log []string
						if err := json.Unmarshal([]byte(v.eval(`new Promise(done=>setTimeout(()=>done(log),30))`)), &log); err != nil {
							t.Fatal(err)
						}
						kind := "mousedown"
						if presses == 0 {
							kind, presses = "mousemove", 1
						}
						received := heard(log, kind)
						wrong := func(what string) {
							t.Errorf("%s: received %q of %q; answer %s, at the point %+v", what, received, log, got, done.Under)
						}
						if err != nil {
							var p *protocol.Error
							if errors.Is(err, context.DeadlineExceeded) {
								return "no answer in time"
							}
							counts["refused"]++
							if !asError(err, &p) || p.Code != protocol.NotActionable {
								wrong("an error of another kind")
								return ""
							}
							by, _ := p.Details["by"].(map[string]any)
							// A frame that was at the point when the mouse came may have gone again.
							gone := by["name"] == "Go" && (name == "now and then" || strings.HasSuffix(name, "moment"))
							if p.Details["reason"] == "unseen" && len(received) < presses {
								if (p.Details["pressed"] == true) != (len(received) > 0) {
									wrong("the error says otherwise of what was pressed before")
								}
								return "" // and nobody is named
							}
							if who := labelOf(fmt.Sprint(by["name"]), fmt.Sprint(by["tag"])); !slices.Contains([]string{"Cover", "Pay", "Ad"}, who) && !gone {
								wrong("the error does not name what came between")
							}
							if p.Details["pressed"] == true && len(received) == 0 || p.Details["pressed"] == nil && kind == "mousedown" && len(received) > 0 {
								wrong("the error says otherwise of what was pressed before")
							}
							return ""
						}
						counts["done"]++
						who, claims := "Go", done.Hit != ""
						if _, ok := act.(protocol.Mouse); ok {
							claims = done.Under != nil
							if claims {
								who = labelOf(done.Under.Name, done.Under.Tag)
							}
						}
						if !claims {
							counts["nobody"]++
							if len(received) > 0 {
								return fmt.Sprintf("the answer names nobody: received %q; answer %s", received, got)
							}
							return ""
						}
						if kind == "mousemove" && slices.Contains(received, who) {
							return ""
						}
						if _, ok := act.(protocol.Mouse); ok && presses > 1 && len(received) > 1 && ownPage(log) {
							received = []string{received[1], received[1]} // both were for the page: the second is named
						}
						if len(received) != presses || slices.ContainsFunc(received, func(one string) bool { return one != who }) {
							wrong("the answer claims more, or another")
						}
						m, _ := act.(protocol.Mouse)
						if clicks := heard(log, "click"); kind == "mousedown" && m.Action != "down" && !ownPage(log) && name != "now and then" && len(clicks) != presses {
							wrong("no click came of it")
						}
						return ""
					}
					t.Run(fmt.Sprintf("%T %+v, %s, %s", act, act, cover, name), func(t *testing.T) {
						// On a busy processor a document may not say in time what it has received.
						late := attempt(t, 2*time.Second)
						if late != "" && !t.Failed() {
							counts["late"]++
							late = attempt(t, 15*time.Second)
						}
						if late != "" {
							t.Error(late)
						}
					})
				}
			}
		}
		t.Log(counts)
		if counts["refused"] == 0 || counts["done"] == 0 {
			t.Error("this test proves nothing")
		}
	})
}

// The end of a drag is said to have come to what received it.
func TestADragNamesWhatReceivedItsEnd(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		counts := map[string]int{}
		for cover, html := range between {
			for _, draggable := range []string{"true", "false"} {
				for name, coming := range map[string]string{
					"at the drag's moves": `addEventListener('pointermove',e=>{if(e.buttons)show()},true);addEventListener('dragstart',show)`,
					"over the target":     `to.onmousemove=e=>{if(e.buttons)show()};to.ondragenter=show`,
					"never":               ``,
				} {
					t.Run(cover+", draggable "+draggable+", "+name, func(t *testing.T) {
						v := s.open(t, replaceAlt(`<style>body{margin:0}#box{position:relative;width:300px;height:200px;margin-top:60px}#box>*{position:absolute;left:0;top:0;width:300px;height:200px;border:0}#f{display:none}</style>
<div draggable=`+draggable+` role=button aria-label=From style="width:80px;height:40px" ondragstart="event.dataTransfer.setData('text','D')">From</div>
<div id=box><div id=to role=button aria-label=To ondragover="event.preventDefault()">To</div>`+html+`</div><script>`+noting+`onmessage=e=>report(e.data);const f=document.getElementById('f'),show=()=>f.style.display='block';f.ondragover=e=>e.preventDefault();`+coming+`</script>`, s.srv.URL), "/framed", framed)
						done, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Drag{Ref: v.ref("button", "From"), To: v.ref("button", "To")}})
						checkEnd(t, v, done, err, draggable == "true", counts)
					})
				}
			}
		}
		for _, site := range sites {
			for _, draggable := range []string{"true", "false"} {
				for _, way := range []string{"into a frame", "out of a frame"} {
					t.Run(way+" "+site+", draggable "+draggable, func(t *testing.T) {
						from := `<div draggable=` + draggable + ` role=button aria-label=From style="width:80px;height:40px" ondragstart="event.dataTransfer.setData('text','D')">From</div>`
						to := `<div role=button aria-label=To style="width:200px;height:100px" ondragover="event.preventDefault()">To</div>`
						outer, inner := from, to
						if way == "out of a frame" {
							outer, inner = to, from
						}
						v := s.open(t, replaceAlt(`<style>body{margin:0}</style>`+outer+`<iframe style="display:block;border:0;width:300px;height:200px" src="`+site+`/inner"></iframe><script>`+noting+`onmessage=e=>report(e.data)</script>`, s.srv.URL),
							"/inner", `<style>body{margin:0}</style>`+inner+`<script>report=x=>top.postMessage(x,'*');`+noting+`</script>`)
						done, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Drag{Ref: v.ref("button", "From"), To: v.ref("button", "To")}})
						checkEnd(t, v, done, err, draggable == "true", counts)
					})
				}
			}
		}
		t.Log(counts)
		if counts["refused"] == 0 || counts["done"] == 0 {
			t.Error("this test proves nothing")
		}
	})
}

// checkEnd compares a drag's answer with what the pages received of its end.
func checkEnd(t *testing.T, v *visit, done protocol.Outcome, err error, data bool, counts map[string]int) {
	t.Helper()
	got := answer(done, err)
	var log []string
	if err := json.Unmarshal([]byte(v.eval(`new Promise(done=>setTimeout(()=>done(log),30))`)), &log); err != nil {
		t.Fatal(err)
	}
	kind := "mouseup"
	// A page that is late with its dragstart gets a release.
	if data && len(heard(log, "mouseup")) == 0 {
		kind = "drop"
	}
	received := heard(log, kind)
	wrong := func(what string) { t.Errorf("%s: received %q of %q; answer %s", what, received, log, got) }
	t.Log(got, received)
	if err != nil {
		counts["refused"]++
		if !strings.Contains(got, `"by"`) || len(received) > 0 {
			wrong("refused")
		}
		return
	}
	counts["done"]++
	if done.Hit == "" {
		counts["nobody"]++
		if len(received) > 0 {
			wrong("the answer names nobody")
		}
		return
	}
	e, err := v.refs.Lookup(done.Hit)
	if err != nil || len(received) != 1 || labelOf(e.Name, e.Tag) != received[0] {
		wrong(fmt.Sprintf("the answer names %q", e.Name))
	}
}

// Disabled controls are named where they receive at least pointer events.
func TestAPressOnWhatReceivesLittle(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		for name, html := range map[string]string{
			"a disabled button": `<button disabled aria-label=Off>Off</button>`,
			"a disabled field":  `<input disabled aria-label=Off>`,
		} {
			t.Run(name, func(t *testing.T) {
				v := s.open(t, `<style>body{margin:0}body>*{display:block;width:300px;height:200px;border:0}</style>`+html+`<script>`+noting+`for(const k of ['pointerdown','pointerup'])addEventListener(k,e=>report('P:'+k),true)</script>`)
				done, err := v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Mouse{Action: "click", X: 150, Y: 100}})
				log := v.log()
				t.Logf("%s, %+v: %s", answer(done, err), done.Under, log)
				if saw := strings.Contains(log, "down"); err != nil || saw != (done.Under != nil) || (done.Hit != "") != saw {
					t.Errorf("answer %s, at the point %+v; the page received %q", answer(done, err), done.Under, log)
				}
			})
		}
	})
}

// A double click on what the page writes anew for each click, and a click on what its own
// press disables, are whole.
func TestWholeClicksOnChangingElements(t *testing.T) {
	t.Parallel()
	const frame = `<iframe src="ALT/framed"></iframe>`
	buildStages(t, func(t *testing.T, s *stage) {
		for name, c := range map[string]struct {
			html, log string
			count     int
		}{
			"made new":        {`<button onclick="report('click');this.outerHTML=this.outerHTML" ondblclick="report('double')">Go</button>`, "click click double", 2},
			"disabled by it":  {`<button onmousedown="report('down');this.disabled=true">Go</button>`, "down", 1},
			"twice":           {`<button onclick="report('click')" ondblclick="report('double')"><b>Go</b></button>`, "click click double", 2},
			"no mouse events": {`<button onpointerdown="event.preventDefault()" onclick="report('click')">Go</button>`, "click", 1},
		} {
			for _, beside := range []string{"", frame} {
				t.Run(name+beside, func(t *testing.T) {
					v := s.open(t, replaceAlt(c.html+beside, s.srv.URL), "/framed", framed)
					ref := v.ref("button", "Go")
					done, err := v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Click{Ref: ref, Count: c.count}})
					if err != nil || done.Hit != ref || v.log() != c.log {
						t.Errorf("answer %s; the page reports %q, want %q", answer(done, err), v.log(), c.log)
					}
				})
			}
		}
	})
}

// A press at a point comes to the document that is shown there, whatever element shows it.
func TestMouseReachesEmbeddedDocuments(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		for _, html := range []string{`<iframe src="SITE/framed"></iframe>`, `<embed src="SITE/framed">`, `<object data="SITE/framed"></object>`} {
			for _, site := range sites {
				t.Run(strings.ReplaceAll(html, "SITE", site), func(t *testing.T) {
					v := s.open(t, replaceAlt(`<style>body{margin:0}body>*{display:block;width:300px;height:200px;border:0}</style>`+strings.ReplaceAll(html, "SITE", site)+`<script>onmessage=e=>report(e.data)</script>`, s.srv.URL), "/framed", framed)
					done, err := v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Mouse{Action: "click", X: 150, Y: 100}})
					var log []string
					if err := json.Unmarshal([]byte(v.eval(`new Promise(done=>setTimeout(()=>done(log),30))`)), &log); err != nil {
						t.Fatal(err)
					}
					if err != nil || done.Under == nil || done.Under.Name != "Pay" || len(heard(log, "click")) != 1 {
						t.Errorf("answer %s, at the point %+v; received %q", answer(done, err), done.Under, log)
					}
				})
			}
		}
	})
}

// A release alone, whose press came to something that has gone since, is no press.
func TestAReleaseIsNoPress(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		for name, args := range map[string]script.GuardPressArgs{
			"an element":   {Presses: 1},
			"anything":     {Presses: 1, Any: true},
			"a press, two": {Presses: 2},
		} {
			t.Run(name, func(t *testing.T) {
				v := s.open(t, `<style>body{margin:0}button{width:300px;height:200px}</style><button>Go</button><script>`+noting+`</script>`)
				d := v.c.selected.frames.main.currentDocument()
				pointer := v.c.selected.pointer
				at, err := evaluate(limit(t, 5*time.Second), d, script.HitAtPoint, script.Point{X: 150, Y: 100})
				if err != nil {
					t.Fatal(err)
				}
				if !args.Any {
					args.Node = at.Hit.Node
				}
				evaluate(limit(t, 5*time.Second), d, script.GuardPress, args)
				point := v.c.selected.point(150, 100)
				pending := []*cdp.Pending{pointer.Up(point, input.LeftClick)}
				if args.Presses == 2 {
					pending = append(pending, pointer.Click(point, input.LeftClick)...)
				}
				for _, p := range pending {
					if err := v.c.selected.wait(limit(t, 5*time.Second), p, nil); err != nil {
						t.Fatal(err)
					}
				}
				got, err := evaluate(limit(t, 5*time.Second), d, script.EndHitTest, script.None{})
				if want := args.Presses - 1; err != nil || got.Presses != want || got.Hit != (want > 0) {
					t.Errorf("the hit test saw %+v, %v; the page %s", got, err, v.log())
				}
			})
		}
	})
}

// A press that leads a frame to another document is not repeated there.
func TestAPressThatLeavesAFramesDocument(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		for _, site := range sites {
			for _, at := range []string{"pointerdown", "mousedown", "mouseup", "click"} {
				t.Run(site+", "+at, func(t *testing.T) {
					const canvas = `<style>body{margin:0}</style><canvas style="width:300px;height:200px"></canvas>`
					v := s.open(t, replaceAlt(`<iframe title=Map style="width:300px;height:200px" src="`+site+`/first"></iframe><script>onmessage=e=>report(e.data)</script>`, s.srv.URL),
						"/first", canvas+`<script>addEventListener('mousedown',()=>top.postMessage('first','*'));addEventListener('`+at+`',()=>location='/second')</script>`,
						"/second", canvas+`<script>addEventListener('mousedown',()=>top.postMessage('second','*'));onload=()=>top.postMessage('loaded','*')</script>`)
					ref := v.ref("iframe", "Map")
					done, err := v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Click{Ref: ref}})
					v.eval(`new Promise(done=>setInterval(()=>log.includes('loaded')&&done(),20))`)
					// A second press would have been sent before the answer.
					if log := v.eval(`new Promise(done=>setTimeout(()=>done(log.join()),30))`); err != nil || done.Hit != ref || !slices.Contains([]string{`"first,loaded"`, `"loaded"`}, log) {
						t.Errorf("answer %s; the pages report %s", answer(done, err), log)
					}
				})
			}
		}
	})
}
