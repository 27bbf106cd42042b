package e2e_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

// asking is a script that uses what needs a permission, and tells what came of it.
const asking = `(async () => {
	const state = async (name) => { try { return (await navigator.permissions.query({name})).state } catch (e) { return e.name } };
	const out = {};
	for (const n of ['geolocation', 'camera', 'microphone', 'notifications', 'clipboard-read', 'clipboard-write', 'midi', 'persistent-storage', 'screen-wake-lock']) out[n] = await state(n);
	out.position = await new Promise((done) => navigator.geolocation.getCurrentPosition((p) => done([p.coords.latitude, p.coords.longitude]), (e) => done('code ' + e.code), {timeout: 3000}));
	out.media = await navigator.mediaDevices.getUserMedia({video: true}).then(() => 'given', () => 'refused'); // without a camera the reason is that there is none
	out.notify = await Notification.requestPermission();
	out.clipboard = await navigator.clipboard.readText().then(() => 'given', (e) => e.name);
	return out;
})()`

// Whatever a page asks for is denied, at once and without a prompt; a session
// that was opened with a permission has that one and no other.
func TestPermissions(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/page", page("permissions", `<h1>Permissions</h1>`), "")
	a := newAgent(t, d)
	a.open(w.alt() + "/page")
	denied := map[string]any{
		"geolocation": "denied", "camera": "denied", "microphone": "denied", "notifications": "denied", "clipboard-read": "denied", "clipboard-write": "denied",
		"midi": "denied", "persistent-storage": "denied", "screen-wake-lock": "denied",
		"position": "code 1", "media": "refused", "notify": "denied", "clipboard": "NotAllowedError",
	}
	if diff := cmp.Diff(a.do("eval", params{"expression": asking}).Value, any(denied)); diff != "" {
		t.Errorf("without permissions, got before want:\n%s", diff)
	}

	b := newAgent(t, d)
	b.do("session_open", params{"permissions": []string{"notifications", "screen-wake-lock"}})
	b.open(w.alt() + "/page")
	given := map[string]any{}
	for k, v := range denied {
		given[k] = v
	}
	given["notifications"], given["screen-wake-lock"], given["notify"] = "granted", "granted", "granted"
	if diff := cmp.Diff(b.do("eval", params{"expression": asking}).Value, any(given)); diff != "" {
		t.Errorf("with two permissions, got before want:\n%s", diff)
	}
	e := b.refused("session_open", params{"permissions": []string{"usb"}}, protocol.InvalidParams)
	if e.Details["parameter"] != "permissions" || e.Details["permissions"] == nil {
		t.Errorf("%v", e.Details)
	}
}
