package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The recordings of a session are on its page in the view: the video plays there, the trace is a file. Only
// the view's own cookie opens them, and only those of what the view shows.
func TestRecordingsInTheView(t *testing.T) {
	aboutOneProcess(t, "in a view of all sessions those of other nodes have no recordings")
	t.Parallel()
	d := driven(t, "", nil)
	w := newPageServer(t)
	w.serve("/", page("page", `<h1>Page</h1><button onclick="document.querySelector('h1').textContent = 'Pressed'">Go</button>`), "")
	a, o := as(t, d, ann), as(t, d, olga)
	names := map[string]string{}
	for _, session := range []string{"shop", "bank"} {
		a.do("session_open", params{"name": session, "trace": true, "video": true})
		a.do("open", params{"url": w.URL, "session": session})
		a.do("click", params{"ref": "text=Go", "session": session})
		for _, kind := range []string{"trace", "video"} {
			r := ask[struct{ Recording struct{ Name string } }](a, kind, params{"action": "stop", "session": session})
			names[session+" "+kind] = r.Recording.Name
		}
	}

	link := ask[struct{ URL string }](a, "view", params{"session": "shop"}).URL
	p := newDesk(t)
	p.do("open", params{"url": link})
	p.do("click", params{"ref": `role=tab[name="Recordings"]`})
	p.shows(`document.querySelectorAll('#panel li').length === 2 && document.querySelector('#panel video')?.videoWidth === 800`)
	p.do("eval", params{"expression": `document.querySelector('#panel video').play()`})
	p.shows(`document.querySelector('#panel video').currentTime > 0`)
	p.shows(fmt.Sprintf(`document.querySelector('#panel a[download=%q]')`, names["shop trace"]))
	// What happens in the session does not begin the video anew.
	p.do("eval", params{"expression": `document.querySelector('#panel video').dataset.same = 'yes'`})
	a.do("open", params{"url": w.URL + "/?again", "session": "shop"})
	p.shows(`document.body.innerText.includes('again') || [...document.querySelectorAll('input')].some((i) => i.value.includes('again'))`)
	p.shows(`document.querySelector('#panel video').dataset.same === 'yes'`)
	if said := ask[struct{ Messages []struct{ Text string } }](p.agent, "console", nil).Messages; len(said) > 0 {
		t.Errorf("the view's console says %v", said)
	}

	one := opens(t, d, ask[struct{ URL string }](a, "view", params{"session": "shop"}).URL)
	all := opens(t, d, ask[struct{ URL string }](o, "view", nil).URL)
	of := func(session, name string) string {
		return "recording?" + url.Values{"agent": {"ann"}, "session": {session}, "name": {name}}.Encode()
	}
	for _, test := range []struct {
		name   string
		v      *viewer
		at     string
		header []string
		status int
		begins string
	}{
		{"a video", one, of("shop", names["shop video"]), nil, http.StatusOK, "\x1aE\xdf\xa3"},
		{"a trace", one, of("shop", names["shop trace"]), nil, http.StatusOK, "PK"},
		{"a part of it", one, of("shop", names["shop video"]), []string{"Range", "bytes=0-3"}, http.StatusPartialContent, "\x1aE\xdf\xa3"},
		{"an operator's view", all, of("bank", names["bank video"]), nil, http.StatusOK, "\x1aE\xdf\xa3"},
		{"another session", one, of("bank", names["bank video"]), nil, http.StatusNotFound, ""},
		{"another session's, by this one's name", one, of("shop", names["bank video"]), nil, http.StatusNotFound, ""},
		{"a path", one, of("shop", "../bank/"+names["bank video"]), nil, http.StatusNotFound, ""},
		{"no cookie", one, of("shop", names["shop video"]), []string{"Cookie", ""}, http.StatusUnauthorized, ""},
		{"another view's cookie", one, of("shop", names["shop video"]), []string{"Cookie", all.cookie}, http.StatusUnauthorized, ""},
		{"another site", one, of("shop", names["shop video"]), []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden, ""},
		{"a frame", one, of("shop", names["shop video"]), []string{"Sec-Fetch-Dest", "iframe"}, http.StatusForbidden, ""},
	} {
		r, body := test.v.asks("GET", test.v.path+test.at, nil, test.header...)
		if r.StatusCode != test.status || test.begins != "" && !bytes.HasPrefix([]byte(body), []byte(test.begins)) {
			t.Errorf("%s: %d %.80q", test.name, r.StatusCode, body)
		}
		if r.StatusCode < 300 {
			for key, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"} {
				if got := r.Header.Get(key); got != want {
					t.Errorf("%s: %s is %q", test.name, key, got)
				}
			}
			if is := strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment"); is != strings.HasPrefix(test.begins, "PK") {
				t.Errorf("%s: %q", test.name, r.Header.Get("Content-Disposition"))
			}
		}
	}
	if r, _ := one.asks("POST", one.path+of("shop", names["shop video"]), url.Values{}); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", r.StatusCode)
	}
}
