package policy

import (
	"errors"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// The error for a proxy names the parameter and the value, and the next step where that is certain. It never has a
// password.
func TestAProxyThatIsNotAccepted(t *testing.T) {
	const accepts = "http://HOST:PORT or socks5://HOST:PORT, with USER:PASSWORD@ before the host if it asks for them"
	for _, c := range []struct{ url, message, next string }{
		{"127.0.0.1:8080", `proxy: "127.0.0.1:8080" has no scheme; accepts ` + accepts, "write the scheme too: http://127.0.0.1:8080"},
		{"proxy.example:8080", `proxy: "proxy.example:8080" has no scheme; accepts ` + accepts, "write the scheme too: http://proxy.example:8080"},
		{"proxy", `proxy: "proxy" has no scheme; accepts ` + accepts, "write the scheme too: http://proxy"},
		{"[::1]:8080/", `proxy: "[::1]:8080" has no scheme; accepts ` + accepts, "write the scheme too: http://[::1]:8080"},
		{"ann:hunter2@proxy.example:8080", `proxy: "proxy.example:8080" has no scheme; accepts ` + accepts, "write the scheme too: http://USER:PASSWORD@proxy.example:8080"},
		{"ftp://127.0.0.1:21", `proxy: accepts ` + accepts + `, not "ftp://127.0.0.1:21"`, ""},
		{"https://ann:hunter2@proxy.example", `proxy: accepts ` + accepts + `, not "https://proxy.example"`, ""},
		{"http://ann:hunter2", `proxy: accepts ` + accepts, ""},
		{"http://proxy.example/?password=hunter2", `proxy: accepts ` + accepts, ""},
	} {
		_, err := Upstream{URL: c.url}.parse()
		var said *protocol.Error
		if !errors.As(err, &said) {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if said.Message != c.message || said.Next != c.next || said.Details["parameter"] != "proxy" {
			t.Errorf("%s:\ngot  %s, %q, %v\nwant %s, %q", c.url, said.Message, said.Next, said.Details, c.message, c.next)
		}
	}
	for _, good := range []string{"http://proxy", "http://ann:hunter2@proxy.example:8080/", "socks5://[::1]:1080"} {
		if _, err := (Upstream{URL: good}).parse(); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}
