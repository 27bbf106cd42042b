package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// paths are the pages that players open, by what they are made of.
var paths = []string{"/", "/list", "/live", "/frames", "/form", "/talk", "/windows", "/files", "/slow", "/missing", "/jump"}

// site is what the players visit: small pages of everything that a browser has
// to keep account of, on loopback.
func site() http.Handler {
	mux := http.NewServeMux()
	page := func(path, title, body string) {
		text := fmt.Sprintf("<!doctype html><html lang=en><meta charset=utf-8><link rel=icon href=data:,><title>%s</title><h1>%s</h1>\n%s\n", title, title, body)
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: strings.Trim(path, "/{$}"), Path: "/"})
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, text)
		})
	}
	var links, rows strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&links, "<li><a href=%q>Go to %s</a></li>", p, p)
	}
	for i := range 300 {
		fmt.Fprintf(&rows, "<li><a href='#%d'>Thing %d</a> <input type=checkbox aria-label='Choose %d'> <button onclick='this.parentNode.remove()'>Drop</button></li>", i, i, i)
	}
	page("/{$}", "Start", `<button onclick="n.textContent = +n.textContent + 1">Count</button> <output id=n>0</output>
		<button onclick="document.title = 'Titled ' + Date.now()">Title</button><input aria-label=Note><ul>`+links.String()+`</ul>`)
	page("/list", "List", `<button onclick="for (let i = 0; i < 50; i++) { const l = document.createElement('li'); l.innerHTML = '<button>More</button>'; list.append(l) }">Add</button>
		<ul id=list>`+rows.String()+`</ul>`)
	page("/live", "Live", `<p role=status id=s>0</p><button onclick="fetch('/data').then(r => r.json()).then(d => s.textContent = d.now)">Fetch</button>
		<button onclick="history.pushState(0, '', '/live?' + Math.random())">Push</button><button onclick="sessionStorage.x = localStorage.x = 'y'.repeat(1e4)">Store</button>
		<button onclick="new Worker(URL.createObjectURL(new Blob(['postMessage(1); setTimeout(close, 200)']))).onmessage = () => s.textContent = 'worked'">Work</button>
		<script>setInterval(() => s.textContent = +s.textContent + 1, 100); for (let i = 0; i < 30; i++) console.log('line', i); console.error('on purpose')</script>`)
	page("/frames", "Frames", `<iframe src="/form" title=Near></iframe><iframe id=far title=Far></iframe><iframe srcdoc="<button>Inside</button>"></iframe>
		<button onclick="far.remove()">Drop</button><script>const u = new URL('/', location); u.hostname = u.hostname === 'localhost' ? '127.0.0.1' : 'localhost'; far.src = u</script>`)
	page("/form", "Form", `<form action="/sent"><label>Name <input name=name></label><label>Mail <input type=email name=mail></label>
		<label>Size <select name=size><option>Small<option>Medium<option>Large</select></label><label><input type=checkbox name=news> News</label>
		<label>Note <textarea name=note></textarea></label><label>File <input type=file name=file></label><button>Send</button></form>`)
	page("/sent", "Sent", `<a href="/form">Again</a>`)
	page("/talk", "Talk", `<button onclick="alert('hi')">Alert</button><button onclick="this.textContent = 'Confirmed ' + confirm('sure?')">Confirm</button>
		<button onclick="this.textContent = 'Prompted ' + prompt('who?')">Prompt</button>`)
	page("/windows", "Windows", `<button onclick="open('/list')">Window</button><a href="/form" target=_blank>Tab</a><button onclick="open('/').close()">Brief</button>`)
	page("/files", "Files", `<a href="/file" download>Small file</a> <a href="/big" download>Large file</a>`)
	file := func(path string, size int) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=file.txt")
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, strings.Repeat("0123456789abcde\n", size/16))
		})
	}
	file("/file", 4<<10)
	file("/big", 2<<20)
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>Slow</title><h1>Slow</h1>")
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(300 * time.Millisecond): // the page's own slowness
		}
		fmt.Fprint(w, "<button>Late</button>")
	})
	mux.HandleFunc("GET /data", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"now": %q}`, time.Now().Format(time.RFC3339Nano))
	})
	mux.Handle("GET /jump", http.RedirectHandler("/list", http.StatusFound))
	page("/stuck", "Stuck", `<button onclick="for (const end = Date.now() + 1000; Date.now() < end;);">Busy</button>`)
	return mux
}

// serveSite serves the site on a free loopback port until stop is called.
func serveSite() (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: site()}
	go s.Serve(l)
	return "http://" + l.Addr().String(), func() { s.Close() }, nil
}
