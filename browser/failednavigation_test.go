package browser

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// deadURL is an address at which nothing listens.
func deadURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/"
}

// An action that leads to a page which does not load answers with the reason, as
// open does, whatever it is that the page does to get there.
func TestNavigationOfAnActionFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dead := deadURL(t)
	for name, page := range map[string]string{
		"a link":      `<a href="DEAD">Go</a>`,
		"a redirect":  `<a href="#" onclick="location.href='DEAD';return false">Go</a>`,
		"a form":      `<form method=post action="DEAD"><input name=q><a href="#" onclick="document.forms[0].submit();return false">Go</a></form>`,
		"after await": `<a href="#" onclick="fetch('/').then(()=>location.assign('DEAD'));return false">Go</a>`,
		"a dialog":    `<a href="#" onclick="if(confirm('Go?'))location.href='DEAD';return false">Go</a>`,
	} {
		t.Run(name, func(t *testing.T) {
			v := s.open(t, strings.ReplaceAll(page, "DEAD", dead))
			got := v.click(v.ref("link", "Go"))
			if name == "a dialog" {
				_, e, _, err := v.c.Dialog(limit(t, 8*time.Second), v.refs, protocol.DialogAnswer{Accept: true})
				got = answer(e, err)
			}
			equal(t, "answer", got, `navigation_failed: the page did not load: net::ERR_CONNECTION_REFUSED {"reason":"net::ERR_CONNECTION_REFUSED","url":"`+dead+`"}`)
		})
	}
	t.Run("what is done afterwards", func(t *testing.T) {
		v := s.open(t, `<a href="`+dead+`">Go</a>`)
		url := v.c.State().URL
		v.click(v.ref("link", "Go"))
		// The failure is told once: Chromium's page in the place is like any other.
		equal(t, "a key", answer(v.c.Act(limit(t, 8*time.Second), snapshot.NewRefs(), protocol.Act{Action: protocol.Press{Key: "Tab"}})), `{}`)
		if _, err := v.c.Open(limit(t, 8*time.Second), url, protocol.WaitAuto); err != nil {
			t.Fatal(err)
		}
		v.look()
		v.eval(`document.body.innerHTML='<button onclick="report(1)">Stay</button>'`)
		v.look()
		ref := v.ref("button", "Stay")
		equal(t, "a click", v.click(ref), `{"hit":"`+ref+`","focused":"`+ref+`"}`)
	})
	t.Run("where the tab is", func(t *testing.T) {
		v := s.open(t, `<a href="`+dead+`">Go</a>`)
		before := v.c.State().URL
		v.click(v.ref("link", "Go"))
		equal(t, "the state", v.c.State().URL, dead)
		equal(t, "the tab", v.c.Tabs()[0].URL, dead)
		got, err := v.c.Capture(limit(t, 8*time.Second), snapshot.DefaultOptions(), v.refs)
		equal(t, "the snapshot", []any{got.URL, err}, []any{dead, nil})
		answer(v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Press{Key: "Tab"}}))
		equal(t, "after a key", v.c.State().URL, dead)
		_, err = v.c.Wait(limit(t, time.Second), v.refs, protocol.Wait{URL: dead}, nil, nil)
		equal(t, "waited for", protocol.CodeOf(err), protocol.Timeout)
		_, err = v.c.History(limit(t, 8*time.Second), 0)
		equal(t, "again", answer(nil, err), `navigation_failed: the page did not load: net::ERR_CONNECTION_REFUSED {"reason":"net::ERR_CONNECTION_REFUSED"}`)
		_, err = v.c.History(limit(t, 8*time.Second), -1)
		equal(t, "back", []any{v.c.State().URL, err}, []any{before, nil})
	})
	t.Run("a frame", func(t *testing.T) {
		v := s.open(t, `<iframe name=f srcdoc=""></iframe><a href="`+dead+`" target=f>Go</a>`)
		ref := v.ref("link", "Go")
		equal(t, "answer", v.click(ref), `{"hit":"`+ref+`","focused":"`+ref+`","requests_failed":[{"method":"GET","url":"`+dead+`","error":"net::ERR_CONNECTION_REFUSED"}]}`)
	})
}

// So does a navigation to a page that goes on at once to one that does not load.
func TestRedirectToAPageThatDoesNotLoad(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dead := deadURL(t)
	want := `navigation_failed: the page did not load: net::ERR_CONNECTION_REFUSED {"reason":"net::ERR_CONNECTION_REFUSED","url":"` + dead + `"}`
	s.pages["/fine"] = `<h1>Fine</h1>`
	for name, page := range map[string]string{
		"a refresh":   `<meta http-equiv=refresh content="0;url=DEAD">`,
		"a script":    `<script>location.href='DEAD'</script>`,
		"once loaded": `<script>onload=()=>location.replace('DEAD')</script>`,
	} {
		t.Run(name, func(t *testing.T) {
			v := s.open(t, `<h1>Before</h1>`)
			s.pages["/on"] = strings.ReplaceAll(page, "DEAD", dead)
			for _, wait := range []string{protocol.WaitAuto, protocol.WaitNetworkIdle} {
				_, err := v.c.Open(limit(t, 8*time.Second), s.srv.URL+"/on", wait)
				equal(t, "open, "+wait, answer(nil, err), want)
			}
			_, err := v.c.Open(limit(t, 8*time.Second), s.srv.URL+"/fine", protocol.WaitAuto)
			equal(t, "another", answer(nil, err), `null`)
		})
	}
}

// A refresh of up to a second belongs to the navigation, as it does without
// Chromium: what is opened is where it leads.
func TestARefreshBelongsToTheNavigation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.pages["/fine"] = `<h1>Fine</h1>`
	s.pages["/on"] = `<meta http-equiv=refresh content="0;url=/fine"><h1>On</h1>`
	s.pages["/soon"] = `<meta http-equiv=refresh content="1;url=/fine"><h1>Soon</h1>`
	s.pages["/later"] = `<meta http-equiv=refresh content="60;url=/fine"><h1>Later</h1>`
	s.pages["/again"] = `<meta http-equiv=refresh content="1"><h1>Again</h1>`
	v := s.open(t, `<h1>Before</h1>`)
	for from, to := range map[string]string{"/on": "/fine", "/soon": "/fine", "/later": "/later", "/again": "/again"} {
		e, err := v.c.Open(limit(t, 8*time.Second), s.srv.URL+from, protocol.WaitAuto)
		equal(t, from, answer(e, err), `{"navigated":"`+s.srv.URL+to+`","changed":true}`)
	}
}
