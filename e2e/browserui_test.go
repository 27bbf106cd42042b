package e2e_test

import (
	"fmt"
	"html"
	"os"
	"strings"
	"testing"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/internal/testdaemon"
)

// What in the full browser opens something of the browser's own, for a person to answer.
var browserUI = []struct{ name, js string }{
	{"screen", `navigator.mediaDevices.getDisplayMedia()`},
	{"this tab", `navigator.mediaDevices.getDisplayMedia({preferCurrentTab: true})`},
	{"open file", `showOpenFilePicker()`},
	{"save file", `showSaveFilePicker()`},
	{"directory", `showDirectoryPicker()`},
	{"print", `print()`},
	{"payment", `new PaymentRequest([{supportedMethods: 'https://pay.example/'}], {total: {label: 't', amount: {currency: 'EUR', value: '1'}}}).show()`},
	{"passkey", `navigator.credentials.get({publicKey: {challenge: new Uint8Array(16), timeout: 600000}})`},
	{"new passkey", `navigator.credentials.create({publicKey: {challenge: new Uint8Array(16), rp: {name: 'r'}, user: {id: new Uint8Array(8), name: 'u', displayName: 'u'}, pubKeyCredParams: [{type: 'public-key', alg: -7}], timeout: 600000}})`},
	{"store password", `navigator.credentials.store(new PasswordCredential({id: 'u', password: 'p'}))`},
	{"USB", `navigator.usb.requestDevice({filters: []})`},
	{"serial", `navigator.serial.requestPort()`},
	{"HID", `navigator.hid.requestDevice({filters: []})`},
	{"Bluetooth", `navigator.bluetooth.requestDevice({acceptAllDevices: true})`},
	{"eye dropper", `new EyeDropper().open()`},
	{"share", `navigator.share({text: 't'})`},
	{"protocol handler", `navigator.registerProtocolHandler('web+x', location.origin + '/%s')`},
	{"mail", `location = 'mailto:a@b.example'`},
	{"other program", `location = 'vscode://x'`},
	{"video call", `location = 'zoommtg://x'`},
	{"location", `navigator.geolocation.getCurrentPosition(() => {})`},
	{"notifications", `Notification.requestPermission()`},
	{"MIDI", `navigator.requestMIDIAccess({sysex: true})`},
	{"camera", `navigator.mediaDevices.getUserMedia({video: true})`},
	{"storage access", `document.requestStorageAccess()`},
	{"windows", `getScreenDetails()`},
	{"fonts", `queryLocalFonts()`},
	{"idle", `IdleDetector.requestPermission()`},
	{"full screen", `document.documentElement.requestFullscreen()`},
	{"pointer lock", `document.body.requestPointerLock()`},
	{"keyboard lock", `navigator.keyboard.lock()`},
	{"picture in picture", `documentPictureInPicture.requestWindow()`},
	{"colour", `document.getElementById('colour').showPicker()`},
	{"date", `document.getElementById('date').showPicker()`},
	{"file", `document.getElementById('file').showPicker()`},
	{"list", `document.getElementById('list').showPicker()`},
	{"clipboard", `navigator.clipboard.read()`},
	{"digital credential", `navigator.credentials.get({digital: {requests: [{protocol: 'openid4vp', data: {}}]}})`},
	{"presentation", `new PresentationRequest('/p').start()`},
}

// Nobody sees the browser's own windows: a page that has the browser ask something by one stays
// usable, gets nothing, and starts no program. In the full browser such a window holds up all
// input of its tab.
func TestBrowserUIHoldsNothing(t *testing.T) {
	t.Parallel()
	path, started := decoys(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"PATH": path}})
	w := newPageServer(t)
	a := newAgent(t, d)
	for i, c := range browserUI {
		t.Run(c.name, func(t *testing.T) {
			path := fmt.Sprintf("/ui/%d", i)
			w.serve(path, page(c.name, `<button onclick="(async () => { const got = x => { window.got = String(x); this.textContent = 'Asked' }; try { got(await (`+html.EscapeString(c.js)+`)) } catch (e) { got(e) } })()">Ask</button>
				<button onclick="this.textContent = 'Done'">Next</button>
				<input id=colour type=color><input id=date type=date><input id=file type=file><select id=list><option>a<option>b</select>`), "")
			a.open(w.alt() + path)
			s := a.snapshot()
			a.do("click", click(s.ref(t, "button", "Ask"), nil))
			a.do("click", click(s.ref(t, "button", "Next"), nil))
			a.snapshot().ref(t, "button", "Done")
			got, _ := a.do("eval", params{"expression": "'got' in window ? got : 'left unanswered'"}).Value.(string)
			t.Log(got)
			if missing := strings.HasPrefix(got, "ReferenceError") || strings.HasPrefix(got, "TypeError"); missing && !foundChromium(t).Shell && c.name != "Bluetooth" && c.name != "share" { // Chromium has these two on other systems
				t.Errorf("the call itself fails: %s", got)
			}
			if strings.Contains(got, "[object") && c.name != "picture in picture" { // that window is the page's own
				t.Errorf("it was given %s", got)
			}
		})
	}
	d.Stop()
	if list := started(); len(list) > 0 {
		t.Errorf("programs were started: %q", list)
	}
}

// foundChromium is the build that daemons of these tests start.
func foundChromium(t testing.TB) chromium.Found {
	t.Helper()
	found, err := chromium.Find(chromium.Config{Path: os.Getenv("BROWSERD_BROWSER__PATH"), Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
