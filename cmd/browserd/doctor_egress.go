package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/browserd/browserd/config"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// metadataURL is what must be shut whatever is configured: there clouds hand
// out the machine's credentials.
const metadataURL = "http://169.254.169.254/latest/meta-data/"

// checkMetadata reports whether this configuration refuses the clouds' metadata
// address. Nothing is sent to find out.
func checkMetadata(ctx context.Context, c config.Config) check {
	const name, fix = "policy", "report it with the policy keys that are set: no configuration may open it"
	rules, err := policy.New(c.Policy)
	if err != nil {
		return check{name, statusFail, err.Error(), "correct that key"}
	}
	_, err = rules.CheckURL(ctx, metadataURL)
	if protocol.CodeOf(err) == protocol.PolicyDenied {
		return check{name, statusOK, "169.254.169.254, where clouds hand out credentials, is refused", ""}
	}
	return check{name, statusFail, fmt.Sprintf("169.254.169.254 is not refused: %v", err), fix}
}

// resolvConf lists the system's name servers (resolv.conf(5)).
const resolvConf = "/etc/resolv.conf"

// checkDNS says who is asked for names. policy.resolver is asked for a name
// that does not exist (RFC 6761 section 6.4); the system's servers are only
// looked for, so that nothing leaves the machine that was not asked to.
func checkDNS(ctx context.Context, c config.Config) check {
	const name = "dns"
	if at := c.Policy.Resolver; at != "" {
		return checkResolver(ctx, name, at)
	}
	b, err := os.ReadFile(resolvConf)
	if err != nil {
		return check{name, statusOK, "the system's resolver is asked", ""}
	}
	var servers []string
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "nameserver" {
			servers = append(servers, words[1])
		}
	}
	if len(servers) == 0 {
		return check{name, statusWarn, resolvConf + " names no server: no public name can be looked up", "set policy.resolver to the address of a DNS server, such as 192.0.2.53:53, or mend " + resolvConf}
	}
	return check{name, statusOK, "asked at " + strings.Join(servers, ", ") + " (" + resolvConf + ")", ""}
}

func checkResolver(ctx context.Context, name, at string) check {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if _, _, err := net.SplitHostPort(at); err != nil {
		at = net.JoinHostPort(at, "53")
	}
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, at)
	}}
	_, err := r.LookupHost(ctx, "browserd.invalid.")
	var said *net.DNSError
	if err == nil || errors.As(err, &said) && said.IsNotFound {
		return check{name, statusOK, "policy.resolver answers at " + at, ""}
	}
	return check{name, statusFail, fmt.Sprintf("policy.resolver does not answer at %s: %v", at, err), "start it, or correct policy.resolver"}
}
