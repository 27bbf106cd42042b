package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"

	"github.com/browserd/browserd/browser/cdp"
)

const path = "/devtools/browser/0a1b2c3d-0000-1111-2222-333344445555"

// profile makes a user data directory with that content of the port file, which the process pid uses.
func profile(t *testing.T, content string, pid int) string {
	dir := filepath.Join(t.TempDir(), "profile")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, portFile), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fmt.Sprint("host-with-dashes-", pid), filepath.Join(dir, "SingletonLock")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Find returns only the port of the Chromium that uses the directory, and only if both are the user's own.
func TestFind(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	content := fmt.Sprintf("%d\n%s", port, path)
	if got, err := Find(profile(t, content, os.Getpid())); err != nil || got != fmt.Sprintf("ws://127.0.0.1:%d%s", port, path) {
		t.Errorf("%s %v", got, err)
	}
	// Chromium creates the file before it writes it.
	starting := profile(t, "", os.Getpid())
	time.AfterFunc(writeTimeout/5, func() { os.WriteFile(filepath.Join(starting, portFile), []byte(content), 0o600) })
	if got, err := Find(starting); err != nil || got != fmt.Sprintf("ws://127.0.0.1:%d%s", port, path) {
		t.Errorf("a file that is written: %s %v", got, err)
	}
	for name, dir := range map[string]string{
		"another program has the port":  profile(t, content, os.Getppid()),
		"its Chromium has ended":        profile(t, content, 1<<22+1),
		"the port is nobody's":          profile(t, "1\n"+path, os.Getpid()),
		"another host":                  profile(t, "9222@evil.example:80\n"+path, os.Getpid()),
		"no port":                       profile(t, "0\n"+path, os.Getpid()),
		"another path":                  profile(t, fmt.Sprintf("%d\n/devtools/page/1", port), os.Getpid()),
		"a path that leads elsewhere":   profile(t, fmt.Sprintf("%d\n%s/../../x", port, path), os.Getpid()),
		"more lines":                    profile(t, content+"\nmore\n", os.Getpid()),
		"empty":                         profile(t, "", os.Getpid()),
		"there is none":                 t.TempDir(),
		"there is no directory":         filepath.Join(t.TempDir(), "none"),
		"no Chromium has the directory": func() string { d := profile(t, content, 1); os.Remove(filepath.Join(d, "SingletonLock")); return d }(),
		"others may write the file": func() string {
			d := profile(t, content, os.Getpid())
			os.Chmod(filepath.Join(d, portFile), 0o666)
			return d
		}(),
		"others may write the directory": func() string { d := profile(t, content, os.Getpid()); os.Chmod(d, 0o777); return d }(),
		"a link": func() string {
			d := profile(t, content, os.Getpid())
			os.Rename(filepath.Join(d, portFile), filepath.Join(d, "real"))
			os.Symlink("real", filepath.Join(d, portFile))
			return d
		}(),
	} {
		if got, err := Find(dir); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
	if os.Getuid() == 0 {
		dir := profile(t, content, os.Getpid())
		if err := os.Chown(filepath.Join(dir, portFile), 12345, -1); err != nil {
			t.Fatal(err)
		}
		if got, err := Find(dir); err == nil {
			t.Errorf("another user's file: %s", got)
		}
	}
}

// chromium is the other end of a transport: it keeps what it is sent, and sends what a test tells it to.
type chromium struct {
	sent chan *cdp.Message
	says chan *cdp.Message
}

func (c *chromium) Read(ctx context.Context, m *cdp.Message) error {
	got, ok := <-c.says
	if !ok {
		return io.EOF
	}
	*m = *got
	return nil
}

func (c *chromium) Write(_ context.Context, m *cdp.Message) error { c.sent <- m; return nil }

func (c *chromium) Close() error { return nil }

// No command reaches the person's tabs or what their profile keeps, and no event of theirs comes back.
func TestOnly(t *testing.T) {
	c := &chromium{sent: make(chan *cdp.Message, 100), says: make(chan *cdp.Message, 100)} // more than are sent
	only := Only(c)
	t.Cleanup(func() { only.Close(); close(c.says) })
	next := int64(0)
	send := func(session, method, params string) {
		next++
		m := &cdp.Message{ID: next, Method: cdproto.MethodType(method), Params: []byte(params)}
		m.SessionID = "" + m.SessionID
		if session != "" {
			json.Unmarshal([]byte(`"`+session+`"`), &m.SessionID)
		}
		if err := only.Write(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	heard := func() *cdp.Message {
		t.Helper()
		got := make(chan *cdp.Message, 1) // one
		go func() { m := new(cdp.Message); only.Read(t.Context(), m); got <- m }()
		select {
		case m := <-got:
			return m
		case <-time.After(10 * time.Second):
			t.Fatal("nothing was heard")
			return nil
		}
	}
	took := func() *cdp.Message {
		t.Helper()
		select {
		case m := <-c.sent:
			return m
		case <-time.After(10 * time.Second):
			t.Fatal("nothing was sent")
			return nil
		}
	}
	says := func(session, method, params string) {
		m := &cdp.Message{Method: cdproto.MethodType(method), Params: []byte(params)}
		if session != "" {
			json.Unmarshal([]byte(`"`+session+`"`), &m.SessionID)
		}
		c.says <- m
	}

	// A session's context, and a tab in it.
	send("", "Target.createBrowserContext", `{}`)
	var made struct{ BrowserContextID string }
	if m := heard(); json.Unmarshal(m.Result, &made) != nil || !IsContext(made.BrowserContextID) {
		t.Fatalf("%+v", m)
	}
	says("", "Target.targetCreated", `{"targetInfo":{"targetId":"THEIRS","type":"page","url":"https://bank.example","browserContextId":"P"}}`)
	send("", "Target.createTarget", `{"url":"about:blank","browserContextId":"`+made.BrowserContextID+`"}`)
	create := took()
	if strings.Contains(string(create.Params), "browserContextId") || create.Method != "Target.createTarget" {
		t.Errorf("%s %s", create.Method, create.Params)
	}
	c.says <- &cdp.Message{ID: create.ID, Result: []byte(`{"targetId":"OURS"}`)}
	attach := took()
	if attach.Method != "Target.attachToTarget" || !strings.Contains(string(attach.Params), "OURS") {
		t.Errorf("%s %s", attach.Method, attach.Params)
	}
	says("", "Target.attachedToTarget", `{"sessionId":"S1","targetInfo":{"targetId":"OURS","type":"page","browserContextId":"P"},"waitingForDebugger":false}`)
	c.says <- &cdp.Message{ID: attach.ID, Result: []byte(`{"sessionId":"S1"}`)}
	if m := heard(); m.Method != "Target.attachedToTarget" || !strings.Contains(string(m.Params), made.BrowserContextID) {
		t.Errorf("first %s %s", m.Method, m.Params)
	}
	if m := heard(); m.ID != next || m.Error != nil {
		t.Errorf("then %+v", m)
	}

	// What is not for a person's browser is answered with an error, and not sent.
	for _, x := range [][3]string{
		{"", "Target.closeTarget", `{"targetId":"THEIRS"}`}, {"", "Target.attachToTarget", `{"targetId":"THEIRS","flatten":true}`}, {"", "Target.activateTarget", `{"targetId":"THEIRS"}`},
		{"", "Target.getTargetInfo", `{"targetId":"THEIRS"}`}, {"", "Target.getTargetInfo", `{}`}, {"", "Target.getTargets", `{}`}, {"", "Target.attachToBrowserTarget", `{}`}, {"", "Target.autoAttachRelated", `{"targetId":"THEIRS","waitForDebuggerOnStart":false}`},
		{"", "Target.exposeDevToolsProtocol", `{"targetId":"OURS"}`}, {"", "Target.setRemoteLocations", `{}`}, {"", "Target.createTarget", `{"url":"https://bank.example"}`}, {"", "Target.createTarget", `{"url":"about:blank","browserContextId":"P"}`},
		{"", "Storage.getCookies", `{}`}, {"", "Storage.setCookies", `{"cookies":[]}`}, {"", "Storage.clearCookies", `{}`}, {"", "Browser.close", `{}`}, {"", "Browser.crash", `{}`}, {"", "Browser.getWindowForTarget", `{"targetId":"THEIRS"}`},
		{"", "Browser.grantPermissions", `{"permissions":["geolocation"]}`}, {"", "Browser.setDownloadBehavior", `{"behavior":"allow","downloadPath":"/tmp"}`}, {"", "Browser.executeBrowserCommand", `{"commandId":"openTabSearch"}`}, {"", "SystemInfo.getProcessInfo", `{}`},
		{"", "Tracing.start", `{}`}, {"", "Extensions.loadUnpacked", `{"path":"/tmp"}`}, {"", "Runtime.evaluate", `{"expression":"1"}`}, {"", "Target.closeTarget", `{"targetId":["THEIRS"]}`}, {"", "Target.sendMessageToTarget", `{"targetId":"THEIRS","message":"{}"}`},
		{"S9", "Runtime.evaluate", `{"expression":"1"}`}, {"S1", "Network.getCookies", `{}`}, {"S1", "Network.getAllCookies", `{}`}, {"S1", "Network.setCookie", `{}`}, {"S1", "Network.clearBrowserCookies", `{}`}, {"S1", "Network.clearBrowserCache", `{}`},
		{"S1", "Storage.getCookies", `{}`}, {"S1", "Storage.clearDataForOrigin", `{"origin":"*","storageTypes":"all"}`}, {"S1", "Target.getTargets", `{}`}, {"S1", "Target.attachToTarget", `{"targetId":"THEIRS"}`}, {"S1", "Target.closeTarget", `{"targetId":"THEIRS"}`},
		{"S1", "Browser.close", `{}`}, {"S1", "Page.setDownloadBehavior", `{"behavior":"allow"}`}, {"S1", "Page.getCookies", `{}`}, {"S1", "Network.loadNetworkResource", `{"url":"file:///etc/passwd"}`}, {"S1", "IndexedDB.deleteDatabase", `{}`}, {"S1", "Autofill.trigger", `{}`},
	} {
		send(x[0], x[1], x[2])
		if m := heard(); m.ID != next || m.Error == nil {
			t.Errorf("%v was answered %+v", x, m)
		}
	}
	// What would change the person's settings is answered as done, and not sent.
	for _, x := range [][2]string{
		{"Target.setAutoAttach", `{"autoAttach":true}`}, {"Browser.grantPermissions", `{"permissions":[]}`}, {"Browser.setDownloadBehavior", `{"behavior":"deny"}`},
	} {
		send("", x[0], x[1])
		if m := heard(); m.ID != next || m.Error != nil {
			t.Errorf("%v was answered %+v", x, m)
		}
	}
	if len(c.sent) > 0 {
		t.Errorf("it was sent %+v", <-c.sent)
	}
	send("S1", "Runtime.evaluate", `{"expression":"1"}`)
	if m := took(); m.Method != "Runtime.evaluate" {
		t.Errorf("%+v", m)
	}

	// Events of the person's tabs are dropped; a window that the session's page opens is the session's.
	for _, x := range [][3]string{
		{"", "Target.targetInfoChanged", `{"targetInfo":{"targetId":"THEIRS","type":"page","url":"https://bank.example/2"}}`}, {"", "Target.targetDestroyed", `{"targetId":"THEIRS"}`}, {"", "Target.targetCrashed", `{"targetId":"THEIRS"}`},
		{"", "Browser.downloadWillBegin", `{"frameId":"F","guid":"G","url":"https://bank.example/x"}`}, {"S9", "Page.frameNavigated", `{}`}, {"", "Target.attachedToTarget", `{"sessionId":"S9","targetInfo":{"targetId":"THEIRS","type":"page"}}`},
		{"", "Target.detachedFromTarget", `{"sessionId":"S9"}`}, {"", "Target.targetCreated", `{"targetInfo":{"targetId":"THEIRS2","openerId":"THEIRS","type":"page"}}`},
		{"", "Target.targetCreated", `{"targetInfo":{"targetId":"POPUP","openerId":"OURS","type":"page"}}`},
	} {
		says(x[0], x[1], x[2])
	}
	if m := took(); m.Method != "Target.attachToTarget" || !strings.Contains(string(m.Params), "POPUP") {
		t.Errorf("%+v", m)
	}
	says("S1", "Page.loadEventFired", `{}`)
	if m := heard(); m.Method != "Page.loadEventFired" {
		t.Errorf("%s %s was received", m.Method, m.Params)
	}

	// The end of the session closes its tabs.
	send("", "Target.disposeBrowserContext", `{"browserContextId":"`+made.BrowserContextID+`"}`)
	closed := fmt.Sprint(string(took().Params), string(took().Params))
	if !strings.Contains(closed, "OURS") || !strings.Contains(closed, "POPUP") || len(c.sent) > 0 {
		t.Errorf("closed %s and %d more", closed, len(c.sent))
	}
	if m := heard(); m.ID != next || m.Error != nil {
		t.Errorf("%+v", m)
	}
}
