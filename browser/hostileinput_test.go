package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// sites are where a page's frame is from: its own origin and another.
var sites = []string{"", "ALT"}

// A dragged thing is dropped on the element that was found, or nowhere: a frame that the
// page shows there gets neither the drop nor what was dragged.
func TestADropReachesItsElementOnly(t *testing.T) {
	t.Parallel()
	const into = `<body style="margin:0"><textarea aria-label=Note style="width:300px;height:200px"></textarea><script>
for(const k of ['dragenter','dragover','drop'])addEventListener(k,e=>{e.preventDefault();top.postMessage(k+e.dataTransfer.getData('text'),'*')},true);
for(const k of ['pointerdown','mousedown','mouseup','click','pointerup'])addEventListener(k,e=>top.postMessage(k,'*'),true)</script>`
	lures := map[string]string{
		"from the start of the drag": `addEventListener('dragstart',show)`,
		"on mousedown":               `addEventListener('mousedown',show,true)`,
		"on mousemove":               `addEventListener('mousemove',e=>{if(e.buttons)show()},true)`,
		"when it is entered":         `to.ondragenter=show`,
		"when it is moved over":      `to.ondragover=e=>{e.preventDefault();show()}`,
		"a little after":             `addEventListener('dragstart',()=>{for(const n of [1,3,6,12])setTimeout(show,n)})`,
	}
	buildStages(t, func(t *testing.T, s *stage) {
		attempts, through, dropped := 0, 0, 0
		for _, site := range sites {
			for _, draggable := range []string{"true", "false"} {
				for name, lure := range lures {
					t.Run(name+", draggable "+draggable+" "+site, func(t *testing.T) {
						page := `<style>#box{position:relative;width:300px;height:200px}#box>*{position:absolute;left:0;top:0;width:300px;height:200px;border:0}iframe{display:none}</style>
<div draggable=` + draggable + ` role=button aria-label=From style="width:80px;height:40px" ondragstart="event.dataTransfer.setData('text','D')">From</div>
<div id=box><div id=to role=button aria-label=To ondragover="event.preventDefault()">To</div><iframe id=f src="` + site + `/into"></iframe></div>
<script>const show=()=>f.style.display='block';onmessage=e=>report('frame:'+e.data);` + lure + `</script>`
						v := s.open(t, replaceAlt(page, s.srv.URL), "/into", into)
						attempts++
						got := answer(v.c.Act(limit(t, 4*time.Second), v.refs, protocol.Act{Action: protocol.Drag{Ref: v.ref("button", "From"), To: v.ref("button", "To")}}))
						if log := v.log(); strings.Contains(log, "frame:") {
							through++
							t.Errorf("the frame received %s; answer %s", log, got)
						}
						if strings.HasPrefix(got, `{"hit"`) {
							dropped++
						}
					})
				}
			}
		}
		t.Logf("%d attempts, %d through, %d dropped", attempts, through, dropped)
		if dropped < attempts/12 {
			t.Error("so little was dropped that this test proves little")
		}
	})
}

// Files go to the file input that the element opens, not to one of the page around its
// frame, or of another frame, that uses the click to open its own.
func TestFilesGoToTheirInputOnly(t *testing.T) {
	t.Parallel()
	const attach = `<input type=file id=p hidden><button onclick="setTimeout(()=>p.click(),60)">Attach</button><script>onmousedown=()=>top.postMessage('down','*')</script>`
	buildStages(t, func(t *testing.T, s *stage) {
		attempts, through, uploaded := 0, 0, 0
		for _, site := range sites {
			for name, steal := range map[string]string{
				"on the frame's word": `onmessage=()=>own.click()`,
				"by timer":            `setInterval(()=>{if(navigator.userActivation.isActive)own.click()},2)`,
				"on blur":             `onblur=()=>{for(let i=0;i<300;i+=5)setTimeout(()=>own.click(),i)}`,
			} {
				t.Run(name+" "+site, func(t *testing.T) {
					v := s.open(t, replaceAlt(`<input type=file id=own hidden><iframe src="`+site+`/attach"></iframe><script>own.onchange=()=>report(own.files[0].name);`+steal+`</script>`, s.srv.URL), "/attach", attach)
					attempts++
					got := answer(v.c.Act(limit(t, 4*time.Second), v.refs, protocol.Act{Action: protocol.Upload{Ref: v.ref("button", "Attach"), Files: []protocol.File{{Name: "secret.txt", Content: []byte("x")}}}}))
					if log := v.log(); log != "" && site != "" {
						through++
						t.Errorf("the page got %s; answer %s", log, got)
					}
					if strings.HasPrefix(got, `{`) {
						uploaded++
					}
					t.Log(got)
				})
			}
		}
		t.Logf("%d attempts, %d through, %d uploaded", attempts, through, uploaded)
		if uploaded == 0 {
			t.Error("no file was uploaded, so this test proves nothing")
		}
	})
}
