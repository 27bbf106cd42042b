//go:build linux

package e2e_test

import (
	"fmt"
	"strings"

	"github.com/browserd/browserd/internal/ssrfcases"
)

// offer makes a peer gather its candidates: a constructor alone does nothing.
const offer = `
window.done = (async () => {
  const pc = new RTCPeerConnection(%s);
  pc.createDataChannel("x");
  const gathered = new Promise(r => pc.onicegatheringstatechange = () => pc.iceGatheringState == "complete" && r());
  await pc.setLocalDescription(await pc.createOffer());
  await Promise.race([gathered, new Promise(r => setTimeout(r, 3000))]);
})();`

// candidate makes one peer of two try the address that the page names.
const candidate = `
window.done = (async () => {
  const a = new RTCPeerConnection(), b = new RTCPeerConnection();
  a.createDataChannel("x");
  await a.setLocalDescription(await a.createOffer());
  await b.setRemoteDescription(a.localDescription);
  await b.setLocalDescription(await b.createAnswer());
  await a.setRemoteDescription(b.localDescription);
  await a.addIceCandidate({candidate: "candidate:1 1 udp 2122260223 %s typ host", sdpMid: "0", sdpMLineIndex: 0});
  await new Promise(r => setTimeout(r, 500)); // connectivity checks are sent every 50 ms (RFC 8445 section 14)
})();`

// writtenOut is a page that does what the case's line says, where the line
// itself is short for it.
func writtenOut(c ssrfcases.Case) string {
	const head = "<!doctype html><meta charset=utf-8><title>page</title>"
	script := func(s string) string { return head + "<script>\n" + s + "\n</script>" }
	_, peer, isPeer := strings.Cut(c.URL, "new RTCPeerConnection(")
	switch {
	case isPeer:
		return script(fmt.Sprintf(offer, strings.TrimSuffix(peer, ")")))
	case strings.HasPrefix(c.URL, "addIceCandidate") && strings.Contains(c.URL, ".local"):
		return script(fmt.Sprintf(candidate, "abcd.local 53"))
	case strings.HasPrefix(c.URL, "addIceCandidate"):
		return script(fmt.Sprintf(candidate, "10.0.0.5 53"))
	case strings.HasPrefix(c.URL, "new WebTransport"):
		return script("window.done = (" + c.URL + ").ready.catch(() => {})")
	case strings.HasPrefix(c.URL, "<form"):
		form, _, _ := strings.Cut(c.URL, " cmd>")
		return head + form + "><input name=cmd value=x></form><script>document.forms[0].submit()</script>"
	case strings.HasPrefix(c.URL, "<"):
		return head + c.URL
	}
	return script(c.URL)
}
