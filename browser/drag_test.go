package browser

import (
	"os"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Hovering moves the mouse, so that what was hovered before is left.
func TestHover(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<style>ul{display:none}nav:hover ul{display:block}</style><nav><button onmouseenter="report('in')" onmouseleave="report('out')">Menu</button><ul><li><a href="#" onclick="report('item');return false">Item</a></ul></nav><button style="margin-top:200px">Other</button>`)
	equal(t, "hover", answer(v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Hover{Ref: v.ref("button", "Menu")}})), `{"hit":"@e2"}`)
	v.look()
	item := v.ref("link", "Item")
	equal(t, "item", v.click(item), `{"hit":"`+item+`","focused":"`+item+`"}`)
	v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Hover{Ref: v.ref("button", "Other")}})
	equal(t, "log", v.log(), "in out item")
}

// Dragging works for what follows the mouse and for HTML's drag and drop.
func TestDrag(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	boxes := `<style>div{width:80px;height:60px;margin:10px;background:#afa}</style>`
	for _, c := range []struct{ name, page, want, log string }{
		{"drag and drop of HTML", boxes + `<div draggable=true role=button aria-label=From ondragstart="event.dataTransfer.setData('text/plain','D');report('start')" ondragend="report('end')"></div><div role=button aria-label=To ondragover="event.preventDefault()" ondrop="event.preventDefault();report('drop '+event.dataTransfer.getData('text/plain'))"></div>`,
			`{"hit":"@e2"}`, "start drop D end"},
		{"following the mouse", boxes + `<div role=button aria-label=From onmousedown="this.down=1;report('down')"></div><div role=button aria-label=To onmouseup="report('up')"></div><script>let n=0;onmousemove=e=>{if(e.buttons===1)n++};onmouseup=()=>report(n>3?'moved':'jumped')</script>`,
			`{"hit":"@e2"}`, "down up moved"},
		{"pointer events with capture", boxes + `<div role=button aria-label=From onpointerdown="this.setPointerCapture(event.pointerId)" onpointerup="report(document.elementFromPoint(event.clientX,event.clientY).ariaLabel)"></div><div role=button aria-label=To></div>`,
			`{"hit":"@e2"}`, "To"},
		{"onto what it lies over already", `<style>div{position:absolute}</style><div role=button aria-label=To style="left:20px;top:20px;width:100px;height:100px"></div><div role=button aria-label=From style="left:50px;top:50px;width:60px;height:60px" onmousedown="report('down')"></div><script>onmouseup=e=>report(Math.abs(e.clientX-70)<4&&Math.abs(e.clientY-70)<4?'middle':e.clientX+','+e.clientY)</script>`,
			`{"hit":"@e1"}`, "down middle"},
		{"past the middle, as lists that sort want it", boxes + `<div role=button aria-label=From></div><div role=button aria-label=To onmouseup="const r=this.getBoundingClientRect();report(event.clientY>r.top+r.height/2?'past':'short')"></div>`,
			`{"hit":"@e2"}`, "past"},
		{"far down the page", boxes + `<div role=button aria-label=From onmousedown="report('down')"></div><div style="height:400px"></div><div role=button aria-label=To onmouseup="report('up')"></div><div style="height:3000px"></div>`,
			`{"hit":"@e2"}`, "down up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			equal(t, "answer", answer(v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Drag{Ref: v.ref("button", "From"), To: v.ref("button", "To")}})), c.want)
			equal(t, "log", v.log(), c.log)
		})
	}
}

// Scrolling says where the scroller is then.
func TestScroll(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<style>html{scroll-behavior:smooth}body{margin:0}</style><div style="height:2000px">top</div><div role=region aria-label=Box style="height:100px;overflow:auto"><div style="height:500px"><button>In</button></div></div><div style="height:900px"></div><button>Low</button><script>onscroll=()=>{window.n=(window.n||0)+1}</script>`)
	for _, c := range []struct {
		name, ref string
		o         protocol.Scroll
		want      protocol.Position
	}{
		{"down", "", protocol.Scroll{Direction: "down", Pixels: 300}, protocol.Position{Y: 300, MaxY: 2301}},
		{"nine tenths", "", protocol.Scroll{Direction: "down"}, protocol.Position{Y: 948, MaxY: 2301}},
		{"bottom", "", protocol.Scroll{To: "bottom"}, protocol.Position{Y: 2301, MaxY: 2301}},
		{"top", "", protocol.Scroll{To: "top"}, protocol.Position{Y: 0, MaxY: 2301}},
		{"a scroller", v.ref("region", "Box"), protocol.Scroll{Direction: "down", Pixels: 50}, protocol.Position{Y: 50, MaxY: 400}},
		{"what is around", v.ref("button", "In"), protocol.Scroll{To: "bottom"}, protocol.Position{Y: 400, MaxY: 400}},
	} {
		c.o.Ref = c.ref
		done, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: c.o})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, c.name, done.Position, c.want)
	}
	if _, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Scroll{Ref: v.ref("button", "In")}}); err != nil {
		t.Fatal(err)
	}
	equal(t, "in view", v.eval(`(()=>{const r=document.querySelector('button').getBoundingClientRect(),b=document.querySelector('[role=region]').getBoundingClientRect();return r.top>=b.top&&r.bottom<=b.bottom&&b.top>=0&&b.bottom<=innerHeight})()`), "true")
	_, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Scroll{Direction: "sideways"}})
	equal(t, "sideways", answer(nil, err), `invalid_params: direction "sideways": accepts up, down, left or right {"parameter":"direction"}`)
}

// Files reach file inputs: seen or hidden, by their label, by a button that
// opens the file chooser. They are gone when the context is.
func TestUpload(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	a, b := protocol.File{Name: "a.txt", Content: []byte("hello")}, protocol.File{Name: `..\..\b.txt`, Content: []byte("xy")}
	tell := `onchange="Promise.all([...this.files].map(async f=>f.name+':'+await f.text())).then(x=>report(x.join()))"`
	for _, c := range []struct {
		name, page, role, label string
		files                   []protocol.File
		want, log               string
	}{
		{"one", `<input type=file aria-label=F ` + tell + `>`, "button", "F", []protocol.File{a}, `{"hit":"@e1","changed":true}`, "a.txt:hello"},
		{"several", `<input type=file multiple aria-label=F ` + tell + `>`, "button", "F", []protocol.File{a, b}, `{"hit":"@e1","changed":true}`, "a.txt:hello,b.txt:xy"},
		{"too many", `<input type=file aria-label=F ` + tell + `>`, "button", "F", []protocol.File{a, b}, `invalid_params: files: @e1 button "F" accepts one file, not 2 {"parameter":"files"}`, ""},
		{"hidden beside its button", `<div><input type=file hidden ` + tell + `><button>Choose</button></div>`, "button", "Choose", []protocol.File{a}, `{"hit":"@e1","changed":true}`, "a.txt:hello"},
		{"by the chooser", `<button onclick="const i=document.createElement('input');i.type='file';i.onchange=()=>report(i.files[0].name);i.click()">Choose</button>`, "button", "Choose", []protocol.File{a}, `{"hit":"@e1","focused":"@e1"}`, "a.txt"},
		{"disabled", `<input type=file disabled aria-label=F>`, "button", "F", []protocol.File{a}, `not_actionable: @e1 button "F" is disabled {"reason":"disabled"}`, ""},
		{"nothing to upload to", `<button>Choose</button>`, "button", "Choose", []protocol.File{a}, `invalid_params: ref @e1 button "Choose" has no file input, and a click on it opened no file chooser {"parameter":"ref"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			equal(t, "answer", v.acts(c.want, protocol.Upload{Ref: v.ref(c.role, c.label), Files: c.files}), c.want)
			eventually(t, 20*time.Second, "the files are told", func() bool { return c.log == "" || v.log() != "" })
			equal(t, "log", v.log(), c.log)
			dir := v.c.uploads.Dir()
			if dir == "" && c.log != "" {
				t.Error("no directory of uploads")
			}
			v.c.Close(t.Context())
			if _, err := os.Stat(dir); dir != "" && !os.IsNotExist(err) {
				t.Errorf("%s is left", dir)
			}
		})
	}
}

// No files empty the input, which tells the page once.
func TestUploadNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<input type=file multiple aria-label=F onchange="report(this.files.length)">`)
	file := v.ref("button", "F")
	upload := func(files ...protocol.File) string {
		return answer(v.c.Act(limit(t, 20*time.Second), v.refs, protocol.Act{Action: protocol.Upload{Ref: file, Files: files}}))
	}
	equal(t, "filled", upload(protocol.File{Name: "a.txt"}, protocol.File{Name: "b.txt"}), `{"hit":"@e1","changed":true}`)
	equal(t, "emptied", upload(), `{"hit":"@e1","changed":true}`)
	equal(t, "empty already", upload(), `{"hit":"@e1"}`)
	equal(t, "log", v.log(), "2 0")
}
