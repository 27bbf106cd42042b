package e2e_test

import (
	"fmt"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
)

// A view has more cards than it may show pictures at once, of sessions here and at another node: one says so, and has
// its picture when there is room. Whoever looks at one session large has its picture, however many cards there were.
func TestAViewOfMoreSessionsThanItShows(t *testing.T) {
	t.Parallel()
	few := edited(t, []edit{{"server/live/socket.go", "maxStreams    = 24", "maxStreams    = 2"}})
	pg := testpostgres.Start(t)
	w := newPageServer(t)
	colours(w)
	env := map[string]string{"BROWSERD_AUTH__TOKENS": annAndOlga, "BROWSERD_SESSION__MAX": "2"}
	o := nodeOptions(t, pg, "one", "", env)
	o.Binary = few
	one := testdaemon.Start(t, o)
	startNode(t, pg, "two", env)
	a := as(t, one, ann)
	for n := range 4 {
		a.do("session_open", params{"name": fmt.Sprint("s", n)})
		a.do("open", params{"url": w.URL + "/ticking"})
	}
	var near []string
	for _, s := range fleetOf(t, one).Sessions {
		if s.Node == 1 {
			near = append(near, s.Session)
		}
	}
	if len(near) != 2 {
		t.Fatalf("at the view's node: %v", near)
	}
	p := newDesk(t)
	p.do("open", params{"url": ask[struct{ URL string }](as(t, one, olga), "view", nil).URL})
	const cards = `[...document.querySelectorAll('article')].filter((c) => (c.querySelector('.none')?.textContent || '') %s).length === %d`
	full := `=== 'this view watches 2 tabs already'`
	pictures := func(seen, not int) {
		t.Helper()
		p.shows(fmt.Sprintf(cards, full, not) + " && " + fmt.Sprintf(cards, `=== '' && +c.querySelector('canvas')?.dataset.frames > 2`, seen))
	}
	pictures(2, 2)
	for _, name := range near {
		p.do("eval", params{"expression": fmt.Sprintf("location.hash = 'ann/%s'", name)})
		p.shows(`+document.querySelector('#live canvas')?.dataset.frames > 2 && !document.querySelector('#live .none')`)
		p.do("eval", params{"expression": "location.hash = ''"})
		pictures(2, 2)
	}
	for left := 3; left > 0; left-- {
		a.do("session_close", params{"session": fmt.Sprint("s", 3-left)})
		pictures(min(left, 2), max(left-2, 0))
	}
	if said := p.do("eval", params{"expression": "document.getElementById('note').textContent"}).Value; said != "" {
		t.Errorf("the view says %q", said)
	}
}
