package reader

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/browserd/browserd/protocol"
)

// checkTarget returns policy_denied for a URL that the reader must not get: one that is not
// public, or one with credentials.
func (r *Reader) checkTarget(ctx context.Context, target string) error {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return withheld("the reader reads only http and https URLs", "scheme")
	}
	if u.User != nil {
		return withheld("the URL has a user name or password, which is not sent to the reader", "credentials")
	}
	if name := secretIn(u.RawQuery); name != "" {
		return withheld("the URL's parameter "+name+" looks like a credential, which is not sent to the reader", "credentials")
	}
	if name := secretIn(u.Fragment); name != "" {
		return withheld("the URL's fragment has "+name+", which looks like a credential and is not sent to the reader", "credentials")
	}
	if err := r.o.Public(ctx, target); protocol.CodeOf(err) == protocol.PolicyDenied {
		e := protocol.Errorf(protocol.PolicyDenied, "the reader only gets public addresses: %s", sentence(err))
		return e.With("reason", "not_public").With("host", u.Host).Then("use source http or chromium")
	} else if err != nil {
		return err
	}
	return nil
}

func sentence(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// secretNames are parameters, in lower case and without - and _, with credentials: OAuth 2.0's and those of signed URLs at the large clouds.
var secretNames = map[string]bool{
	"accesstoken": true, "accesskey": true, "apikey": true, "auth": true, "authtoken": true, "authorization": true, "awsaccesskeyid": true,
	"clientsecret": true, "idtoken": true, "jwt": true, "password": true, "passwd": true, "pwd": true, "refreshtoken": true,
	"samlresponse": true, "secret": true, "secretkey": true, "session": true, "sessionid": true, "sessiontoken": true, "sid": true,
	"sig": true, "signature": true, "token": true, "xamzcredential": true, "xamzsecuritytoken": true, "xamzsignature": true, "xgoogsignature": true,
	"xgoogcredential": true, "jsessionid": true, "phpsessid": true, "resettoken": true, "otp": true,
}

// secretIn returns the name of the first parameter that looks like a credential.
func secretIn(query string) string {
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' || r == '?' }) {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		name = strings.TrimLeft(name, "/!")
		if value != "" && secretNames[strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))] {
			return name
		}
	}
	return ""
}

func withheld(why, reason string) *protocol.Error {
	return protocol.Errorf(protocol.PolicyDenied, "%s", why).With("reason", reason).Then("use source http or chromium")
}
