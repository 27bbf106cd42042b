package secret

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pquerna/otp"
)

// Kinds of secrets.
const (
	Text = "text"     // the value as it is, such as a password
	User = "username" // like Text, but login fills it in as the username
	TOTP = "totp"     // a one-time code made from an otpauth URI (RFC 6238)
)

// Secret is one secret. Exactly one of Value, Env and Program is set; it says where the value comes from. The
// value of a one-time code is an otpauth URI.
type Secret struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Origins []string `json:"origins"`          // as https://shop.example or https://shop.example:8443; at least one
	Agents  []string `json:"agents,omitempty"` // empty: every agent
	Value   string   `json:"value,omitempty"`
	Env     string   `json:"env,omitempty"`     // a variable of the daemon's environment
	Program []string `json:"program,omitempty"` // a program and its arguments, which prints the value
}

// File is what the sealed file holds.
type File struct {
	Version int      `json:"version"`
	Secrets []Secret `json:"secrets"`
}

// Version is the version of a File.
const Version = 1

// Limits of a secret's value, in characters and in bytes. A shorter one would be found in
// every text.
const (
	minValue = 4
	maxValue = 16 << 10
)

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) })

// Check returns an error that names the first part of s that is wrong. It never quotes the value.
func (s Secret) Check() error {
	if !nameRule().MatchString(s.Name) {
		return fmt.Errorf("name %q: accepts a small letter or a digit, then small letters, digits, '.', '_' and '-', at most 64", s.Name)
	}
	if s.Kind != Text && s.Kind != User && s.Kind != TOTP {
		return fmt.Errorf("kind %q: accepts %s, %s or %s", s.Kind, Text, User, TOTP)
	}
	if len(s.Origins) == 0 {
		return fmt.Errorf("origin: a secret needs at least one, as https://shop.example")
	}
	for _, o := range s.Origins {
		if err := checkOrigin(o); err != nil {
			return err
		}
	}
	sources := 0
	for _, set := range []bool{s.Value != "", s.Env != "", len(s.Program) > 0} {
		if set {
			sources++
		}
	}
	if sources != 1 {
		return fmt.Errorf("a secret has a value, or the variable that holds it, or the program that prints it")
	}
	if s.Value != "" {
		return checkValue(s.Kind, s.Value)
	}
	return nil
}

// checkOrigin accepts origins as browsers write them (HTML, 7.1.1): no path, no user, no default
// port, and no plain http but on this machine.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	want := fmt.Errorf("origin %q: accepts https://HOST or https://HOST:PORT, in small letters; http:// only for localhost, 127.0.0.1 and [::1]", origin)
	if err != nil || u.Host == "" || u.User != nil || origin != u.Scheme+"://"+u.Host || origin != strings.ToLower(origin) ||
		strings.ContainsAny(u.Host, "*%") || strings.HasSuffix(u.Hostname(), ".") {
		return want
	}
	ip := net.ParseIP(u.Hostname())
	switch {
	case u.Scheme == "https" && u.Port() != "443":
		return nil
	case u.Scheme == "http" && u.Port() != "80" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()):
		return nil
	}
	return want
}

func checkValue(kind, value string) error {
	switch n := utf8.RuneCountInString(value); {
	case !utf8.ValidString(value):
		return fmt.Errorf("the value is no UTF-8 text")
	case kind == TOTP:
		_, err := parseTOTP(value)
		return err
	case n < minValue:
		return fmt.Errorf("the value has %d characters: accepts at least %d, since it is removed from whatever an agent is shown", n, minValue)
	case len(value) > maxValue:
		return fmt.Errorf("the value has %d bytes: accepts at most %d", len(value), maxValue)
	}
	return nil
}

// parseTOTP reads an otpauth URI as authenticators do.
func parseTOTP(uri string) (*otp.Key, error) {
	key, err := otp.NewKeyFromURL(uri)
	if err != nil || key.Type() != "totp" || !strings.HasPrefix(uri, "otpauth://") {
		return nil, fmt.Errorf("the value of a one-time code is a URI as otpauth://totp/Shop?secret=BASE32")
	}
	if _, err := codeAt(key, 0); err != nil || key.Secret() == "" {
		return nil, fmt.Errorf("the one-time code's secret is not Base32 (A to Z, 2 to 7)")
	}
	algorithm := ""
	if u, err := url.Parse(uri); err == nil {
		algorithm = strings.ToUpper(u.Query().Get("algorithm"))
	}
	if !slices.Contains([]string{"", "SHA1", "SHA256", "SHA512"}, algorithm) || key.Period() < 5 || key.Period() > 300 || key.Digits() < 6 || key.Digits() > 8 {
		return nil, fmt.Errorf("the one-time code's URI: accepts period 5 to 300, digits 6 to 8, and algorithm SHA1, SHA256 or SHA512")
	}
	return key, nil
}
