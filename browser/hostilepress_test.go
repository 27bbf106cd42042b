package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// prey is a frame's page that notes each trusted press, and tells the page around it.
const prey = `<style>body{margin:0}button{width:100%;height:200px}</style><button>Pay</button><script>
for(const k of ['pointerdown','mousedown','mouseup','click','dblclick'])addEventListener(k,e=>top.postMessage(k,'*'),true)</script>`

// lures are how a page has a frame come under the pointer when that comes to its button.
var lures = map[string]string{
	"on pointermove":      `<style>iframe{display:none}</style><script>go.onpointermove=()=>f.style.display='block'</script>`,
	"on mouseover":        `<style>iframe{left:9999px}</style><script>go.onmouseover=()=>f.style.left=0</script>`,
	"by :hover":           `<style>iframe{visibility:hidden}#box:hover iframe{visibility:visible}</style>`,
	"by pointer-events":   `<style>iframe{pointer-events:none;opacity:.1}</style><script>go.onpointermove=()=>f.style.pointerEvents='auto'</script>`,
	"a hover advert":      `<style>iframe{transform:scale(0)}#box:hover iframe{transform:none}</style>`,
	"on pointerdown":      `<style>iframe{display:none}</style><script>addEventListener('pointerdown',()=>f.style.display='block',true)</script>`,
	"a little after":      `<style>iframe{display:none}</style><script>go.onpointermove=()=>{for(const n of [1,3,6,10])setTimeout(()=>f.style.display='block',n)}</script>`,
	"now and then":        `<style>iframe{display:none}</style><script>setInterval(()=>f.style.display=f.style.display=='block'?'none':'block',3)</script>`,
	"made on pointermove": `<script>f.remove();go.onpointermove=()=>{if(window.made)return;made=1;const n=document.createElement('iframe');n.src=SRC;box.append(n)}</script>`,
}

// A press reaches the element that was found, or none: not the frame that the page shows
// for it, whatever command presses.
func TestAPressReachesItsElementOnly(t *testing.T) {
	t.Parallel()
	buildStages(t, func(t *testing.T, s *stage) {
		attempts, through, hits, pointed := 0, 0, 0, 0
		for _, site := range []string{"/prey", "ALT/prey"} {
			for name, lure := range lures {
				page := `<style>#box{position:relative;width:300px;height:200px}#box>*{position:absolute;left:0;top:0;width:300px;height:200px;border:0;opacity:1}</style>
<div id=box><label for=go style="display:none">x</label><button id=go draggable=false>Go</button><iframe id=f src="` + site + `"></iframe></div><input type=checkbox aria-label=Tick style="position:absolute;left:20px;top:20px;z-index:0">
<button id=to>There</button><script>window.onmessage=e=>report('frame:'+e.data);for(const k of ['mousedown','click'])go.addEventListener(k,()=>report(k))</script>` + strings.ReplaceAll(lure, "SRC", "'"+site+"'")
				for command, act := range map[string]func(v *visit) protocol.Act{
					"click": func(v *visit) protocol.Act { return protocol.Act{Action: protocol.Click{Ref: v.ref("button", "Go")}} },
					"again": func(v *visit) protocol.Act { // where the pointer is already
						act := protocol.Act{Action: protocol.Click{Ref: v.ref("button", "Go")}}
						v.c.Act(limit(t, 3*time.Second), v.refs, act)
						return act
					},
					"double": func(v *visit) protocol.Act {
						return protocol.Act{Action: protocol.Click{Ref: v.ref("button", "Go"), Count: 2}}
					},
					"drag": func(v *visit) protocol.Act {
						return protocol.Act{Action: protocol.Drag{Ref: v.ref("button", "Go"), To: v.ref("button", "There")}}
					},
					"check": func(v *visit) protocol.Act {
						return protocol.Act{Action: protocol.Check{Ref: v.ref("checkbox", "Tick"), Checked: true}}
					},
					"mouse": func(*visit) protocol.Act {
						return protocol.Act{Action: protocol.Mouse{Action: "click", X: 150, Y: 100}}
					},
				} {
					t.Run(command+" "+name+" "+site, func(t *testing.T) {
						v := s.open(t, replaceAlt(page, s.srv.URL), "/prey", prey)
						do := act(v)
						attempts++
						done, err := v.c.Act(limit(t, 3*time.Second), v.refs, do)
						got := answer(done, err)
						log := v.log()
						framed := strings.Contains(log, "frame:")
						frameIsTheReceiver := done.Under != nil && done.Under.Role == "iframe" || done.Under != nil && done.Under.Name == "Pay"
						if framed && command == "mouse" {
							pointed++
						}
						if framed && !frameIsTheReceiver {
							through++
							t.Errorf("the frame received %s; answer %s", log, got)
						}
						if strings.HasPrefix(got, `{"hit"`) {
							hits++
						}
					})
				}
			}
		}
		t.Logf("%d attempts, %d through, %d hit, %d times a point's frame was pressed", attempts, through, hits, pointed)
		if hits < attempts/9 || pointed < 3 {
			t.Error("so few presses arrived that this test proves little")
		}
	})
}

// A drag whose press came to something else ends at once: the mouse is not moved over the
// page with the button down, and the answer names what is there. So it is where a frame of
// either kind comes under the pointer, and where an element of the same document does.
func TestADragOfAnotherElementReachesItsElementOnly(t *testing.T) {
	covers := map[string]string{"the page itself": `<div id=f role=button aria-label=Cover></div>`, "a frame": `<iframe id=f src="/prey"></iframe>`, "another origin": `<iframe id=f src="ALT/prey"></iframe>`}
	buildStages(t, func(t *testing.T, s *stage) {
		attempts, refused := 0, 0
		for cover, html := range covers {
			for name, lure := range map[string]string{
				"on pointermove": `<style>#f{display:none}</style><script>go.onpointermove=()=>f.style.display='block'</script>`,
				"by :hover":      `<style>#f{visibility:hidden}#box:hover #f{visibility:visible}</style>`,
				"on pointerdown": `<style>#f{display:none}</style><script>addEventListener('pointerdown',()=>f.style.display='block',true)</script>`,
			} {
				t.Run(cover+" "+name, func(t *testing.T) {
					page := `<style>#box{position:relative;width:300px;height:200px}#box>*{position:absolute;left:0;top:0;width:300px;height:200px;border:0}</style>
<div id=box><button id=go draggable=false>Go</button>` + html + `</div><div style="height:100px"></div><button id=to>There</button>` + lure + `<script>
let held=0,down=0;addEventListener('pointermove',e=>{if(e.buttons&1)held++},true);go.onmousedown=()=>{down++}</script>`
					v := s.open(t, replaceAlt(page, s.srv.URL), "/prey", prey)
					attempts++
					got := answer(v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Drag{Ref: v.ref("button", "Go"), To: v.ref("button", "There")}}))
					held, down := v.text(`String(held)`), v.text(`String(down)`)
					if down == "0" && held != "0" {
						t.Errorf("the button was held over %s moves, although its press was refused; answer %s", held, got)
					}
					if down == "0" {
						refused++
						if strings.HasPrefix(got, `{"hit"`) || !strings.Contains(got, "not_actionable") {
							t.Errorf("the press was refused, and the answer is %s", got)
						}
					}
				})
			}
		}
		t.Logf("%d attempts, %d refused", attempts, refused)
		if refused == 0 {
			t.Error("no press was refused, so this test proves nothing")
		}
	})
}
