package e2e_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

type pictureAnswer struct {
	Image    []byte             `json:"image"`
	Format   string             `json:"format"`
	Width    int                `json:"width"`
	Height   int                `json:"height"`
	Refs     []protocol.Marked  `json:"refs"`
	Snapshot *snapshot.Snapshot `json:"snapshot"`
}

const annotatedPage = `<style>body{margin:20px;font:16px sans-serif} nav a{margin-right:16px} .box{overflow:auto;height:80px;border:1px solid #999} .box p{margin:0;height:120px}
	#veil{position:absolute;left:300px;top:260px;width:140px;height:60px;background:#ddd} #under{position:absolute;left:320px;top:270px}</style>
	<h1>Orders</h1><nav><a href=#a>Home</a><a href=#b>Orders</a><a href=#c>Help</a></nav>
	<form><p><label>Name <input name=n></label> <label><input type=checkbox> Remember</label> <select aria-label=Size><option>S<option>M</select> <button>Send</button></p></form>
	<div class=box><p><button>Top</button></p><p><button>Hidden below</button></p></div>
	<button id=under>Covered</button><div id=veil>Veil</div>
	<iframe src="%s/inner" width=300 height=90 style="margin-top:80px;border:3px solid"></iframe>
	<div style="height:1500px"></div><button>Far</button>`

// Each ref of the last snapshot that can be seen is framed where its element
// is, through frames and scrollers, and nothing is written into the page.
func TestAnnotatedScreenshot(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/page", page("annotate", fmt.Sprintf(annotatedPage, w.alt())), "")
	w.serve("/inner", `<!doctype html><body style="margin:12px"><a href=#x>Inner link</a> <button>Inner</button>`, "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	before := a.do("eval", params{"expression": "document.documentElement.outerHTML"}).Value

	// Without a snapshot of the page one comes with the picture.
	first := ask[pictureAnswer](a, "screenshot", params{"annotate": true})
	if first.Snapshot == nil || len(first.Refs) == 0 {
		t.Fatalf("%d refs, snapshot %v", len(first.Refs), first.Snapshot)
	}
	v := a.snapshot()
	for _, test := range []struct {
		name   string
		p      params
		scroll string
		factor float64
		seen   []string
		unseen []string
	}{
		{"view", params{}, "scrollTo(0,0)", 1, []string{"Send", "Top", "Inner"}, []string{"Hidden below", "Covered", "Far"}},
		{"jpeg", params{"format": "jpeg", "quality": 90}, "scrollTo(0,0)", 1, []string{"Send", "Top", "Inner"}, []string{"Hidden below", "Covered", "Far"}},
		{"scrolled", params{}, "scrollTo(0,60)", 1, []string{"Send", "Top", "Inner"}, []string{"Far"}},
		{"small", params{"scale": 0.5}, "scrollTo(0,0)", 0.5, []string{"Send", "Top", "Inner"}, []string{"Far"}},
		{"whole", params{"full_page": true}, "scrollTo(0,100)", 1, []string{"Send", "Top", "Inner", "Far"}, []string{"Hidden below"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a.do("eval", params{"expression": test.scroll})
			test.p["annotate"] = true
			got := ask[pictureAnswer](a, "screenshot", test.p)
			if got.Snapshot != nil {
				t.Error("a snapshot came although there was one")
			}
			picture, format, err := image.Decode(bytes.NewReader(got.Image))
			if err != nil {
				t.Fatal(err)
			}
			if dir := os.Getenv("BROWSERD_TEST_PICTURES"); dir != "" {
				os.WriteFile(dir+"/"+test.name+"."+format, got.Image, 0o644)
			}
			if want := test.p["format"]; want != nil && want != format || picture.Bounds().Dx() != got.Width {
				t.Errorf("%s %v, %d wide", format, picture.Bounds(), got.Width)
			}
			framed := map[string][4]int{}
			for _, m := range got.Refs {
				framed[m.Ref] = m.Box
			}
			for _, name := range test.unseen {
				if b, ok := framed[v.ref(t, "button", name)]; ok {
					t.Errorf("%s cannot be seen and is framed at %v", name, b)
				}
			}
			for _, name := range test.seen {
				ref := v.ref(t, "button", name)
				b, ok := framed[ref]
				if !ok {
					t.Errorf("%s is not framed", name)
					continue
				}
				if ink := picture.At(b[0], b[1]+b[3]/2); !isInk(ink) {
					t.Errorf("%s: at the left edge of %v the picture has %v", name, b, ink)
				}
				if name == "Inner" {
					continue // its place is asked for below
				}
				want := a.boxOf(ref, test.p["full_page"] != nil)
				for i := range want {
					if math.Abs(float64(b[i])-want[i]*test.factor) > 1.5 {
						t.Errorf("%s is framed at %v, and is at %v", name, b, want)
						break
					}
				}
			}
			// The frame of another process: from its owner, the border, and its own place.
			frame := a.boxOf(v.ref(t, "iframe", ""), test.p["full_page"] != nil)
			inner := framed[v.ref(t, "button", "Inner")]
			own := a.do("eval", params{"ref": v.ref(t, "button", "Inner"), "expression": "(el) => { const r = el.getBoundingClientRect(); return [r.x, r.y] }"}).Value.([]any)
			if x, y := (frame[0]+3+own[0].(float64))*test.factor, (frame[1]+3+own[1].(float64))*test.factor; math.Abs(float64(inner[0])-x) > 1.5 || math.Abs(float64(inner[1])-y) > 1.5 {
				t.Errorf("the button in the frame is framed at %v, and is at %v, %v", inner, x, y)
			}
		})
	}
	t.Run("element", func(t *testing.T) {
		ref := v.ref(t, "button", "Send")
		got := ask[pictureAnswer](a, "screenshot", params{"annotate": true, "ref": ref})
		i := slices.IndexFunc(got.Refs, func(m protocol.Marked) bool { return m.Ref == ref })
		if i < 0 || got.Refs[i].Box[0] > 1 || got.Refs[i].Box[2] < got.Width-2 {
			t.Errorf("%+v in %d by %d", got.Refs, got.Width, got.Height)
		}
	})
	a.refused("screenshot", params{"annotate": true, "format": "webp"}, protocol.InvalidParams)
	if after := a.do("eval", params{"expression": "document.documentElement.outerHTML"}).Value; after != before {
		t.Errorf("the page was written to: %v", after)
	}
}

func (a *agent) boxOf(ref string, inPage bool) [4]float64 {
	a.t.Helper()
	list := a.do("eval", params{"ref": ref, "expression": "(el) => { const r = el.getBoundingClientRect(); return [r.x, r.y, r.width, r.height, scrollX, scrollY] }"}).Value.([]any)
	var b [6]float64
	for i := range b {
		b[i] = list[i].(float64)
	}
	if inPage {
		b[0], b[1] = b[0]+b[4], b[1]+b[5]
	}
	return [4]float64(b[:4])
}

// isInk reports whether a colour is, JPEG's loss aside, one of those that frames are drawn in.
func isInk(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	for _, ink := range [][3]int{{0xc6, 0x28, 0x28}, {0x15, 0x65, 0xc0}, {0x2e, 0x7d, 0x32}, {0x6a, 0x1b, 0x9a}, {0xb4, 0x53, 0x09}, {0x00, 0x69, 0x6b}} {
		far := math.Abs(float64(int(r>>8)-ink[0])) + math.Abs(float64(int(g>>8)-ink[1])) + math.Abs(float64(int(b>>8)-ink[2]))
		if far < 110 {
			return true
		}
	}
	return false
}
