package policy

import "strings"

// localNames are names of this machine itself (RFC 6761 section 6.3, and /etc/hosts of
// the common distributions). Each includes its subdomains.
var localNames = []string{"localhost", "localdomain", "ip6-localhost", "ip6-loopback"}

// internalSuffixes are suffixes of names that do not exist in the public DNS. Each is
// also such a name itself.
var internalSuffixes = []string{
	"local",        // RFC 6762, and Kubernetes' cluster.local
	"internal",     // ICANN 2024: private use; docker.internal, containers.internal, Google's metadata
	"home.arpa",    // RFC 8375
	"onion",        // RFC 7686
	"test",         // RFC 6761
	"invalid",      // RFC 6761
	"example",      // RFC 6761
	"alt",          // RFC 9476
	"svc",          // Kubernetes
	"lan",          // routers
	"corp", "home", // ICANN 2018: never delegated, for the collisions
	"intranet", "private",
}

// metadataNames are the names of the clouds' metadata services. Like their addresses,
// they are always refused.
var metadataNames = map[string]bool{
	"metadata":                     true,
	"metadata.google.internal":     true,
	"metadata.goog":                true,
	"instance-data":                true,
	"instance-data.ec2.internal":   true,
	"rancher-metadata":             true,
	"metadata.tencentyun.com":      true,
	"metadata.packet.net":          true,
	"metadata.platformequinix.com": true,
}

// classifyName is classify for a name in ASCII form, in lower case and without a trailing
// dot.
func classifyName(name string) (reason Reason, what string, absolute bool) {
	if metadataNames[name] {
		return ReasonNameInternal, "the name of a metadata service", true
	}
	for _, s := range localNames {
		if isOrSubdomain(name, s) {
			return ReasonNameLocal, "a name of this machine", false
		}
	}
	if !strings.Contains(name, ".") {
		return ReasonNameInternal, "a name without a domain, which only a private network resolves", false
	}
	for _, s := range internalSuffixes {
		if isOrSubdomain(name, s) {
			return ReasonNameInternal, "a name that only a private network resolves", false
		}
	}
	return "", "", false
}

func isOrSubdomain(name, domain string) bool {
	return name == domain || strings.HasSuffix(name, "."+domain)
}
