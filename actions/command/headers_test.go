package command_test

import (
	"testing"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// A site builds the addresses of its scripts and forms from what its own proxy says: no session says that for it.
func TestHeadersOfAServersProxyAreRefused(t *testing.T) {
	for name, refused := range map[string]bool{
		"X-Forwarded-Host": true, "x-forwarded-proto": true, "X-Forwarded-Prefix": true, "X-Forwarded-For": true, "Forwarded": true, "X-Original-URL": true,
		"X-Original-Host": true, "X-Rewrite-URL": true, "X-HTTP-Method-Override": true, "X-HTTP-Method": true, "X-Method-Override": true, "X-Host": true,
		"X_Forwarded_Host": true,
		"X-Forward":        false, "X-Tenant": false, "Authorization": false, "X-HTTP": false, "X-Originally": false, "X-Hosted": false,
	} {
		_, err := command.PageHeaders(map[string]string{name: "a.example"}, nil)
		if got := protocol.CodeOf(err) == protocol.InvalidParams; got != refused {
			t.Errorf("%s: %v, refused %v, want %v", name, err, got, refused)
		}
	}
}
