package e2e_test

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// answer sends a command and decodes its result.
func answer[T any](t *testing.T, a *agent, method string, p params) T {
	t.Helper()
	var raw json.RawMessage
	if err := a.c.Call(t.Context(), method, p, &raw); err != nil {
		t.Fatalf("%s %v: %v", method, p, err)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %s: %v", method, raw, err)
	}
	return v
}

func namesOf(list []session.Saved) string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// What an agent saves at one node it has at all: states, scripts, logins, secrets and profiles, with
// quotas of the fleet and one writer for each name. The sessions here are at three nodes.
func TestWhatIsSavedIsTheFleets(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_SESSION__MAX": "1", "BROWSERD_STATE__COUNT": "3", "BROWSERD_SCRIPTS__COUNT": "2"})
	w := databaseSite(t)
	w.serve("/form", page("form", `<label>Password <input type=password id=p></label><p id=said></p><script>p.oninput = () => { said.textContent = p.value.length + ' characters' }</script>`), "")
	var agents []*agent
	for n, d := range f.nodes {
		a := newAgent(t, d)
		a.do("session_open", params{"name": fmt.Sprint("s", n)})
		agents = append(agents, a)
	}
	if r := fleetOf(t, f.nodes[0]); len(r.Sessions) != 3 || r.Sessions[0].Node == r.Sessions[1].Node || r.Sessions[1].Node == r.Sessions[2].Node {
		t.Fatalf("the sessions lie at %+v", r.Sessions)
	}
	one, two, three := agents[0], agents[1], agents[2]

	type states struct{ States []session.Saved }
	one.logIn(w)
	one.do("state_save", params{"name": "shop"})
	two.do("state_load", params{"name": "shop"})
	if got := two.account(w); got != stateLogin {
		t.Errorf("the state at another node: %q", got)
	}
	two.do("state_save", params{"name": "more"})
	three.open(w.URL + "/account")
	three.do("state_save", params{"name": "most"})
	for n, a := range agents {
		if got := namesOf(answer[states](t, a, "state_list", params{}).States); got != "more most shop" {
			t.Errorf("state_list at node %d: %q", n+1, got)
		}
		if e := a.refused("state_save", params{"name": fmt.Sprint("beyond", n)}, protocol.TooLarge); e.Details["quota"] != "state.count" {
			t.Errorf("%v", e.Details)
		}
	}
	three.do("state_delete", params{"name": "shop"})
	one.refused("state_load", params{"name": "shop"}, protocol.InvalidParams)

	one.do("session_close", nil)
	one.do("session_open", params{"name": "keeps", "state": "kept", "keep": true})
	if e := two.refused("state_save", params{"name": "kept"}, protocol.InUse); e.Details["state"] != "kept" {
		t.Errorf("%v", e.Details)
	}
	one.open(w.URL + "/account")
	one.do("session_close", nil)
	two.do("state_load", params{"name": "kept"})

	two.do("run", params{"code": "return 6 * 7", "save": "answer"})
	for n, a := range []*agent{two, three} {
		if r := a.do("run", params{"name": "answer"}); r.Value != 42.0 {
			t.Errorf("the script at node %d: %v", n+2, r.Value)
		}
	}
	two.do("run", params{"code": "return 1", "save": "more"})
	three.refused("run", params{"code": "return 2", "save": "beyond"}, protocol.TooLarge)

	set := exec.Command(f.nodes[0].Binary(), "secret", "set", "shop", "--origin", w.URL)
	set.Env, set.Dir, set.Stdin = f.nodes[0].Environ(), f.nodes[0].Home, strings.NewReader("hunter2 correct horse")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	three.open(w.URL + "/form")
	three.do("type", params{"ref": "label=Password", "text": "{{secret:shop}}"})
	if got := three.do("read", nil).Content; !strings.Contains(got, "21 characters") {
		t.Errorf("the secret at another node: %q", got)
	}

	one.do("session_open", params{"name": "profiled", "profile": "shop"})
	one.logIn(w)
	two.do("session_close", nil)
	if e := two.refused("session_open", params{"name": "again", "profile": "shop"}, protocol.InUse); e.Details["profile"] != "shop" {
		t.Errorf("%v", e.Details)
	}
	one.do("session_close", nil)
	one.do("session_open", params{"name": "first", "source": "http"}) // so that the next is at another node
	two.do("session_open", params{"name": "again", "profile": "shop"})
	if r := fleetOf(t, f.nodes[0]); r.Sessions[len(r.Sessions)-1].Node != 2 {
		t.Errorf("the profile is used at %+v", r.Sessions)
	}
	if got := two.account(w); got != wholeLogin {
		t.Errorf("the profile at another node: %q", got)
	}
	two.do("session_close", nil)
	if r := answer[struct{ Profiles []session.Saved }](t, three, "profile_list", params{}); namesOf(r.Profiles) != "shop" || r.Profiles[0].Bytes == 0 {
		t.Errorf("%+v", r)
	}
	three.do("profile_delete", params{"name": "shop"})
	one.refused("profile_delete", params{"name": "shop"}, protocol.InvalidParams)
}

// storageKept waits until the fleet's database has the storage of a session's origins as it is now.
func storageKept(t *testing.T, f *fleet3, since []byte) (sealed []byte) {
	t.Helper()
	db, err := sql.Open("pgx", f.pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	await(t, func() bool {
		if err := db.QueryRow("SELECT COALESCE(storage, '') FROM sessions").Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		return !bytes.Equal(sealed, since) && len(sealed) > 0
	})
	return sealed
}

// The node of a session is killed that is logged in by local and session storage alone, and keeps
// its state. It goes on at another node as it was, and goes on keeping its state there.
func TestStorageOfALostNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_STATE__CHECKPOINT": "0"}) // the state is saved at the end alone
	w, other := newPageServer(t), newPageServer(t)
	const shows = `<h1>Account</h1><p id=said></p><script>said.textContent = "local " + localStorage.user + ", tab " + sessionStorage.user</script>`
	for _, on := range []*pageServer{w, other} {
		on.serve("/", page("account", shows), "")
	}
	w.serve("/login", page("login", `<h1>Login</h1><button onclick="localStorage.user = 'ann'; sessionStorage.user = 'here'; this.textContent = 'Welcome'">Log in</button>`), "")
	a := newAgent(t, f.nodes[1])
	a.do("session_open", params{"name": "work", "state": "shop", "keep": true})
	a.open(other.URL + "/")
	a.do("eval", params{"expression": "localStorage.user = 'other'"})
	was := storageKept(t, f, nil)
	a.open(w.URL + "/login")
	a.do("click", params{"ref": "role=button"})
	was = storageKept(t, f, was)
	a.open(w.URL + "/")
	if got := a.do("read", nil).Content; !strings.Contains(got, "local ann, tab here") {
		t.Fatalf("before the kill: %q", got)
	}
	f.nodes[0].Kill()
	e := a.refused("snapshot", nil, protocol.BrowserLost)
	restored, _ := e.Details["restored"].(map[string]any)
	if not := fmt.Sprint(restored["not"]); strings.Contains(not, "storage") || !strings.Contains(not, "refs") {
		t.Errorf("%v", e.Details)
	}
	if got := a.do("read", nil).Content; !strings.Contains(got, "local ann, tab here") {
		t.Errorf("after the kill: %q", got)
	}
	a.open(other.URL + "/")
	if got := a.do("read", nil).Content; !strings.Contains(got, "local other") {
		t.Errorf("another origin after the kill: %q", got)
	}
	b := newAgent(t, f.nodes[2])
	b.do("session_open", params{"name": "beside"})
	b.refused("state_save", params{"name": "shop"}, protocol.InUse)
	a.do("session_close", nil)
	b.do("state_load", params{"name": "shop"})
	b.open(w.URL + "/")
	if got := b.do("read", nil).Content; !strings.Contains(got, "local ann, tab here") {
		t.Errorf("from the state that was kept at the end: %q", got)
	}
}

// The node of a session with a profile is drained: the profile is sealed there and used at the next
// node, and nobody else has it in between. So is the state that a session keeps.
func TestAProfileMoves(t *testing.T) {
	t.Parallel()
	f := startFleet(t, nil)
	w := databaseSite(t)
	a, b := newAgent(t, f.nodes[1]), newAgent(t, f.nodes[2])
	a.do("session_open", params{"name": "work", "profile": "shop"})
	b.do("session_open", params{"name": "kept", "state": "shop", "keep": true})
	a.logIn(w)
	b.logIn(w)
	if _, err := f.nodes[0].Command("drain"); err != nil {
		t.Fatal(err)
	}
	if got := a.account(w); got != wholeLogin {
		t.Errorf("the profile after the drain: %q", got)
	}
	if got := b.account(w); got != stateLogin {
		t.Errorf("the state after the drain: %q", got)
	}
	b.refused("session_open", params{"profile": "shop"}, protocol.InUse)
	a.refused("session_open", params{"state": "shop", "keep": true}, protocol.InUse)
	a.do("session_close", params{"session": "work"})
	b.do("session_close", params{"session": "kept"})
	c := newAgent(t, f.nodes[0])
	c.do("session_open", params{"profile": "shop"})
	if got := c.account(w); got != wholeLogin {
		t.Errorf("the profile after the end: %q", got)
	}
	c.do("session_close", nil)
	c.do("session_open", params{"state": "shop"})
	if got := c.account(w); got != stateLogin {
		t.Errorf("the state after the end: %q", got)
	}
}

// A trace that one node made is listed, read and deleted at the others, over HTTP too.
func TestRecordingsAtAnyNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, nil)
	w := newPageServer(t)
	w.serve("/", page("Home", `<h1>Home</h1>`), "")
	a := newAgent(t, f.nodes[0])
	a.do("session_open", params{"name": "shop", "trace": true})
	a.open(w.URL + "/")
	a.do("session_close", nil)
	type list struct {
		Recordings []struct{ Name string }
		Size       int64
		Content    string
	}
	for n, d := range f.nodes {
		b := newAgent(t, d)
		all := answer[list](t, b, "recordings", params{})
		if len(all.Recordings) != 1 {
			t.Fatalf("node %d lists %+v", n+1, all)
		}
		one := answer[list](t, b, "recordings", params{"name": all.Recordings[0].Name, "max_chars": 8_000_000})
		if one.Size == 0 || !strings.HasPrefix(one.Content, "UEsDB") { // of a ZIP
			t.Errorf("node %d reads %+v", n+1, one)
		}
		if body := getAs(t, d, "/v1/recordings/"+all.Recordings[0].Name, d.Token); int64(len(body)) != one.Size || !strings.HasPrefix(body, "PK") {
			t.Errorf("node %d answers %d bytes, and the trace has %d", n+1, len(body), one.Size)
		}
		b.refused("recordings", params{"name": "none-1.zip"}, protocol.InvalidParams)
		if body := getAs(t, d, "/v1/recordings/none-1.zip", d.Token); !strings.Contains(body, "no such recording") {
			t.Errorf("node %d, of none: %s", n+1, body)
		}
	}
	b := newAgent(t, f.nodes[2])
	b.do("recordings", params{"name": answer[list](t, b, "recordings", params{}).Recordings[0].Name, "delete": true})
	if all := answer[list](t, a, "recordings", params{}); len(all.Recordings) != 0 {
		t.Errorf("after delete: %+v", all)
	}
}

// A piece of an exported profile is of the export that the client was answered, at whatever node it is asked for and
// whatever that one exported before.
func TestAPieceIsOfItsExport(t *testing.T) {
	t.Parallel()
	f := startFleet(t, nil)
	w := newPageServer(t)
	w.serve("/large", page("Large", `<p id=p></p><script>
		const b = new Uint8Array(7e6); for (let i = 0; i < b.length; i += 65536) crypto.getRandomValues(b.subarray(i, Math.min(i + 65536, b.length)));
		const r = indexedDB.open('large', 1); r.onupgradeneeded = () => r.result.createObjectStore('all');
		r.onsuccess = () => { const tx = r.result.transaction('all', 'readwrite', {durability: 'strict'}); tx.objectStore('all').put(b, 'b'); tx.oncomplete = () => p.textContent = 'stored' }
	</script>`), "")
	a := newAgent(t, f.nodes[0])
	a.do("session_open", params{"name": "own", "profile": "shop"})
	a.open(w.URL + "/large")
	a.do("wait", params{"text": "stored"})
	a.do("session_close", nil)
	type exported struct {
		Content     []byte
		Size        int64
		Export      string
		Next_Offset int64
	}
	given := params{"name": "shop", "passphrase": "correct horse battery staple"}
	third := newAgent(t, f.nodes[2])
	older := answer[exported](t, third, "profile_export", given)
	r := answer[exported](t, newAgent(t, f.nodes[1]), "profile_export", given)
	if older.Next_Offset == 0 || older.Size != r.Size {
		t.Fatalf("%d bytes, then %d", older.Size, r.Size)
	}
	if e := third.refused("profile_export", params{"name": "shop", "passphrase": given["passphrase"], "offset": r.Next_Offset}, protocol.InvalidParams); e.Next == "" {
		t.Errorf("of no export: %v", e)
	}
	whole := r.Content
	for r.Next_Offset != 0 {
		r = answer[exported](t, third, "profile_export", params{"name": "shop", "passphrase": given["passphrase"], "offset": r.Next_Offset, "export": r.Export})
		whole = append(whole, r.Content...)
	}
	if int64(len(whole)) != r.Size {
		t.Fatalf("%d bytes of %d", len(whole), r.Size)
	}
	const piece = 3_000_000
	for offset := 0; offset < len(whole); offset += piece {
		part := whole[offset:min(len(whole), offset+piece)]
		if err := third.c.Call(t.Context(), "profile_import", params{"name": "again", "passphrase": given["passphrase"], "content": part, "offset": offset, "more": offset+piece < len(whole)}, nil); err != nil {
			t.Fatalf("the piece at %d: %v", offset, err)
		}
	}
}

// What an agent was given at a node that is drained or killed stays hidden from it at the next one,
// and where it has run JavaScript it is given nothing there either.
func TestSecretsOfASessionThatMoves(t *testing.T) {
	t.Parallel()
	f := startFleet(t, nil)
	w, other := newPageServer(t), newPageServer(t)
	const echoes = `<label>Password <input type=password id=p oninput="localStorage.p = p.value"></label><p id=said></p><script>said.textContent = 'Welcome, ' + (localStorage.p || 'nobody')</script>`
	for _, on := range []*pageServer{w, other} {
		on.serve("/", page("form", echoes), "")
	}
	set := exec.Command(f.nodes[0].Binary(), "secret", "set", "shop", "--origin", w.URL, "--origin", other.URL)
	set.Env, set.Dir, set.Stdin = f.nodes[0].Environ(), f.nodes[0].Home, strings.NewReader("hunter2 correct horse")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a := newAgent(t, f.nodes[1])
	a.do("session_open", params{"name": "work"})
	a.open(other.URL + "/")
	a.do("eval", params{"expression": "1"})
	a.open(w.URL + "/")
	a.do("type", params{"ref": "label=Password", "text": "{{secret:shop}}"})
	hidden := func(when string) {
		t.Helper()
		a.open(w.URL + "/")
		if got := a.do("read", nil).Content; !strings.Contains(got, "Welcome, •••") || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q", when, got)
		}
		a.open(other.URL + "/")
		if e := a.refused("type", params{"ref": "label=Password", "text": "{{secret:shop}}"}, protocol.SecretDenied); e.Details["reason"] != "script" {
			t.Errorf("%s: %v", when, e.Details)
		}
	}
	hidden("at the first node")
	if _, err := f.nodes[0].Command("drain"); err != nil {
		t.Fatal(err)
	}
	hidden("at the second node, after a drain")
	storageKept(t, f, nil)
	at := fleetOf(t, f.nodes[2]).Sessions[0].Node
	f.nodes[at-1].Kill()
	a = newAgent(t, f.nodes[0])
	a.refused("snapshot", params{"session": "work"}, protocol.BrowserLost)
	hidden("at the third node, after a kill")
}

// Sessions that end while the database is silent lose neither the state that they keep nor their profile.
func TestSessionsEndWhileTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d := startNode(t, pg, "one", map[string]string{"BROWSERD_STATE__CHECKPOINT": "0"}) // the state is saved at the end alone
	w := databaseSite(t)
	keeps, has := newAgent(t, d), newAgent(t, d)
	keeps.do("session_open", params{"name": "keeps", "state": "shop", "keep": true})
	keeps.logIn(w)
	has.do("session_open", params{"name": "has", "profile": "shop"})
	has.logIn(w)
	pg.Freeze(t)
	var both sync.WaitGroup
	closes := func(a *agent, what, mayBe string) {
		both.Go(func() {
			var r struct{ Note string }
			err := a.c.Call(t.Context(), "session_close", params{}, &r)
			// Where the answer comes before the node has its lease again, it does not say what became of it.
			if err != nil && protocol.CodeOf(err) != protocol.OutcomeUnknown || r.Note != "" && (mayBe == "" || !strings.Contains(r.Note, mayBe)) {
				t.Errorf("%s: %q, %v", what, r.Note, err)
			}
		})
	}
	closes(keeps, "the state", "is still being kept")
	closes(has, "the profile", "is still being sealed")
	until(t, time.Minute, "the database to be missed", func() bool {
		return strings.Contains(d.Log(), "is not kept yet\" session=keeps") && strings.Contains(d.Log(), "a profile is not sealed yet")
	})
	pg.Thaw(t)
	both.Wait()
	a := newAgent(t, d)
	a.do("session_open", params{"name": "again"})
	until(t, time.Minute, "the state", func() bool {
		_, err := a.try("state_load", params{"name": "shop"})
		return err == nil
	})
	if got := a.account(w); got != stateLogin {
		t.Errorf("the state: %q", got)
	}
	until(t, time.Minute, "the profile", func() bool {
		_, err := has.try("session_open", params{"name": "sealed", "profile": "shop"})
		return err == nil
	})
	if got := has.account(w); got != wholeLogin {
		t.Errorf("the profile: %q", got)
	}
}

// A node that is stopped while the database is silent waits a while for it with what its sessions kept.
func TestANodeIsStoppedWhileTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	d := startNode(t, pg, "one", map[string]string{"BROWSERD_STATE__CHECKPOINT": "0"})
	w := databaseSite(t)
	a := newAgent(t, d)
	a.do("session_open", params{"name": "keeps", "state": "shop", "keep": true})
	a.logIn(w)
	pg.Freeze(t)
	closing := make(chan struct{})
	go func() {
		defer close(closing)
		a.c.Call(t.Context(), "session_close", params{}, nil) // it ends with the daemon
	}()
	until(t, time.Minute, "the database to be missed", func() bool { return strings.Contains(d.Log(), "is not kept yet\" session=keeps") })
	if err := syscall.Kill(d.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, 30*time.Second, "Chromium's end", func() bool { return len(d.Chromium("browser")) == 0 })
	select { // what else it does at its end takes less
	case <-d.Exited():
		t.Error("it has ended without the state")
	case <-time.After(2 * time.Second):
	}
	pg.Thaw(t)
	<-d.Exited()
	<-closing
	b := newAgent(t, startNode(t, pg, "two", nil))
	b.do("session_open", params{"name": "again"})
	b.do("state_load", params{"name": "shop"})
	if got := b.account(w); got != stateLogin {
		t.Errorf("the state: %q", got)
	}
}

// session.upload_bytes_per_agent is the fleet's: what an agent's session at one node keeps leaves less for its session
// at another, until it is closed.
func TestUploadsOfAFleet(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	limits := map[string]string{"BROWSERD_SESSION__MAX": "1", "BROWSERD_SESSION__UPLOAD_BYTES_PER_AGENT": "100000"}
	d, e := startNode(t, pg, "one", limits), startNode(t, pg, "two", limits)
	w := newPageServer(t)
	w.serve("/page", page("files", `<input type=file aria-label=File>`), "")
	upload := params{"ref": `role=button[name="File"]`, "files": []params{{"name": "f.bin", "base64": base64.StdEncoding.EncodeToString(make([]byte, 60_000))}}, "snapshot": "none"}
	a, b := newAgent(t, d), newAgent(t, e)
	a.open(w.URL + "/page")
	a.do("upload", upload)
	b.open(w.URL + "/page") // at the other node: the first one is full
	refused := b.refused("upload", upload, protocol.TooLarge)
	if refused.Details["quota"] != "session.upload_bytes_per_agent" || refused.Details["limit"] != 100000.0 || refused.Details["size"] != 120000.0 {
		t.Errorf("%v", refused.Details)
	}
	a.do("session_close", nil)
	await(t, func() bool {
		_, err := b.try("upload", upload)
		return err == nil
	})
}

// An import by pieces that is begun again at another node goes on from there, also where its next pieces come to the first one.
func TestAPieceIsOfItsImport(t *testing.T) {
	t.Parallel()
	f := startFleet(t, nil)
	w := newPageServer(t)
	w.serve("/", page("Home", `<h1>Home</h1>`), "")
	a := newAgent(t, f.nodes[0])
	a.do("session_open", params{"name": "own", "profile": "shop"})
	a.open(w.URL + "/")
	a.do("session_close", nil)
	export := func() []byte {
		t.Helper()
		r := answer[struct {
			Content     []byte
			Next_Offset int64
		}](t, a, "profile_export", params{"name": "shop", "passphrase": "correct horse battery staple"})
		if r.Next_Offset != 0 {
			t.Fatal("the export has several pieces")
		}
		return r.Content
	}
	before, whole := export(), export()
	third := len(whole) / 3
	piece := func(node int, of []byte, number int) error {
		to := min(len(of), (number+1)*third)
		if number == 2 {
			to = len(of)
		}
		return newAgent(t, f.nodes[node]).c.Call(t.Context(), "profile_import", params{
			"name": "again", "passphrase": "correct horse battery staple", "content": of[number*third : to], "offset": number * third, "more": number < 2,
		}, nil)
	}
	for i, p := range []struct {
		node   int
		of     []byte
		number int
	}{{0, before, 0}, {1, whole, 0}, {0, whole, 1}, {2, whole, 2}} {
		if err := piece(p.node, p.of, p.number); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	a.do("session_open", params{"name": "own", "profile": "again"})
}
