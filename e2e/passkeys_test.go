package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

type passkeyAnswer struct {
	result
	Passkeys []passkeyOf `json:"passkeys"`
	Note     string      `json:"note"`
}

type passkeyOf struct {
	Made bool   `json:"made"`
	ID   string `json:"id"`
	RPID string `json:"rp_id"`
	User string `json:"user"`
}

// passkeySite is a site with passkeys: it checks each signature with the public key that it was given,
// by WebCrypto, as a server would. It keeps that key in the address, so that no session has to.
const passkeySite = `<!doctype html><meta charset=utf-8><title>Passkeys</title><h1>Passkeys</h1>
<button id=make>Create a passkey</button><button id=use>Sign in with a passkey</button><p id=says role=status></p><p id=offers></p>
<script>
const hex = b => Array.from(new Uint8Array(b), x => x.toString(16).padStart(2, '0')).join('');
const bytes = h => new Uint8Array(h.match(/../g).map(x => parseInt(x, 16)));
const say = t => says.textContent = t;
PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().then(is => offers.textContent = is ? 'This device has passkeys.' : 'No passkeys here.');
make.onclick = async () => {
	try {
		const c = await navigator.credentials.create({publicKey: {challenge: crypto.getRandomValues(new Uint8Array(32)), rp: {name: 'Shop'},
			user: {id: new Uint8Array([1, 2, 3]), name: 'ann@shop.example', displayName: 'Ann'}, pubKeyCredParams: [{type: 'public-key', alg: -7}],
			authenticatorSelection: {residentKey: 'required', userVerification: 'required'}, timeout: 600000}});
		say('made');
		location.hash = hex(c.response.getPublicKey());
	} catch (e) { say('failed: ' + e.name); }
};
use.onclick = async () => {
	try {
		const challenge = crypto.getRandomValues(new Uint8Array(32));
		const c = await navigator.credentials.get({publicKey: {challenge, userVerification: 'required', timeout: 600000}});
		const r = c.response, client = JSON.parse(new TextDecoder().decode(r.clientDataJSON));
		const key = await crypto.subtle.importKey('spki', bytes(location.hash.slice(1)), {name: 'ECDSA', namedCurve: 'P-256'}, false, ['verify']);
		const signed = new Uint8Array([...new Uint8Array(r.authenticatorData), ...new Uint8Array(await crypto.subtle.digest('SHA-256', r.clientDataJSON))]);
		// The signature is DER (RFC 3279): two integers, of which WebCrypto takes 32 bytes each.
		const der = new Uint8Array(r.signature), raw = new Uint8Array(64);
		for (let at = 2, n = 0; n < 2; n++) { const l = der[at + 1], v = der.slice(at + 2, at + 2 + l).slice(-32); raw.set(v, 32 * (n + 1) - v.length); at += 2 + l; }
		const right = await crypto.subtle.verify({name: 'ECDSA', hash: 'SHA-256'}, key, raw, signed);
		const count = new DataView(r.authenticatorData).getUint32(33);
		say([right ? 'signed' : 'forged', client.origin === location.origin, hex(r.userHandle), count].join(' '));
	} catch (e) { say('failed: ' + e.name); }
};
</script>`

// A passkey is made on one site and signs in there, in another session and after a restart of
// the daemon; pages get none but by the command passkey, and no other site has it.
func TestPasskeys(t *testing.T) {
	aboutOneProcess(t, "it looks at the file of passkeys, and starts again in the home of the first")
	t.Parallel()
	env := map[string]string{"BROWSERD_STATE__KEY": "a passphrase of the tests"}
	d := testdaemon.Start(t, testdaemon.Options{Env: env})
	site := newPageServer(t)
	site.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, passkeySite) })
	site.mux.HandleFunc("/framed", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<!doctype html><title>Frame</title><iframe src="%s/" allow="publickey-credentials-get *; publickey-credentials-create *" width=800 height=400></iframe>`, site.alt())
	})
	button := func(name string) params { return params{"ref": params{"role": "button", "name": name}} }
	says := func(a *agent) string {
		return ask[result](a, "read", params{"ref": "css=#says"}).Content
	}

	a := newAgent(t, d)
	a.do("session_open", params{"passkeys": true})
	a.do("open", params{"url": site.alt() + "/"})
	a.do("wait", params{"text": "This device has passkeys."})
	// Without the command a page waits for a person.
	a.do("click", button("Create a passkey"))
	if got := says(a); got != "" {
		t.Errorf("a click alone: the page says %q", got)
	}
	a.do("reload", nil)

	made := ask[passkeyAnswer](a, "passkey", button("Create a passkey"))
	if len(made.Passkeys) != 1 || !made.Passkeys[0].Made || made.Passkeys[0].RPID != "localhost" || made.Passkeys[0].User != "ann@shop.example" {
		t.Fatalf("made %+v, %q; the page says %q", made.Passkeys, made.Note, says(a))
	}
	if got := says(a); got != "made" {
		t.Errorf("after making one the page says %q", got)
	}
	key := made.Page.URL
	if !strings.Contains(key, "#") {
		key = ask[result](a, "snapshot", nil).Page.URL
	}
	used := ask[passkeyAnswer](a, "passkey", button("Sign in with a passkey"))
	if got := says(a); !strings.HasPrefix(got, "signed true 010203 ") {
		t.Errorf("used in the same session: the page says %q (%+v)", got, used.Passkeys)
	}
	a.do("click", button("Sign in with a passkey"))
	if got := says(a); !strings.HasPrefix(got, "signed ") {
		t.Errorf("after a click alone the page says %q", got)
	}

	// Nothing of it is legible on the disk.
	var files int
	filepath.WalkDir(filepath.Join(d.Home, "state", "browserd", "passkeys"), func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Base(path) == ".lock" {
			return err
		}
		files++
		content, _ := os.ReadFile(path)
		if !strings.HasPrefix(string(content), "browserd state 1\n") || strings.Contains(string(content), "localhost") {
			t.Errorf("%s is not sealed", path)
		}
		return nil
	})
	if files != 1 {
		t.Errorf("%d files of passkeys, want 1", files)
	}

	d.Stop()
	d = testdaemon.Start(t, testdaemon.Options{Env: env, Home: d.Home})
	a = newAgent(t, d)
	list := ask[passkeyAnswer](a, "passkey_list", nil).Passkeys
	want := []passkeyOf{{ID: made.Passkeys[0].ID, RPID: "localhost", User: "ann@shop.example"}}
	if diff := cmp.Diff(list, want); diff != "" {
		t.Errorf("passkey_list after a restart, got before want:\n%s", diff)
	}
	a.do("open", params{"url": key})
	used = ask[passkeyAnswer](a, "passkey", button("Sign in with a passkey"))
	first := says(a)
	if !strings.HasPrefix(first, "signed true 010203 ") || len(used.Passkeys) != 1 || used.Passkeys[0].Made {
		t.Errorf("after a restart the page says %q (%+v)", first, used)
	}
	// The count of signatures goes on in the next session.
	b := newAgent(t, d)
	b.do("open", params{"url": key})
	ask[passkeyAnswer](b, "passkey", button("Sign in with a passkey"))
	if got := says(b); got <= first || !strings.HasPrefix(got, "signed ") {
		t.Errorf("in the next session the page says %q after %q", got, first)
	}
	// In a frame of another site, the frame's site has it.
	b.do("open", params{"url": site.URL + "/framed"})
	framed := ask[passkeyAnswer](b, "passkey", button("Create a passkey"))
	if len(framed.Passkeys) != 1 || framed.Passkeys[0].RPID != "localhost" {
		t.Errorf("in a frame: %+v %q", framed.Passkeys, framed.Note)
	}
	// Another site: none fits (127.0.0.1 can have none at all: an address is no RP ID).
	b.do("open", params{"url": site.URL + "/"})
	other := ask[passkeyAnswer](b, "passkey", params{"ref": button("Sign in with a passkey")["ref"], "wait_ms": 500})
	if len(other.Passkeys) != 0 || other.Note == "" {
		t.Errorf("another site: %+v %q", other.Passkeys, other.Note)
	}
	// It has replaced the one before: it is for the same user.
	list = ask[passkeyAnswer](b, "passkey_list", nil).Passkeys
	if len(list) != 1 || len(framed.Passkeys) != 1 || list[0].ID != framed.Passkeys[0].ID {
		t.Fatalf("after another one for the same user: %+v, want that of %+v", list, framed.Passkeys)
	}
	b.do("passkey_delete", params{"id": list[0].ID})
	b.refused("passkey_delete", params{"id": list[0].ID}, protocol.InvalidParams)
	b.do("open", params{"url": key})
	gone := ask[passkeyAnswer](b, "passkey", params{"ref": button("Sign in with a passkey")["ref"], "wait_ms": 500})
	if len(gone.Passkeys) != 0 {
		t.Errorf("after passkey_delete: %+v", gone.Passkeys)
	}
}

// Under supervision an operator decides before a page gets a passkey; a read_only agent gets none, and
// no agent another's.
func TestPasskeysConfirmed(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_STATE__KEY": "a passphrase of the tests"})
	site := newPageServer(t)
	site.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, passkeySite) })
	agent, operator, reader := as(t, d, ann), as(t, d, olga), as(t, d, bob)
	agent.open(site.alt() + "/")
	for _, allow := range []bool{false, true} {
		sent := agent.send("passkey", params{"ref": "role=button[name=\"Create a passkey\"]"})
		q := operator.asked()
		if q["command"] != "passkey" || q["origin"] != site.alt() || q["name"] != "Create a passkey" {
			t.Errorf("the operator is asked %v", q)
		}
		operator.do("confirm", params{"id": q["id"], "allow": allow})
		if _, err := agent.wait(sent); allow != (err == nil) {
			t.Errorf("allow %v: %v", allow, err)
		}
		list := ask[passkeyAnswer](agent, "passkey_list", nil).Passkeys
		if len(list) == 1 != allow {
			t.Errorf("allow %v: %+v are kept", allow, list)
		}
	}
	if list := ask[passkeyAnswer](reader, "passkey_list", nil).Passkeys; len(list) != 0 {
		t.Errorf("another agent has %+v", list)
	}
	reader.open(site.alt() + "/")
	reader.refused("passkey", params{"ref": "css=#use"}, protocol.PolicyDenied)
}

// Without a key to seal them with there are no passkeys.
func TestPasskeysNeedAKey(t *testing.T) {
	aboutOneProcess(t, "a daemon without state.key")
	t.Parallel()
	a := newAgent(t, testdaemon.Start(t, testdaemon.Options{}))
	a.refused("session_open", params{"passkeys": true}, protocol.Unsupported)
	a.refused("passkey", params{"ref": "css=body"}, protocol.Unsupported)
	a.refused("passkey_list", nil, protocol.Unsupported)
}
