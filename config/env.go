package config

import (
	"fmt"
	"slices"
	"strings"
)

const (
	envPrefix = "BROWSERD_"
	// TokenEnv sets the token for daemon and command line alike.
	TokenEnv = "BROWSERD_TOKEN"
	// FileEnv names the configuration file.
	FileEnv = "BROWSERD_CONFIG"
)

// envName returns the variable that sets key.
func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}

func lookupEnv(environ []string, name string) string {
	// The last one counts, as for a process that is given it twice.
	for _, kv := range slices.Backward(environ) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// loadEnv reads BROWSERD_SECTION__KEY. A variable with the double underscore
// is meant as a key, and so is one that looks like a key misspelt: those are
// errors. Others that begin with BROWSERD_ belong to somebody else (Kubernetes
// sets BROWSERD_PORT for a service of that name) and are only reported.
func (l *loader) loadEnv(src Sources) error {
	known := []string{TokenEnv, FileEnv}
	for _, f := range l.schema {
		known = append(known, envName(f.key))
	}
	raw := map[string]any{}
	for _, kv := range src.Env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || !strings.HasPrefix(name, envPrefix) {
			continue
		}
		path := strings.TrimPrefix(name, envPrefix)
		switch i := slices.Index(known, name); {
		case i >= 2:
			raw[l.schema[i-2].key] = value
		case i >= 0: // the two that are no keys
		case strings.Contains(path, "__"):
			key := strings.ToLower(strings.ReplaceAll(path, "__", "."))
			l.faults = append(l.faults, fmt.Errorf("unknown key %s (from environment %s)%s", key, name, suggestion(name, known)))
		default:
			if meant := misspelt(name, known); meant != "" {
				l.faults = append(l.faults, fmt.Errorf("environment %s is no key: the nearest is %s", name, meant))
			} else {
				l.ignored = append(l.ignored, name)
			}
		}
	}
	slices.Sort(l.ignored)
	l.put(raw, func(key string) string { return "environment " + envName(key) })
	return nil
}

// misspelt returns the known variable that name most likely stands for: the
// same but for its underscores or case, or one or two letters away.
func misspelt(name string, known []string) string {
	plain := func(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "_", "")) }
	for _, k := range known {
		if plain(k) == plain(name) {
			return k
		}
	}
	if best, d := nearest(name, known); d <= 2 {
		return best
	}
	return ""
}
