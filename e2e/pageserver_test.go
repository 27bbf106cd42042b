package e2e_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// pageServer serves pages on loopback and keeps what they say happened to them:
// an answer of the daemon is believed only where the page saw the same.
type pageServer struct {
	*httptest.Server
	mux *http.ServeMux

	mu      sync.Mutex
	reports map[string][]report
	probes  map[string]report // the latest of each case
}

// report is one call of report() in a page, ordered by the browser's clock and,
// within its resolution, by the window's count: beacons overtake each other.
type report struct {
	at    float64
	count int
	value json.RawMessage
}

func (r report) compare(other report) int {
	return cmp.Or(cmp.Compare(r.at, other.at), cmp.Compare(r.count, other.count))
}

func newPageServer(t testing.TB) *pageServer {
	w := &pageServer{mux: http.NewServeMux(), reports: map[string][]report{}, probes: map[string]report{}}
	w.mux.HandleFunc("POST /-/report", w.take)
	w.mux.HandleFunc("POST /-/probe", w.take)
	w.mux.HandleFunc("GET /slow", slow)
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		// The pages were written by others: nothing they name may leave this machine.
		rw.Header().Set("Content-Security-Policy", "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob: http://127.0.0.1:* http://localhost:*")
		w.mux.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

// alt is the same server under the name localhost: another site.
func (w *pageServer) alt() string { return strings.Replace(w.URL, "127.0.0.1", "localhost", 1) }

// helperScript defines report(x) and probe(f) for the pages of one case.
// A beacon outlives the navigation that follows it. A probe is told only when
// its value changes, so that a page comes to rest.
const helperScript = `<script>(()=>{let n=0;
const send=(kind,x)=>navigator.sendBeacon('/-/'+kind+'?case=%s&t='+(performance.timeOrigin+performance.now())+'&n='+n++,JSON.stringify(x===undefined?null:x));
window.report=x=>send('report',x);
window.probe=f=>{let last;const look=()=>{let v;try{v=JSON.stringify(f())}catch(e){return}if(v!==last){last=v;send('probe',JSON.parse(v))}};
 addEventListener('DOMContentLoaded',look);setInterval(look,30)};
})()</script>`

// page puts the helper before a page's own markup.
func page(id, markup string) string {
	return `<!doctype html><meta charset=utf-8><title>` + id + `</title>` + fmt.Sprintf(helperScript, id) + "\n" + markup
}

// serve answers path with the markup, as HTML unless a type is given.
func (w *pageServer) serve(path, markup, contentType string) {
	if contentType == "" {
		contentType = "text/html"
	}
	w.mux.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", contentType+"; charset=utf-8")
		io.WriteString(rw, markup)
	})
}

func (w *pageServer) take(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	id := r.URL.Query().Get("case")
	at, err := strconv.ParseFloat(r.URL.Query().Get("t"), 64)
	count, err2 := strconv.Atoi(r.URL.Query().Get("n"))
	if err := errors.Join(err, err2); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	got := report{at, count, body}
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/report") {
		w.reports[id] = append(w.reports[id], got)
	} else if got.compare(w.probes[id]) > 0 {
		w.probes[id] = got
	}
	rw.WriteHeader(http.StatusNoContent)
}

// said lists what the pages of the case reported, in the order in which it
// happened, as decoded JSON.
func (w *pageServer) said(id string) []any {
	w.mu.Lock()
	defer w.mu.Unlock()
	reports := slices.Clone(w.reports[id])
	slices.SortStableFunc(reports, report.compare)
	values := []any{}
	for _, r := range reports {
		values = append(values, decoded(r.value))
	}
	return values
}

// probed is the last value that the case's probe had; nil before the first.
func (w *pageServer) probed(id string) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return decoded(w.probes[id].value)
}

func decoded(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "not JSON: " + string(raw)
	}
	return v
}

// slow answers after ms milliseconds: with a redirect to to, or with nothing.
func slow(rw http.ResponseWriter, r *http.Request) {
	ms, _ := strconv.Atoi(r.FormValue("ms"))
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
	case <-r.Context().Done():
		return
	}
	if to := r.FormValue("to"); to != "" {
		http.Redirect(rw, r, to, http.StatusFound)
	}
}
