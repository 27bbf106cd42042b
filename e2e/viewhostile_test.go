package e2e_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// What a page is called stays text in the view that shows it. If markup of a page's came into the
// view, its scripts and pictures would still do nothing.
func TestAHostilePageInTheView(t *testing.T) {
	aboutOneProcess(t, "the view's page is the same at every node")
	t.Parallel()
	d := driven(t, "", nil)
	const title = `</script><script>window.ran = 1</script><img src=x onerror=window.ran=2>`
	w := newPageServer(t)
	w.serve("/", page("page", `<h1>Page</h1><script>document.title = `+strings.ReplaceAll(strconv.Quote(title), "</", `<\/`)+`</script>`), "")
	a, p := as(t, d, ann), newDesk(t)
	a.do("session_open", params{"name": "shop"})
	a.do("open", params{"url": w.URL, "session": "shop"})
	p.do("open", params{"url": ask[struct{ URL string }](a, "view", params{"session": "shop"}).URL})
	p.shows(fmt.Sprintf(`[...document.querySelectorAll('[role=tab], bdi')].some((e) => e.textContent === %s)`, strconv.Quote(title)))
	clean := `document.scripts.length === 2 && !document.querySelector('img') && document.title === 'shop · browserd' && window.ran === undefined`
	p.shows(clean)
	p.do("eval", params{"expression": `window.blocked = []; addEventListener('securitypolicyviolation', (e) => blocked.push(e.effectiveDirective)); ` +
		`document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 3' })); ` +
		`document.body.insertAdjacentHTML('beforeend', '<img src="/x.png" onerror="window.ran = 4"><iframe src="/"></iframe>'); 0`})
	p.shows(`['script-src-elem', 'script-src-attr', 'img-src', 'frame-src'].every((d) => blocked.includes(d)) && window.ran === undefined`)
}
