package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// secretWay is a way of reading a secret: a command, where it is sent, and what shows in the answer that it did
// find the value, or was refused.
type secretWay struct {
	name, method string
	params       params
	shows        string
}

const (
	maskedValue = "•••"
	refusedHeld = "holds a secret, and JavaScript could read it"
)

// heldWays are those in the document of the field into which the secret was written. It has a
// button that makes password fields text, and its script repeats what is typed.
func heldWays() []secretWay {
	return []secretWay{
		{"snapshot", "snapshot", everything, maskedValue},
		{"read of its value", "read", params{"ref": "label=Search", "kind": "value"}, "••"},
		{"read of its attributes", "read", params{"ref": "label=Search", "kind": "attrs"}, "text-security: disc"},
		{"read of its HTML", "read", params{"ref": "label=Search", "kind": "html"}, "input"},
		{"read of the page that repeats it", "read", params{}, "twice •••"},
		{"find of what it repeats", "find", params{"text": "twice"}, maskedValue},
		{"eval", "eval", params{"expression": "[...document.querySelector('[name=q]').value].join('.')"}, refusedHeld},
		{"wait for an expression", "wait", params{"expression": "document.querySelector('[name=q]').value[0] === 'h'"}, refusedHeld},
		{"init_script", "init_script", params{"script": "1"}, refusedHeld},
		{"route", "route", params{"pattern": "*", "action": "answer", "body": "<script>1</script>"}, refusedHeld},
		{"run with evaluate", "run", params{"code": "return await page.evaluate(() => [...document.querySelector('[name=q]').value].join('.'))"}, refusedHeld},
		{"run with a locator", "run", params{"code": "return await page.locator('[name=q]').inputValue()"}, "••"},
		{"the type of its field", "click", params{"ref": "css=#switch", "snapshot": "full"}, "•••"},
		{"snapshot after a type switch", "snapshot", everything, maskedValue},
		{"read after a type switch", "read", params{"ref": "label=Password", "kind": "value"}, "••"},
		{"find after a type switch", "find", params{"role": "textbox"}, "••"},
		{"screenshot of a page that repeats it", "screenshot", params{}, "a picture would too"},
		{"screenshot with refs", "screenshot", params{"annotate": true, "full_page": true}, "a picture would too"},
		{"pdf", "pdf", params{}, "a picture would too"},
		{"an error about its field", "select", params{"ref": "label=Search", "values": []string{"x"}}, "Search"},
		{"the events of the console", "console", params{}, "typed •••"},
		{"all of its text", "press", params{"ref": "label=Search", "key": "Control+a"}, ""},
		{"a copy of it", "press", params{"key": "Control+c"}, ""},
		{"batch", "batch", params{"commands": []params{{"method": "read"}, {"method": "tab_list"}}}, "twice •••"},
	}
}

// toldWays are those at a page that was sent the secret, and says it in every way.
func toldWays(w *pageServer, name string, posted int) []secretWay {
	return []secretWay{
		{"text", "read", params{"ref": "css=#p"}, "It is •••"},
		{"snapshot of the text", "snapshot", everything, "It is •••"},
		{"Markdown", "read", params{"ref": "css=#p", "kind": "markdown"}, "It is •••"},
		{"HTML", "read", params{"ref": "css=#p", "kind": "html"}, "It is •••"},
		{"the article", "read", params{"kind": "article"}, maskedValue},
		{"title", "tab_list", params{}, maskedValue},
		{"URL", "session_list", params{}, "pw=•••"},
		{"URL to a script", "eval", params{"expression": "location.href"}, "pw=•••"},
		{"eval", "eval", params{"expression": "document.title"}, maskedValue},
		{"attribute", "read", params{"ref": "css=#b", "kind": "attrs"}, maskedValue},
		{"value of a field", "read", params{"ref": "css=#i", "kind": "value"}, "•••"},
		{"a field to paste into", "press", params{"ref": "css=#i", "key": "Control+a"}, ""},
		{"the clipboard", "press", params{"key": "Control+v"}, ""},
		{"what was pasted", "read", params{"ref": "css=#i", "kind": "value"}, "••"},
		{"option", "read", params{"ref": "css=#o", "kind": "html"}, "option •••"},
		{"find", "find", params{"text": "It is"}, maskedValue},
		{"frame", "read", params{}, "In a frame •••"},
		{"upper case", "read", params{"ref": "css=#upper"}, "ig •••"},
		{"percent", "read", params{"ref": "css=#percent"}, "percent •••"},
		{"percent twice", "read", params{"ref": "css=#percent2"}, "percent •••"},
		{"Base64", "read", params{"ref": "css=#base64"}, "base64 •••"},
		{"Base64 among more", "read", params{"ref": "css=#base64more"}, "base64"},
		{"hexadecimal", "read", params{"ref": "css=#hex"}, "hex •••"},
		{"JSON", "read", params{"ref": "css=#json"}, "json"},
		{"console", "console", params{}, "console •••"},
		{"request", "network", params{"filter": "missing", "limit": 50}, "missing/•••"},
		{"network bodies", "network", params{"id": posted, "body": true}, "missing/•••"},
		{"HAR", "network", params{"format": "har", "body": true}, maskedValue},
		{"WebSocket", "read", params{"ref": "css=#ws"}, "heard •••"},
		{"cookies", "cookies_get", params{}, maskedValue},
		{"storage", "eval", params{"expression": "[localStorage.pw, sessionStorage.b64, document.cookie, name]"}, maskedValue},
		{"state_save", "state_save", params{"name": name}, name},
		{"run", "run", params{"code": "console.log(await page.title()); return [page.url(), await page.content()]"}, maskedValue},
		{"error of a script", "run", params{"code": "throw new Error(await page.title())"}, maskedValue},
		{"error of a command", "click", params{"ref": "css=#nowhere"}, "nowhere"},
		{"error of eval", "eval", params{"expression": "throw new Error(document.title)"}, maskedValue},
		{"screenshot", "screenshot", params{}, "a picture would too"},
		{"pdf", "pdf", params{}, "a picture would too"},
		{"dialog in an answer", "click", params{"ref": "css=#b"}, "alert •••"},
		{"dialog", "dialog", params{"accept": true}, "alert •••"},
		{"downloads", "downloads", params{"allow": true}, ""},
		{"download", "click", params{"ref": "css=#d"}, maskedValue},
		{"download name", "downloads", params{"wait": true}, "file •••"},
		{"content of a download", "downloads", params{"name": "plain.txt", "wait": true}, "content"},
		{"delta", "click", params{"ref": "css=#more", "snapshot": "delta"}, "more •••"},
		{"wait for text", "wait", params{"text": "more"}, ""},
		{"http_request", "http_request", params{"url": w.URL + "/api", "method": "POST", "headers": params{"X-Key": "{{secret:shop}}"}, "body": "{{secret:shop}}"}, "you sent •••"},
		{"web_fetch", "web_fetch", params{"url": w.URL + "/said"}, "Said •••"},
		{"history", "back", params{"snapshot": "full"}, ""},
		{"forward", "forward", params{"snapshot": "full"}, maskedValue},
		{"tab", "tab_new", params{"url": w.URL + "/said"}, "•••"},
		{"the list of sessions", "session_list", params{}, name},
		{"status", "status", params{}, ""},
		{"the end of a trace", "trace", params{"action": "stop"}, name + "-1.zip"},
		{"the end of a video", "video", params{"action": "stop"}, name + "-1.webm"},
		{"the list of recordings", "recordings", params{}, name + "-1.webm"},
		{"a trace", "recordings", params{"name": name + "-1.zip", "max_chars": 100000}, name + "-1.zip"},
		{"a video", "recordings", params{"name": name + "-1.webm", "max_chars": 4000}, name + "-1.webm"},
	}
}

// waysPages serves the pages of the ways.
func waysPages(t *testing.T) (w *pageServer, sent func() []string) {
	w, sent = secretPages(t)
	w.mux.HandleFunc("/form", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `<!doctype html><title>Form</title><form method=post action=/told>
			<label>Password <input type=password name=pw></label><label>Search <input name=q></label><button>Send</button></form><button id=switch>Show</button>
			<p id=p></p><script>const q = document.querySelector('[name=q]'); q.addEventListener('input', () => { p.textContent = 'twice ' + q.value + q.value; q.title = q.value; console.log('typed ' + q.value); });
			document.getElementById('switch').onclick = () => document.querySelectorAll('[type=password]').forEach(e => e.type = 'text');</script>`)
	})
	said := func(rw http.ResponseWriter, pw string) {
		quoted, _ := json.Marshal(pw)
		fmt.Fprintf(rw, `<!doctype html><title>Said</title><p id=p></p><script>const pw = %s; p.textContent = 'Said ' + pw</script><noscript>%s</noscript><p>Said %s</p>`, quoted, url.QueryEscape(pw), escapeHTML(pw))
	}
	w.mux.HandleFunc("/said", func(rw http.ResponseWriter, _ *http.Request) { said(rw, password) })
	w.mux.HandleFunc("/plain.txt", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Disposition", "attachment")
		io.WriteString(rw, "the content is "+password)
	})
	up := websocket.Upgrader{}
	w.mux.HandleFunc("/socket", func(rw http.ResponseWriter, r *http.Request) {
		if c, err := up.Upgrade(rw, r, nil); err == nil {
			defer c.Close()
			for {
				kind, text, err := c.ReadMessage()
				if err != nil || c.WriteMessage(kind, text) != nil {
					return
				}
			}
		}
	})
	w.mux.HandleFunc("/told", func(rw http.ResponseWriter, r *http.Request) {
		pw := r.FormValue("q")
		quoted, _ := json.Marshal(pw)
		rw.Header().Set("X-Echo", url.QueryEscape(pw))
		http.SetCookie(rw, &http.Cookie{Name: "told", Value: url.QueryEscape(pw)})
		fmt.Fprintf(rw, `<!doctype html><title>Told</title><article><h1>Told</h1><p id=p></p><p>%s</p></article><button id=b>Say</button><input id=i><select><option id=o></option></select>
			<p id=upper style="text-transform: uppercase"></p><p id=percent></p><p id=percent2></p><p id=base64></p><p id=base64more></p><p id=hex></p><p id=json></p><button id=more>More</button><p id=m></p><p id=ws></p>
			<a id=d>Save</a><a href=/plain.txt id=plain>Plain</a><iframe title=inner></iframe><script>
			const pw = %s, bytes = new TextEncoder().encode(pw); document.title = pw; p.textContent = 'It is ' + pw; b.setAttribute('aria-label', 'Say ' + pw); i.value = pw; o.textContent = 'option ' + pw;
			upper.textContent = 'big ' + pw; percent.textContent = 'percent ' + encodeURIComponent(pw); percent2.textContent = 'percent ' + encodeURIComponent(encodeURIComponent(pw));
			base64.textContent = 'base64 ' + btoa(pw); base64more.textContent = 'base64 ' + btoa('user:' + pw + ':more'); hex.textContent = 'hex ' + [...bytes].map(x => x.toString(16)).join(''); json.textContent = 'json ' + JSON.stringify({pw, again: JSON.stringify(pw)});
			console.log('console ' + pw, {pw}, [pw]); localStorage.pw = pw; sessionStorage.b64 = btoa(pw); name = pw;
			document.querySelector('iframe').srcdoc = '<p id=f></p><script>f.textContent = "In a frame " + parent.name</'+'script>';
			history.replaceState(null, '', '/told?pw=' + encodeURIComponent(pw) + '#' + encodeURIComponent(pw));
			fetch('/missing/' + encodeURIComponent(pw), {method: 'POST', body: pw, headers: {'X-Pw': encodeURIComponent(pw)}});
			const s = new WebSocket('ws://' + location.host + '/socket?pw=' + encodeURIComponent(pw)); s.onopen = () => s.send(pw); s.onmessage = e => { ws.textContent = 'heard ' + e.data; s.close(); };
			b.onclick = () => { confirm('alert ' + pw); }; more.onclick = () => { m.textContent = 'more ' + pw; };
			d.onclick = () => { d.href = URL.createObjectURL(new Blob([pw])); d.download = 'file ' + pw + '.txt'; plain.click(); };</script>`, strings.Repeat("Text of an article. ", 40), quoted)
	})
	return w, sent
}

func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;").Replace(s)
}

// door sends a command over one transport, and returns all that the client was sent.
type door func(t *testing.T, method string, p params) []byte

// doors are the transports.
func doors(t *testing.T, d *testdaemon.Daemon) map[string]door {
	c := d.Dial(t)
	plain, err := testdaemon.PlainBinary()
	if err != nil {
		t.Fatal(err)
	}
	m := connect(t, transports(t, d, "all")["http"], nil)
	return map[string]door{
		"WebSocket": func(t *testing.T, method string, p params) []byte {
			var answer json.RawMessage
			err := c.Call(t.Context(), method, p, &answer)
			if e := (*protocol.Error)(nil); errors.As(err, &e) {
				answer, _ = json.Marshal([]any{e.Message, e.Data()})
			} else if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			return answer
		},
		"HTTP": func(t *testing.T, method string, p params) []byte {
			body, _ := json.Marshal(p)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/"+method, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+d.Token)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return append([]byte(fmt.Sprint(resp.Header)), answer...)
		},
		"MCP": func(t *testing.T, method string, p params) []byte {
			r, err := m.CallTool(t.Context(), &mcp.CallToolParams{Name: method, Arguments: map[string]any(p)})
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			var answer bytes.Buffer
			for _, part := range r.Content {
				if text, ok := part.(*mcp.TextContent); ok {
					answer.WriteString(text.Text + "\n")
					continue
				}
				b, _ := json.Marshal(part)
				answer.Write(b)
			}
			b, _ := json.Marshal(r.StructuredContent)
			return append(answer.Bytes(), b...)
		},
		"command line": func(t *testing.T, method string, p params) []byte {
			row, _ := actions.All.Lookup(method)
			args := []string{method}
			for _, name := range slices.Sorted(maps.Keys(p)) {
				word, ok := p[name].(string)
				if !ok {
					b, _ := json.Marshal(p[name])
					word = string(b)
				}
				if name == row.Main {
					args = append(args, word)
				} else {
					args = append(args, "--"+name+"="+word)
				}
			}
			cmd := exec.CommandContext(t.Context(), plain, args...)
			cmd.Env, cmd.Dir = d.Environ(), t.TempDir()
			out, err := cmd.CombinedOutput()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			return out
		},
	}
}

// coreLimit is of a process that leaves no core dump, neither as a file nor to a program.
var coreLimit = regexp.MustCompile(`Max core file size +1 +1 `)

// After a fill no way of reading the value gives it, over any transport, and nothing that the daemon
// writes or serves has it.
func TestNoWayToASecret(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	w, sent := waysPages(t)
	logs := filepath.Join(t.TempDir(), "actions")
	ledger := filepath.Join(t.TempDir(), "ledger.db")
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_STATE__KEY": "a passphrase of the tests", "BROWSERD_LOG__LEVEL": "debug", "BROWSERD_ACTION_LOG__DIR": logs,
		"BROWSERD_LEDGER__DSN": ledger,
	}})
	secretSetter(t, d)(password, "shop", "--origin", w.URL)
	ways := 0
	a := newAgent(t, d)
	events := listens(t, d)
	for transport, send := range doors(t, d) {
		t.Run(transport, func(t *testing.T) {
			name := strings.ReplaceAll(strings.ToLower(transport), " ", "-")
			try := func(y secretWay) {
				t.Helper()
				p := maps.Clone(y.params)
				if row, _ := actions.All.Lookup(y.method); row.Name != "session_list" && row.Name != "status" && row.Name != "recordings" {
					p["session"] = name
				}
				answer := send(t, y.method, p)
				if found := leaks(answer); found != nil {
					t.Errorf("%s: %s %v shows the password (%v): %.3000s", y.name, y.method, y.params, found, answer)
				}
				if !strings.Contains(string(answer), y.shows) {
					t.Errorf("%s: %s %v says nothing of %q: %.3000s", y.name, y.method, y.params, y.shows, answer)
				}
				ways++
			}
			send(t, "session_open", params{"name": name, "trace": true})
			try(secretWay{"open", "open", params{"url": w.URL + "/form"}, "Form"})
			try(secretWay{"a video", "video", params{"action": "start"}, name})
			link, err := d.Command("view", "--print")
			if err != nil {
				t.Fatal(err)
			}
			person, look := watches(t, d, link, name)
			agents, spy := watches(t, d, ask[struct{ URL string }](a, "view", params{"session": name}).URL, name)
			try(secretWay{"fill", "fill", params{"fields": []params{{"ref": "label=Password", "value": "{{secret:shop}}"}, {"ref": "label=Search", "value": "{{secret:shop}}"}}, "snapshot": "full"}, "••"})
			for _, y := range heldWays() {
				try(y)
			}
			look(`@e2 [textbox name=\"q\"`) // the lines beside the picture
			spy(`@e2 [textbox name=\"q\"`)
			try(secretWay{"send", "click", params{"ref": `role=button[name="Send"]`, "snapshot": "full"}, maskedValue})
			posted := ask[struct{ Entries []struct{ ID int } }](a, "network", params{"filter": "missing", "session": name}).Entries
			if len(posted) != 1 {
				t.Fatalf("%d requests", len(posted))
			}
			for _, y := range toldWays(w, name, posted[0].ID) {
				try(y)
			}
			look("Said •••")
			spy("Said •••")
			for who, o := range map[string]*overheard{"the person's view": person, "the agent's view": agents} {
				o.has(t, `"command":"tab_new"`) // the timeline
				o.leaksNothing(t, who)
			}
			recordedNothing(t, d, name)
		})
	}
	if got := sent(); len(got) != 4 {
		t.Errorf("the site was sent %d secrets over http_request: %q", len(got), got)
	}
	events.has(t, `"command":"tab_new"`)
	events.leaksNothing(t, "who subscribes to everything")
	if !t.Failed() && ways < 4*82 {
		t.Errorf("%d ways", ways)
	}
	for _, path := range []string{"/", "/metrics", "/healthz"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+d.Token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if found := leaks(content); found != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, and shows the password (%v): %s", path, resp.Status, found, content)
		}
	}
	leavesNoMemory(t, d, a)
	trail, err := d.Command("audit", "--json")
	if found := leaks([]byte(trail)); err != nil || found != nil || !strings.Contains(trail, "fill") {
		t.Errorf("the audit trail: %v, the password %v, %.1000s", err, found, trail)
	}
	d.Stop()
	if log := d.Log(); leaks([]byte(log)) != nil || !strings.Contains(log, "level=DEBUG") {
		t.Errorf("the debug log has the password (%v)", leaks([]byte(log)))
	}
	files := 0
	for _, root := range []string{d.Home, logs, filepath.Dir(ledger)} {
		if err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !e.Type().IsRegular() {
				return nil
			}
			files++
			content, err := os.ReadFile(path)
			if found := leaks(content); found != nil {
				t.Errorf("%s holds the password (%v)", path, found)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	if files < 5 {
		t.Errorf("%d files", files)
	}
}

// A picture and a print of a field tell nothing of the secret in it: they are those of any other of its
// length. The page shows it where it can.
func TestAPictureOfASecretIsOfDots(t *testing.T) {
	t.Parallel()
	w, _ := waysPages(t)
	var mu sync.Mutex
	var printed []byte
	w.mux.HandleFunc("/field-only", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `<!doctype html><title>Field</title><label>Field <input></label><label>Text <textarea></textarea></label><div contenteditable role=textbox aria-label=Edited></div>
			<label>Password <input type=password></label><label>Pass <input type=password id=p></label><button>Other</button><button id=show>Show</button>
			<script>show.onclick = () => { const copy = p.cloneNode(); copy.style = ''; copy.value = p.value; p.replaceWith(copy);
			for (const e of document.querySelectorAll('[type=password]')) e.type = 'text'; for (const e of document.querySelectorAll('[style]')) e.removeAttribute('style') }</script>`)
	})
	w.mux.HandleFunc("/printed.pdf", func(rw http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		rw.Header().Set("Content-Type", "application/pdf")
		rw.Write(printed)
	})
	bin, err := testdaemon.PlainBinary() // it reads two PDFs: see web/pdf
	if err != nil {
		t.Fatal(err)
	}
	d := testdaemon.Start(t, testdaemon.Options{Binary: bin, Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	set := secretSetter(t, d)
	set("hunter2 and more", "one", "--origin", w.URL)
	set("WWWWWWW iii MMMM", "two", "--origin", w.URL)
	a := newAgent(t, d)
	var pictures [][]byte
	for _, name := range []string{"one", "two"} {
		a.open(w.URL + "/field-only")
		for _, ref := range []string{"label=Field", "label=Text", "css=[contenteditable]", "label=Password", "label=Pass"} {
			a.do("type", params{"ref": ref, "text": "{{secret:" + name + "}}"})
		}
		a.do("click", params{"ref": "css=#show"})
		a.do("focus", params{"ref": "css=button:not(#show)"})
		pictures = append(pictures, ask[struct{ Image []byte }](a, "screenshot", params{}).Image)
		mu.Lock()
		printed = ask[struct{ PDF []byte }](a, "pdf", params{}).PDF
		mu.Unlock()
		a.do("open", params{"url": w.URL + "/printed.pdf"})
		text := ask[struct{ Content string }](a, "read", params{}).Content
		if !strings.Contains(text, "Field") || strings.Contains(text, "hunter") || strings.Contains(text, "WWW") {
			t.Errorf("%s: the PDF says %s", name, text)
		}
	}
	if len(pictures[0]) == 0 || !bytes.Equal(pictures[0], pictures[1]) {
		t.Errorf("the pictures differ: %d and %d bytes", len(pictures[0]), len(pictures[1]))
	}
}

// No picture is given while the page shows a secret, in whatever part of its tree.
func TestNoPictureOfASecretWhereverItIsShown(t *testing.T) {
	t.Parallel()
	w, _ := waysPages(t)
	places := map[string]string{
		"beside the body":     `document.documentElement.append(Object.assign(document.createElement('div'), {textContent: v}))`,
		"an object":           `document.body.append(Object.assign(document.createElement('object'), {data: 'data:text/html,' + encodeURIComponent('<p>' + v)}))`,
		"an embed":            `document.body.append(Object.assign(document.createElement('embed'), {type: 'text/html', src: 'data:text/html,' + encodeURIComponent('<p>' + v)}))`,
		"an object's content": `document.body.append(Object.assign(document.createElement('object'), {textContent: v}))`,
		"a group of options":  `document.body.insertAdjacentHTML('beforeend', '<select size=4><optgroup label="' + v + '"><option>x</optgroup></select>')`,
		"a frame behind many": `document.body.insertAdjacentHTML('beforeend', '<iframe srcdoc=x></iframe>'.repeat(51) + '<iframe srcdoc="' + v + '"></iframe>')`,
		"a style sheet":       `document.body.insertAdjacentHTML('beforeend', '<style>p::after { content: "' + v + '" }</style><p></p>')`,
	}
	w.mux.HandleFunc("/place", func(rw http.ResponseWriter, r *http.Request) {
		io.WriteString(rw, `<!doctype html><title>Place</title><label>Field <input id=f></label><script>f.oninput = () => { const v = f.value; if (v.length < 16) return; `+places[r.FormValue("at")]+` }</script>`)
	})
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}})
	secretSetter(t, d)("hunter2 and more", "one", "--origin", w.URL)
	a := newAgent(t, d)
	for place := range places {
		a.open(w.URL + "/place?at=" + url.QueryEscape(place))
		a.do("type", params{"ref": "label=Field", "text": "{{secret:one}}", "snapshot": "none"})
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) { // a document in the page has to load first
			_, err := a.try("screenshot", params{})
			if protocol.CodeOf(err) == protocol.SecretDenied {
				break
			}
			if time.Since(began) > 10*time.Second {
				t.Errorf("%s: a picture was given: %v", place, err)
				break
			}
		}
	}
}
