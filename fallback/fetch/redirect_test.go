package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

// seen is what a server was asked, and with which credentials.
type seen struct{ Line, Authorization, Cookie, Key, Referer, Type, Body string }

func note(list *[]seen, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	*list = append(*list, seen{r.Method + " " + r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Cookie"),
		r.Header.Get("X-Api-Key"), r.Header.Get("Referer"), r.Header.Get("Content-Type"), string(body)})
}

func TestRedirectKeepsOrDropsMethodAndBody(t *testing.T) {
	for _, tt := range []struct {
		method string
		status int
		want   seen
	}{
		{"POST", 301, seen{Line: "GET /end"}},
		{"POST", 302, seen{Line: "GET /end"}},
		{"POST", 303, seen{Line: "GET /end"}},
		{"POST", 307, seen{Line: "POST /end", Type: "text/plain", Body: "hi"}},
		{"POST", 308, seen{Line: "POST /end", Type: "text/plain", Body: "hi"}},
		{"PUT", 302, seen{Line: "PUT /end", Type: "text/plain", Body: "hi"}},
		{"PUT", 303, seen{Line: "GET /end"}},
	} {
		var got []seen
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			note(&got, r)
			if r.URL.Path == "/start" {
				w.Header().Set("Location", "end")
				w.WriteHeader(tt.status)
			}
		})
		r, err := client(t).Do(t.Context(), Request{Method: tt.method, URL: at + "/start#part", Body: []byte("hi"), Header: http.Header{"Content-Type": {"text/plain"}}})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, got[1]); d != "" {
			t.Errorf("%s %d (-want +got):\n%s", tt.method, tt.status, d)
		}
		if want := at + "/end#part"; r.URL != want || len(r.Hops) != 1 || r.Hops[0] != (Hop{at + "/start#part", tt.status}) {
			t.Errorf("%s %d: ended at %s by %v, want %s", tt.method, tt.status, r.URL, r.Hops, want)
		}
	}
}

// Threat cred-xsite: what a request says to one origin, by whatever header, is not told to another,
// nor to the first again when a chain comes back to it.
func TestCredentialsDoNotCrossOrigins(t *testing.T) {
	var first, second []seen
	var a, b string
	b = serve(t, func(w http.ResponseWriter, r *http.Request) {
		note(&second, r)
		http.Redirect(w, r, a+"/back", http.StatusFound)
	})
	a = serve(t, func(w http.ResponseWriter, r *http.Request) {
		note(&first, r)
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/cross?x=1", http.StatusFound)
		case "/cross":
			http.Redirect(w, r, b+"/there", http.StatusFound)
		}
	})
	_, err := client(t).Do(t.Context(), Request{URL: a + "/same", Header: http.Header{
		"Authorization": {"Bearer canary"}, "Cookie": {"c=canary"}, "X-Api-Key": {"canary"}, "Referer": {a + "/from?secret=1"}}})
	if err != nil {
		t.Fatal(err)
	}
	mine := seen{Line: "GET /same", Authorization: "Bearer canary", Cookie: "c=canary", Key: "canary", Referer: a + "/from?secret=1"}
	inner := mine
	inner.Line = "GET /cross?x=1"
	if d := cmp.Diff([]seen{mine, inner, {Line: "GET /back"}}, first); d != "" {
		t.Errorf("first origin (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]seen{{Line: "GET /there"}}, second); d != "" {
		t.Errorf("second origin (-want +got):\n%s", d)
	}
}

// The daemon's own headers go to every hop, and what the caller's Header says at the same name goes to its origin alone.
func TestOwnHeadersGoToEachHop(t *testing.T) {
	var got []string
	record := func(r *http.Request) {
		got = append(got, fmt.Sprintf("%s %s, %s, %s", r.URL.Path, r.Header.Get("Accept"), r.Header.Get("Accept-Language"), r.Header.Get("X-Api-Key")))
	}
	var a, b string
	b = serve(t, func(w http.ResponseWriter, r *http.Request) {
		record(r)
		http.Redirect(w, r, a+"/back", http.StatusMovedPermanently)
	})
	a = serve(t, func(w http.ResponseWriter, r *http.Request) {
		record(r)
		if r.URL.Path == "/" {
			http.Redirect(w, r, b+"/there", http.StatusFound)
		}
	})
	own := http.Header{"Accept": {"text/html"}, "Accept-Language": {"en"}}
	for _, c := range []struct {
		header http.Header
		want   []string
	}{
		{nil, []string{"/ text/html, en, ", "/there text/html, en, ", "/back text/html, en, "}},
		{http.Header{"Accept-Language": {"de"}, "X-Api-Key": {"canary"}}, []string{"/ text/html, de, canary", "/there text/html, en, ", "/back text/html, en, "}},
	} {
		got = nil
		if _, err := client(t).Do(t.Context(), Request{URL: a + "/", Header: c.header, Own: own}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("with the header %v (-want +got):\n%s", c.header, d)
		}
	}
}

func TestJarGivesEachHopItsCookies(t *testing.T) {
	var got []seen
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		note(&got, r)
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "1", Path: "/"})
			http.Redirect(w, r, "/home", http.StatusSeeOther)
		}
	})
	jar, _ := cookiejar.New(nil)
	if _, err := client(t).Do(t.Context(), Request{URL: at + "/login", Jar: jar}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]seen{{Line: "GET /login"}, {Line: "GET /home", Cookie: "sid=1"}}, got); d != "" {
		t.Error(d)
	}
}

// Threat redirect-loop: ten hops and no more, whether they go round or on.
func TestRedirectsEnd(t *testing.T) {
	asked := 0
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, fmt.Sprintf("/%d", asked%3), http.StatusFound)
	})
	_, err := client(t).Do(t.Context(), Request{URL: at})
	wantReason(t, err, protocol.NavigationFailed, "redirect_loop")
	if asked != 11 {
		t.Errorf("%d requests, want 11: the first and ten redirects", asked)
	}
	r, err := client(t).Do(t.Context(), Request{URL: at, MaxRedirects: -1})
	if err != nil || r.Status != 302 || r.Header.Get("Location") == "" {
		t.Errorf("redirects not followed: %+v, %v", r, err)
	}
}

func TestCheckIsAskedAtEveryHop(t *testing.T) {
	var at string
	at = serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://10.0.0.1/x", http.StatusFound)
	})
	var asked []string
	denied := protocol.Errorf(protocol.PolicyDenied, "10.0.0.1 is private")
	_, err := client(t).Do(t.Context(), Request{URL: at + "/", Check: func(_ context.Context, u string) (string, error) {
		asked = append(asked, u)
		if strings.Contains(u, "10.0.0.1") {
			return "", denied
		}
		return u, nil
	}})
	if err != error(denied) || !slices.Equal(asked, []string{at + "/", "http://10.0.0.1/x"}) {
		t.Errorf("asked %v, got %v", asked, err)
	}
}

func TestResolveReadsAsABrowserDoes(t *testing.T) {
	base, _ := url.Parse("https://example.com/a/b?q=1#f")
	for ref, want := range map[string]string{
		"c":                     "https://example.com/a/c",
		"  /c d\n":              "https://example.com/c%20d",
		"/c\n\td":               "https://example.com/cd",
		`\x\y?\z`:               `https://example.com/x/y?\z`,
		"//other.example/%zz":   "https://other.example/%25zz",
		"?q=50%&r=%zz#%":        "https://example.com/a/b?q=50%&r=%zz#%25",
		"?q=ä":                  "https://example.com/a/b?q=%C3%A4",
		"#g":                    "https://example.com/a/b?q=1#g",
		"https:c":               "https://example.com/a/c",
		"HTTPS:/c:d":            "https://example.com/c:d",
		`https:\/other.example`: "https://other.example",
		"http://other.example":  "http://other.example",
		"":                      "https://example.com/a/b?q=1",
		"///other.example/c":    "https://other.example/c",
		`/\\/other.example/c`:   "https://other.example/c",
	} {
		got, err := Resolve(base, ref)
		if err != nil || got.String() != want {
			t.Errorf("Resolve(%q) = %v, %v, want %s", ref, got, err, want)
		}
	}
}

func wantReason(t *testing.T, err error, code protocol.Code, reason string) {
	t.Helper()
	e, ok := err.(*protocol.Error)
	if !ok || e.Code != code || e.Details["reason"] != reason {
		t.Errorf("got %v, want %s with reason %s", err, code, reason)
	}
}
