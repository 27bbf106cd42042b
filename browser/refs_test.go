package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// rows is a list that its page re-creates, as the row tests have it.
const rows = `<ul id=l></ul><script>let rows=['A','B','C','D','E'];
function render(){l.innerHTML='';for(const r of rows){const li=document.createElement('li');li.append('Row '+r+' ');const b=document.createElement('button');b.textContent='Delete';b.onclick=()=>report(r);li.append(b);l.append(li)}}
render()</script>`

// reused is a list that shows other rows with the same elements, as frameworks
// without keys and virtual lists do.
const reused = `<ul id=l></ul><script>let rows=['Ann','Bob','Cy','Dan'];
for(const r of rows){const li=document.createElement('li');li.innerHTML='<span></span> <button>Delete</button>';li.lastChild.onclick=()=>report(li.firstChild.textContent);l.append(li)}
function render(){[...l.children].forEach((li,i)=>{if(i<rows.length)li.firstChild.textContent=rows[i];else li.remove()})}
render()</script>`

// What a snapshot calls an element is what the check of its ref calls it, wherever it
// stands: a menu in a card that can be dragged, a cell of what is no table, an item
// that is written in.
func TestNamesOfRefs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct{ role, name, page string }{
		{"menu", "Move up | Move down", `<div draggable=true>Card <a href="#">Open</a><div role=menu onclick="0"><div role=menuitem>Move up</div><div role=menuitem>Move down</div></div></div>`},
		{"cell", "Alpha", `<table role=menu><tr><td style="cursor:pointer"><p>Alpha</p><td><button>Beta</button></table>`},
		{"listitem", "", `<ul draggable=true><li contenteditable onclick="0">Delete <button>Save</button></li></ul>`},
	} {
		t.Run(c.role, func(t *testing.T) {
			v := s.open(t, c.page)
			if got := v.click(v.ref(c.role, c.name)); strings.HasPrefix(got, "ref_changed") {
				t.Error(got)
			}
		})
	}
}

// No ref ever acts on another row; where the row itself has moved, the ref has
// moved with it.
func TestRefsOfRows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		name, page, act string
		row             int
		want, log       string
	}{
		{"one removed, all made anew", rows, `rows.shift();render()`, 1, `{"hit":"@e12","focused":"@e12"}`, "B"},
		{"one put before, all made anew", rows, `rows.unshift('Z');render()`, 0, `{"hit":"@e12","focused":"@e12"}`, "A"},
		{"made anew as it was", rows, `render()`, 2, `{"hit":"@e12","focused":"@e12"}`, "C"},
		{"its own removed, all made anew", rows, `rows.splice(2,1);render()`, 2, "stale_ref", ""},
		{"the same row twice, both made anew", `<ul id=l></ul><script>function render(){l.innerHTML='<li>Tea <button onclick="report(1)">Delete</button></li><li>Tea <button onclick="report(2)">Delete</button></li>'}render()</script>`, `render()`, 0, "stale_ref", ""},
		{"the same row twice, the first removed", `<ul id=l></ul><script>function render(){l.innerHTML='<li>Tea <button onclick="report(1)">Delete</button></li><li>Tea <button onclick="report(2)">Delete</button></li>'}render()</script>`, `l.firstChild.remove()`, 0, "stale_ref", ""},
		{"rows shift through the elements", reused, `rows.shift();render()`, 1, "moved", "Bob"},
		{"rows come in before", reused, `rows.unshift('Zoe');render()`, 0, "moved", "Ann"},
		{"its row is shown no more, its element shows another", reused, `rows=['Eve','Fay','Gil','Hal'];render()`, 1, "ref_changed", ""},
		{"a counter in the row", `<ul><li>Ann <i>3</i> items <button onclick="report(1)">Delete</button></li><li>Bob <i>7</i> items <button>Delete</button></li></ul>`, `document.querySelector('i').textContent=4`, 0, `{"hit":"@e3","focused":"@e3"}`, "1"},
		{"a state in the row", `<ul><li>Buy milk <i>open</i> <button onclick="report(1)">Delete</button></li><li>Pay rent <i>open</i> <button>Delete</button></li></ul>`, `document.querySelector('i').textContent='done'`, 0, `{"hit":"@e3","focused":"@e3"}`, "1"},
		{"rows that only numbers tell apart", `<ul><li>Row <i>1</i> <button onclick="report(1)">Delete</button></li><li>Row <i>2</i> <button>Delete</button></li></ul>`, `[...document.querySelectorAll('i')].forEach((i,n)=>i.textContent=n+8)`, 0, "ref_changed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			ref := v.ref("button", "Delete", c.row)
			v.eval(c.act)
			got := v.click(ref)
			switch c.want {
			case "stale_ref", "ref_changed":
				if got[:len(c.want)+1] != c.want+":" {
					t.Errorf("got %s, want %s", got, c.want)
				}
			case "moved":
				if got == `{"hit":"`+ref+`"}` || got[:8] != `{"hit":"` {
					t.Errorf("got %s, want another ref hit", got)
				}
			default:
				equal(t, "answer", got, c.want)
			}
			equal(t, "log", v.log(), c.log)
		})
	}
}

// Of two rows that the client was shown beside one another, and that are the same to
// it, nobody can say which is the one that is left when all are re-created.
func TestRefOfOneOfTwoAlike(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<ul id=l></ul><script>let n=2;function render(){l.innerHTML='<li>Tea <button onclick="report(1);n--;render()">Remove</button></li>'.repeat(n)}render()</script>`)
	got, err := v.c.Capture(limit(t, 10*time.Second), snapshot.DefaultOptions(), v.refs)
	if err != nil {
		t.Fatal(err)
	}
	snapshot.Render(got, snapshot.DefaultOptions(), v.refs)
	ref := v.ref("button", "Remove")
	equal(t, "first", v.click(ref), `{"hit":"`+ref+`","changed":true}`)
	if again := v.click(ref); !strings.HasPrefix(again, "stale_ref:") || !strings.Contains(again, `"name":"Remove"`) {
		t.Errorf("again: %s", again)
	}
	equal(t, "log", v.log(), "1")
}

// A renamed element is not clicked until the client has seen what it is now.
func TestRefRenamed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<button id=b onclick="report(this.textContent)">Save</button>`)
	ref := v.ref("button", "Save")
	v.eval(`b.textContent='Delete everything'`)
	equal(t, "first", v.click(ref), `ref_changed: @e1 was button "Save" and is now button "Delete everything" {"now":{"name":"Delete everything","role":"button"},"was":{"name":"Save","role":"button"}}`)
	equal(t, "log", v.log(), "")
	equal(t, "second", v.click(ref), `{"hit":"@e1","focused":"@e1"}`)
	equal(t, "log", v.log(), "Delete everything")
}

// A ref whose element is gone names those that come near it.
func TestRefStale(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<div id=d><button>Save draft</button></div><button>Save all</button><button>Close</button>`)
	ref := v.ref("button", "Save draft")
	v.eval(`d.innerHTML=''`)
	equal(t, "answer", v.click(ref), `stale_ref: @e1 is gone: it was button "Save draft" {"candidates":[{"name":"Save all","ref":"@e2","role":"button","why":"the same role and a similar name"}]}`)
	begun := time.Now()
	equal(t, "never given out", v.click("@e77"), `unknown_ref: @e77 was never given out in this session {"highest":"@e3"}`)
	if d := time.Since(begun); d > time.Second {
		t.Errorf("answered after %v", d)
	}
}

// A client that edits a row knows that the row says something else now.
func TestRefInEditedRow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<ul><li><span>Walk dog</span> <input aria-label=Edit value="Walk dog" oninput="this.previousElementSibling.textContent=this.value" onkeydown="if(event.key==='Enter')report(this.value)"></li><li><span>Walk fox</span> <input aria-label=Edit></li></ul>`)
	ref := v.ref("textbox", "Edit")
	equal(t, "type", v.write(ref, protocol.Type{Text: "Feed cat", Clear: true}), `{"hit":"@e3","changed":true,"focused":"@e3"}`)
	equal(t, "press", answer(v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Press{Ref: ref, Key: "Enter"}})), `{"hit":"@e3"}`)
	equal(t, "log", v.log(), "Feed cat")
}

// Checking a row off may bring the next one into its elements: the ref does not
// go on to that one by itself.
func TestRefAfterItsOwnRowWasDone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<ul id=l></ul><script>let rows=['Ann','Bob','Cy','Dan'];
for(const r of rows){const li=document.createElement('li');li.innerHTML='<input type=checkbox aria-label=Done> <span></span>';li.firstChild.onclick=()=>{const name=li.lastChild.textContent;report(name);rows=rows.filter(r=>r!==name);render()};l.append(li)}
function render(){[...l.children].forEach((li,i)=>{li.firstChild.checked=false;if(i<rows.length)li.lastChild.textContent=rows[i];else li.remove()})}
render()</script>`)
	ref := v.ref("checkbox", "Done", 1)
	equal(t, "first", v.click(ref), `{"hit":"`+ref+`","changed":true,"focused":"`+ref+`"}`)
	got := v.click(ref)
	equal(t, "second", got[:12], "ref_changed:")
	equal(t, "log", v.log(), "Bob")
}

// A snapshot within an element that is gone, or after it, says so as an action does;
// where the element was re-created it goes on from there.
func TestSnapshotOfWhatIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	page := `<div id=d><button>Save draft</button></div><button>Save all</button><iframe srcdoc="<button>In</button><button>Inner</button>"></iframe><p>End</p>`
	stale := `stale_ref: @e1 is gone: it was button "Save draft" {"candidates":[{"name":"Save all","ref":"@e2","role":"button","why":"the same role and a similar name"}]}`
	for _, c := range []struct {
		name, act, button string
		o                 func(o *snapshot.Options, ref string)
		want              string
	}{
		{"after", `d.innerHTML=''`, "Save draft", func(o *snapshot.Options, ref string) { o.After = ref }, stale},
		{"scope", `d.innerHTML=''`, "Save draft", func(o *snapshot.Options, ref string) { o.Scope = ref }, stale},
		{"after what was made anew", `d.innerHTML='<button>Save draft</button>'`, "Save draft", func(o *snapshot.Options, ref string) { o.After = ref }, "button Save all, iframe , button In, button Inner, text End"},
		{"after one in a frame", `frames[0].document.querySelector('button').remove()`, "In", func(o *snapshot.Options, ref string) { o.After = ref },
			`stale_ref: @e4 is gone: it was button "In" {"candidates":[{"name":"Inner","ref":"@e5","role":"button","why":"the same role and a similar name"}]}`},
		{"after what is outside of the scope", ``, "Save all", func(o *snapshot.Options, ref string) { o.After, o.Scope = ref, "#d" }, `invalid_params: after "@e2": is not within the scope {"parameter":"after"}`},
		{"after a frame outside of the scope", ``, "In", func(o *snapshot.Options, ref string) { o.After, o.Scope = ref, "#d" }, `invalid_params: after "@e4": is not within the scope {"parameter":"after"}`},
		{"after what is outside of the frame", ``, "Save all", func(o *snapshot.Options, ref string) { o.After, o.Scope = ref, "@e4" }, `invalid_params: after "@e2": is not within the scope {"parameter":"after"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, page)
			ref := v.ref("button", c.button)
			v.eval(c.act + ";0")
			o := snapshot.DefaultOptions()
			c.o(&o, ref)
			got, err := v.c.Capture(limit(t, 5*time.Second), o, v.refs)
			if err != nil {
				equal(t, "answer", answer(nil, err), c.want)
				return
			}
			var lines []string
			for _, n := range got.Nodes {
				lines = append(lines, n.Role+" "+n.Name)
			}
			equal(t, "lines", strings.Join(lines, ", "), c.want)
		})
	}
}

// Who only looks at one page after another keeps no refs of those that were left.
func TestRefsOfPagesThatWereLeft(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.pages["/second"] = `<title>Second</title><button>Send</button>`
	v := s.open(t, `<title>First</title><button>Save</button>`)
	left := v.ref("button", "Save")
	if _, err := v.c.Open(limit(t, 20*time.Second), s.srv.URL+"/second", protocol.WaitAuto); err != nil {
		t.Fatal(err)
	}
	v.look()
	if _, err := v.refs.Lookup(left); protocol.CodeOf(err) != protocol.StaleRef {
		t.Errorf("the ref of a page that was left: %v", err)
	}
	v.ref("button", "Send")
}
