package secret

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/browserd/browserd/protocol"
)

const shop = "https://shop.example"

func vaultOf(secrets ...Secret) *Vault {
	return NewVault(func() (File, error) { return File{Version, secrets}, nil }, func(name string) bool { return name == "result" || name == "text" })
}

// A secret is given to its agents, at its origins, and to nobody else.
func TestGive(t *testing.T) {
	t.Setenv("BROWSERD_TEST_SECRET", "from the environment")
	v := vaultOf(
		Secret{Name: "shop", Kind: Text, Origins: []string{shop, "https://shop.example:8443"}, Value: "hunter2"},
		Secret{Name: "bob", Kind: Text, Origins: []string{shop}, Agents: []string{"bob"}, Value: "only bob's"},
		Secret{Name: "env", Kind: Text, Origins: []string{shop}, Env: "BROWSERD_TEST_SECRET"},
		Secret{Name: "unset", Kind: Text, Origins: []string{shop}, Env: "BROWSERD_TEST_UNSET"},
		Secret{Name: "program", Kind: Text, Origins: []string{shop}, Program: []string{"printf", "%s\n", "$HOME and more"}},
		Secret{Name: "fails", Kind: Text, Origins: []string{shop}, Program: []string{"sh", "-c", "echo it is hunter3; exit 3"}},
		Secret{Name: "endless", Kind: Text, Origins: []string{shop}, Program: []string{"yes"}},
		Secret{Name: "missing", Kind: Text, Origins: []string{shop}, Program: []string{"/nowhere/pass"}},
		Secret{Name: "short", Kind: Text, Origins: []string{shop}, Program: []string{"echo", "abc"}},
	)
	began := time.Now()
	for _, c := range []struct{ agent, origin, text, want string }{
		{"ann", shop, "{{secret:shop}}", "hunter2"},
		{"ann", "https://shop.example:8443", "{{secret:shop}}", "hunter2"},
		{"ann", shop, "a {{secret:shop}} b {{secret:env}} {{secret:shop}}", "a hunter2 b from the environment hunter2"},
		{"ann", shop, "{{secret:program}}", "$HOME and more"},
		{"bob", shop, "{{secret:bob}}", "only bob's"},
		{"ann", shop, "no {secret} {{here}}", "no {secret} {{here}}"},
		{"ann", shop, "{{secret:bob}}", "secret_denied unknown"},
		{"ann", shop, "{{secret:nobody}}", "secret_denied unknown"},
		{"ann", shop, "{{secret:}}", "secret_denied unknown"},
		{"ann", shop, "{{secret:shop }}", "secret_denied unknown"},
		{"ann", "http://shop.example", "{{secret:shop}}", "secret_denied origin"},
		{"ann", "https://www.shop.example", "{{secret:shop}}", "secret_denied origin"},
		{"ann", "https://shop.example.", "{{secret:shop}}", "secret_denied origin"},
		{"ann", "https://SHOP.example", "{{secret:shop}}", "secret_denied origin"},
		{"ann", "null", "{{secret:shop}}", "secret_denied origin"},
		{"ann", "", "{{secret:shop}}", "secret_denied origin"},
		{"ann", shop, "{{secret:unset}}", "secret_denied source"},
		{"ann", shop, "{{secret:fails}}", "secret_denied source"},
		{"ann", shop, "{{secret:endless}}", "secret_denied source"},
		{"ann", shop, "{{secret:missing}}", "secret_denied source"},
		{"ann", shop, "{{secret:short}}", "secret_denied source"},
	} {
		values, err := v.Give(t.Context(), c.agent, c.origin, Names(c.text))
		got := Substitute(c.text, values)
		if err != nil {
			said := err.(*protocol.Error)
			got = fmt.Sprint(said.Code, " ", said.Details["reason"])
			if text := fmt.Sprint(said.Message, said.Next, said.Details); strings.Contains(text, "hunter") || strings.Contains(text, "abc") {
				t.Errorf("%s at %s: the error says a value: %s", c.text, c.origin, text)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s at %s: %q, want %q", c.agent, c.text, c.origin, got, c.want)
		}
	}
	if took := time.Since(began); took > programLimit/2 {
		t.Errorf("a program without end was heard for %v", took)
	}
	list, err := v.List("bob")
	if err != nil || len(list) != 9 || list[0].Name != "bob" {
		t.Errorf("List: %v %v", list, err)
	}
	if list, err := (*Vault)(nil).List("bob"); err != nil || len(list) != 0 {
		t.Errorf("a nil vault lists %v, %v", list, err)
	}
	if _, err := (*Vault)(nil).Give(t.Context(), "bob", shop, []string{"shop"}); protocol.CodeOf(err) != protocol.SecretDenied {
		t.Errorf("a nil vault: %v", err)
	}
}

// What another daemon gives is hidden, also where the agent may not use it, or is given no more.
func TestHide(t *testing.T) {
	v := vaultOf()
	for i := range maxValues {
		v.redactorOf("ann").add(fmt.Sprintf("value %04d", i), Text)
	}
	v.Hide("ann", []Given{{Text, "hunter2 correct"}, {User, "ann@shop.example"}, {TOTP, "493817"}})
	if got := v.RedactText("ann", "hunter2 correct, ann@shop.example, 493817, value 0000"); got != "•••, •••, •••, •••" {
		t.Errorf("shown: %q", got)
	}
	if !v.Shows("ann", "hunter2 correct") || v.Shows("ann", "ann@shop.example") {
		t.Error("of a picture it matters what kind it is of")
	}
	if v.HasGiven("bob") || v.RedactText("bob", "hunter2 correct") != "hunter2 correct" {
		t.Error("it is another agent's")
	}
	(*Vault)(nil).Hide("ann", []Given{{Text, "hunter2 correct"}})
	if got := fmt.Sprintf("%v %s", Given{Text, "hunter2"}, []Given{{Text, "hunter2"}}); strings.Contains(got, "hunter2") {
		t.Errorf("printed: %s", got)
	}
}

// The other daemons are told before a secret is given, of what this one hides by then. Where they cannot be told, it
// is not given.
func TestOthersAreToldFirst(t *testing.T) {
	v := vaultOf(Secret{Name: "shop", Kind: Text, Origins: []string{shop}, Value: "hunter2"}, Secret{Name: "user", Kind: User, Origins: []string{shop}, Value: "ann@shop.example"})
	var told []Given
	no := errors.New("a node does not answer")
	v.HideAtPeers = func(_ context.Context, agent string, given []Given) error {
		if agent != "ann" || v.RedactText("ann", "hunter2") != masked {
			t.Errorf("%s, and it is shown here", agent)
		}
		told = append(told, given...)
		return no
	}
	if values, err := v.Give(t.Context(), "ann", shop, []string{"shop"}); !errors.Is(err, no) || values != nil {
		t.Errorf("given %v, %v", values, err)
	}
	no = nil
	if values, err := v.Give(t.Context(), "ann", shop, []string{"shop", "user"}); err != nil || values["shop"] != "hunter2" {
		t.Errorf("given %v, %v", values, err)
	}
	if diff := cmp.Diff([]Given{{Text, "hunter2"}, {Text, "hunter2"}, {User, "ann@shop.example"}}, told); diff != "" {
		t.Error(diff)
	}
	if _, err := v.Give(t.Context(), "ann", "https://other.example", []string{"shop"}); protocol.CodeOf(err) != protocol.SecretDenied || len(told) != 3 {
		t.Errorf("what is not given is told: %v, %v", told, err)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		s  Secret
		ok bool
	}{
		{Secret{Name: "shop", Kind: Text, Origins: []string{shop}, Value: "hunter2"}, true},
		{Secret{Name: "dev", Kind: Text, Origins: []string{"http://localhost:8000", "http://127.0.0.1:1", "http://[::1]:2"}, Value: "hunter2"}, true},
		{Secret{Name: "code", Kind: TOTP, Origins: []string{shop}, Value: "otpauth://totp/Shop:ann?secret=JBSWY3DPEHPK3PXP&issuer=Shop"}, true},
		{Secret{Name: "code", Kind: TOTP, Origins: []string{shop}, Value: "otpauth://totp/Shop?secret=JBSWY3DPEHPK3PXP&algorithm=SHA512&digits=8&period=60"}, true},
		{Secret{Name: "Shop", Kind: Text, Origins: []string{shop}, Value: "hunter2"}, false},
		{Secret{Name: "../x", Kind: Text, Origins: []string{shop}, Value: "hunter2"}, false},
		{Secret{Name: "shop", Kind: "other", Origins: []string{shop}, Value: "hunter2"}, false},
		{Secret{Name: "shop", Kind: Text, Value: "hunter2"}, false},
		{Secret{Name: "shop", Kind: Text, Origins: []string{shop}}, false},
		{Secret{Name: "shop", Kind: Text, Origins: []string{shop}, Value: "hunter2", Env: "X"}, false},
		{Secret{Name: "shop", Kind: Text, Origins: []string{shop}, Value: "abc"}, false},
		{Secret{Name: "shop", Kind: Text, Origins: []string{shop}, Value: "not \xff text"}, false},
		{Secret{Name: "shop", Kind: Text, Origins: []string{shop}, Value: strings.Repeat("a", maxValue+1)}, false},
		{Secret{Name: "code", Kind: TOTP, Origins: []string{shop}, Value: "JBSWY3DPEHPK3PXP"}, false},
		{Secret{Name: "code", Kind: TOTP, Origins: []string{shop}, Value: "otpauth://hotp/Shop?secret=JBSWY3DPEHPK3PXP&counter=1"}, false},
		{Secret{Name: "code", Kind: TOTP, Origins: []string{shop}, Value: "otpauth://totp/Shop?secret=1!"}, false},
		{Secret{Name: "code", Kind: TOTP, Origins: []string{shop}, Value: "otpauth://totp/Shop"}, false},
		{Secret{Name: "code", Kind: TOTP, Origins: []string{shop}, Value: "otpauth://totp/Shop?secret=JBSWY3DPEHPK3PXP&algorithm=MD5"}, false},
		{Secret{Name: "code", Kind: TOTP, Origins: []string{shop}, Value: "otpauth://totp/Shop?secret=JBSWY3DPEHPK3PXP&period=1"}, false},
	} {
		if err := c.s.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.s, err)
		} else if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "JBSWY")) {
			t.Errorf("the error says the value: %v", err)
		}
	}
	for _, origin := range []string{
		"http://shop.example", "https://shop.example/", "https://shop.example/login", "https://ann@shop.example", "https://*.shop.example", "shop.example", "https://",
		"https://Shop.example", "https://shop.example:443", "http://localhost:80", "http://192.168.1.2", "file:///etc", "null", "", "https://shop.example?x", "https://shop.example.",
	} {
		if checkOrigin(origin) == nil {
			t.Errorf("the origin %q was taken", origin)
		}
	}
}

// The test vectors of RFC 6238, appendix B.
func TestCodesOfRFC6238(t *testing.T) {
	seed := "1234567890"
	for _, c := range []struct {
		algorithm string
		bytes     int
		codes     []string
	}{
		{"SHA1", 20, []string{"94287082", "07081804", "14050471", "89005924", "69279037", "65353130"}},
		{"SHA256", 32, []string{"46119246", "68084774", "67062674", "91819424", "90698825", "77737706"}},
		{"SHA512", 64, []string{"90693936", "25091201", "99943326", "93441116", "38618901", "47863826"}},
	} {
		secret := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(strings.Repeat(seed, 7)[:c.bytes]))
		for digits := 6; digits <= 8; digits++ {
			key, err := parseTOTP(fmt.Sprintf("otpauth://totp/x?secret=%s&algorithm=%s&digits=%d", secret, c.algorithm, digits))
			if err != nil {
				t.Fatal(err)
			}
			for i, at := range []uint64{59, 1111111109, 1111111111, 1234567890, 2000000000, 20000000000} {
				if got, err := codeAt(key, at/30); err != nil || got != c.codes[i][8-digits:] {
					t.Errorf("%s at %d: %s %v, want %s", c.algorithm, at, got, err, c.codes[i][8-digits:])
				}
			}
		}
	}
}

// A code is never given twice, nor when less than three seconds of it are left.
func TestCodeWaits(t *testing.T) {
	const period = 30 * time.Second
	for _, c := range []struct {
		second float64
		last   uint64
		step   uint64
		wait   time.Duration
	}{
		{0, 0, 1, 30 * time.Second}, // 1970: the first step is left out
		{60, 0, 2, 0},
		{86.9, 0, 2, 0},
		{87.5, 0, 3, 2500 * time.Millisecond},
		{60, 2, 3, 30 * time.Second},
		{89, 3, 4, 31 * time.Second},
		{120, 3, 4, 0},
		{60, 9, 10, 240 * time.Second}, // the clock was set back
	} {
		step, wait := nextStep(time.Unix(0, int64(c.second*1e9)), period, c.last)
		if step != c.step || wait.Round(time.Millisecond) != c.wait {
			t.Errorf("at %v after %d: step %d in %v, want %d in %v", c.second, c.last, step, wait, c.step, c.wait)
		}
	}
	v := vaultOf(Secret{Name: "code", Kind: TOTP, Origins: []string{shop}, Value: "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP&period=5"})
	seen := map[string]bool{}
	for range 2 {
		got, err := v.Give(t.Context(), "ann", shop, []string{"code"})
		if err != nil || len(got["code"]) != 6 || seen[got["code"]] {
			t.Fatalf("%v %v, given before: %v", got, err, seen)
		}
		seen[got["code"]] = true
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := v.Give(ctx, "ann", shop, []string{"code"}); protocol.CodeOf(err) != protocol.Timeout {
		t.Errorf("without time for the next code: %v", err)
	}
}

// What an agent was given is removed in each encoding, and what another was is not.
func TestRedact(t *testing.T) {
	for _, value := range []string{"hunter2", "pass word&<q>\"é\\1", "ends in \\", "{}[]:,'", "日本語のパスワード", "tab\tand\nline", "two  blanks", "a_b*c+d", "Straße (né) 'x'!"} {
		v := vaultOf(Secret{Name: "shop", Kind: Text, Origins: []string{shop}, Value: value})
		if _, err := v.Give(t.Context(), "ann", shop, []string{"shop"}); err != nil {
			t.Fatal(err)
		}
		for name, encoded := range map[string]string{
			"itself": value, "query": url.QueryEscape(value), "path": url.PathEscape(value), "HTML": html.EscapeString(value), "hex": hex.EncodeToString([]byte(value)),
			"small hex digits": strings.ToLower(url.QueryEscape(value)), "upper case": strings.Map(func(r rune) rune {
				if 'a' <= r && r <= 'z' {
					r -= 'a' - 'A'
				}
				return r
			}, value),
			"blanks as a page shows them": strings.Join(strings.Fields(value), " "), "without its last letter": string([]rune(value)[:len([]rune(value))-1]),
			"Markdown": regexp.MustCompile("[!-/:-@[-`{-~]").ReplaceAllString(value, `\$0`), "html/template": strings.ReplaceAll(html.EscapeString(value), "+", "&#43;"),
			"upper case of every letter": strings.ToUpper(value), "text-transform: uppercase": strings.ReplaceAll(strings.ToUpper(value), "ß", "SS"), "lower case of every letter": strings.ToLower(value),
			"encodeURIComponent": leave(value, "-_.!~*'()"), "encodeURI": leave(value, "-_.!~*'();/?:@&=+$,#"), "every byte in percent": leave(value, ""), "percent twice": url.QueryEscape(url.QueryEscape(value)),
			"encodeURIComponent twice": leave(leave(value, "-_.!~*'()"), "-_.!~*'()"), "a URL's query": leave(value, "!$%&'()*+,-._~/:;=@[\\]|?`{}^"), "a form": strings.ReplaceAll(leave(value, "*-._ "), " ", "+"),
			"entities": every(value, "&#%d;"), "entities of hexadecimal digits": every(value, "&#x%X;"), "hexadecimal bytes": fmt.Sprintf("% x", value), "bytes of a script": strings.TrimPrefix(strings.ReplaceAll(fmt.Sprintf(" % x", value), " ", `\x`), " "),
			"base64 at 0": base64.StdEncoding.EncodeToString([]byte(value)), "base64 at 1": base64.StdEncoding.EncodeToString([]byte("x" + value + "yz")),
			"base64 at 2": base64.StdEncoding.EncodeToString([]byte("xy" + value + "z")), "base64 for URLs": base64.URLEncoding.EncodeToString([]byte("xyz" + value + "u")),
		} {
			inner, _ := json.Marshal(map[string]string{"said": encoded})
			for _, text := range []string{"before " + encoded + " after", string(inner)} {
				content, err := json.Marshal(map[string]any{"text": text, "n": 1})
				if err != nil {
					t.Fatal(err)
				}
				got := v.Redact("ann", content)
				var read struct{ Text string }
				if err := json.Unmarshal(got, &read); err != nil {
					t.Fatalf("%s of %q: no JSON any more: %v: %s", name, value, err, got)
				}
				if name != "Markdown" && !strings.Contains(read.Text, masked) || name != "Markdown" && strings.Contains(read.Text, encoded) {
					t.Errorf("%s of %q: %s", name, value, got)
				}
				if string(v.Redact("bob", content)) != string(content) {
					t.Errorf("another agent's answer was changed")
				}
			}
			if got := v.RedactText("ann", "before "+encoded+" after"); !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, masked) || strings.Contains(got, encoded) {
				t.Errorf("%s of %q as text: %s", name, value, got)
			}
		}
	}
}

// Encodings that a value has for some letters only.
func TestRedactLetters(t *testing.T) {
	for _, c := range []struct{ value, encoded string }{
		{"Pässwörd", "PÄSSWÖRD"}, {"Pässwörd", "pässwörd"}, {"ärger über", "Ärger über"}, {"Straße 12", "STRASSE 12"},
		{"Pässwörd", "UORzc3f2cmQ="}, // btoa
		{"Pässwörd", "P%E4ssw%F6rd"}, // escape
		{"日本語パスワード", "%u65E5%u672C%u8A9E%u30D1%u30B9%u30EF%u30FC%u30C9"}, // escape
		{"Pässwörd", `P\u00e4ssw\u00f6rd`}, {"hunter2", `\u0068\u0075\u006e\u0074\u0065\u0072\u0032`},
		{"hunter2", "\\u0068\\u0075\\u006E\\u0074\\u0065\\u0072\\u0032"},
	} {
		v := vaultOf(Secret{Name: "shop", Kind: Text, Origins: []string{shop}, Value: c.value})
		if _, err := v.Give(t.Context(), "ann", shop, []string{"shop"}); err != nil {
			t.Fatal(err)
		}
		if got := v.RedactText("ann", "it is "+c.encoded+"."); strings.Contains(got, c.encoded) {
			t.Errorf("%s as text: %s", c.value, got)
		}
		content, _ := json.Marshal(c.encoded)
		if got := string(v.Redact("ann", content)); !strings.Contains(got, masked) {
			t.Errorf("%s in JSON: %s", c.value, got)
		}
	}
}

// leave percent-encodes every byte but letters, digits and those of keep.
func leave(value, keep string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if c < 0x80 && (strings.IndexByte(keep, c) >= 0 || regexp.MustCompile(`[A-Za-z0-9]`).Match([]byte{c})) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func every(value, format string) string {
	var b strings.Builder
	for _, r := range value {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

// The search finds what bytes.Index finds, at every place and length.
func TestSearchFindsEveryPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]byte("abAB\x00\x20@`\xc3\xe3"))
		forms := rapid.SliceOfN(rapid.SliceOfN(letters, 3, 12), 1, 4).Draw(t, "forms")
		text := rapid.SliceOfN(letters, 0, 60).Draw(t, "text")
		for _, f := range forms {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			text = append(append(append([]byte{}, text[:at]...), f...), text[at:]...)
		}
		want, got := map[span]bool{}, map[span]bool{}
		for i := range forms {
			forms[i] = lowerASCII(forms[i])
			for from := 0; from+len(forms[i]) <= len(text); from++ {
				if string(lowerASCII(text[from:from+len(forms[i])])) == string(forms[i]) {
					want[span{from, from + len(forms[i])}] = true
				}
			}
		}
		newSearch(forms).find(text, func(from, to int) { got[span{from, to}] = true })
		if diff := cmp.Diff(got, want, cmp.AllowUnexported(span{})); diff != "" {
			t.Fatalf("%q in %q, got before want:\n%s", forms, text, diff)
		}
	})
}

// Whatever the value and the text are, what is left is JSON, says the same beside the value, and
// does not hold it.
func TestRedactAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune("abnrtu\\\"0e9é<&\n\t/ ")), 0, 12, -1)
		value := rapid.StringOfN(rapid.SampledFrom([]rune("abnrtu\\\"0e9é<&\n\t/ ")), 4, 9, -1).Draw(t, "value")
		text := letters.Draw(t, "before") + rapid.SampledFrom([]string{"", value}).Draw(t, "value or not") + letters.Draw(t, "after")
		r := &redactor{}
		r.add(value, Text)
		content, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		redacted := r.redact(content, true)
		if err := json.Unmarshal(redacted, &got); err != nil {
			t.Fatalf("%s: %v", redacted, err)
		}
		if strings.Contains(got, value) {
			t.Fatalf("%q is left in %q", value, got)
		}
		if !strings.Contains(strings.ToLower(text), strings.ToLower(value)) && got != text && strings.Contains(got, masked) {
			if plain := string(r.redact([]byte(text), false)); plain == text {
				t.Fatalf("%q became %q, and does not hold %q", text, got, value)
			}
		}
	})
}

// A value that is found outside of strings leaves JSON that a client can read.
func TestRedactJSONOutsideStrings(t *testing.T) {
	for _, c := range []struct{ value, content, want string }{
		{"12345", `{"n":12345,"text":"12345"}`, `{"n":"•••","text":"•••"}`},
		{"12345", `[-912345.5e3, 1, 12345]`, `["•••", 1, "•••"]`},
		{"1234,5678", `[1234,5678,9]`, `["•••","•••",9]`},
		{"true", `{"ok":true,"text":"it is true"}`, `{"ok":true,"text":"it is •••"}`},
		{"result", `{"result" : {"text":"result","x":["result"]}}`, `{"result" : {"text":"•••","x":["•••"]}}`},
		{"correcthorse", `{"correcthorse":"a","result":{"correcthorse":1}}`, `{"•••":"a","result":{"•••":1}}`},
		{"hunter2", `{"hunter2":"a","Hunter2 and more":1}`, `{"•••":"a","••• and more":1}`},
		{"}},{", `[{"a":{}},{"b":"}},{"}]`, `[{"a":{}},{"b":"•••"}]`},
		{`a":"b`, `{"a":"b","text":"a\":\"b"}`, `{"a":"b","text":"•••"}`},
		{"12345", `not JSON: 12345 "12345`, `not JSON: ••• "•••`},
	} {
		v := vaultOf(Secret{Name: "shop", Kind: Text, Origins: []string{shop}, Value: c.value})
		if _, err := v.Give(t.Context(), "ann", shop, []string{"shop"}); err != nil {
			t.Fatal(err)
		}
		if got := string(v.Redact("ann", []byte(c.content))); got != c.want {
			t.Errorf("%s in %s: %s", c.value, c.content, got)
		}
		if got := string(v.RedactAll([]byte(c.content))); got != c.want {
			t.Errorf("%s in the log's %s: %s", c.value, c.content, got)
		}
	}
}

// What has the Base64 of no value stays, also where a few of its letters are alike.
func TestShortValuesInBase64(t *testing.T) {
	picture := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a picture \x00\xff of many bytes", 2000)))
	r := &redactor{}
	for i := range 200 {
		r.add(fmt.Sprintf("%04d", i*37), Text)
	}
	for _, v := range r.values {
		for _, forms := range [][][]byte{v.text, v.json} {
			for _, f := range forms {
				if len(f) < 6 && !strings.Contains(string(f), v.value) {
					t.Fatalf("%q has the form %q", v.value, f)
				}
			}
		}
	}
	if got := string(r.redact([]byte(picture), false)); got != picture {
		t.Error("a picture was changed")
	}
	for _, whole := range []string{"MDAzNw==", "MDAzNw"} {
		if got := string(r.redact([]byte("it is "+whole), false)); strings.Contains(got, whole) {
			t.Errorf("%s is left", whole)
		}
	}
}

// One-time codes are forgotten in the order in which they were given, and no password is.
func TestCodesAreForgottenAndPasswordsAreNot(t *testing.T) {
	r := &redactor{}
	kept := func(value string) bool { return string(r.redact([]byte(value), false)) == masked }
	code := func(i int) string { return fmt.Sprintf("code-%06d", i) }
	r.add("the password", Text)
	r.add(code(0), TOTP)
	r.add(code(1), TOTP)
	for i := 2; i < maxCodes; i++ { // without their forms, which take time to search for
		r.values = append(r.values, valueForms{value: code(i), code: true})
	}
	r.add(code(0), TOTP) // again: now the newest
	r.add(code(maxCodes), TOTP)
	for value, want := range map[string]bool{"the password": true, code(0): true, code(1): false, code(maxCodes): true} {
		if kept(value) != want {
			t.Errorf("%s: removed %v, want %v", value, !want, want)
		}
	}
	for i := range maxValues - 2 {
		r.values = append(r.values, valueForms{value: fmt.Sprintf("password-%06d", i)})
	}
	if !r.add("the last one", Text) || r.add("one too many", Text) || !r.add("the password", Text) || !r.add(code(maxCodes+1), TOTP) {
		t.Error("what is too many is not refused, or what is not is")
	}
	if !kept("the password") || !kept(code(maxCodes+1)) {
		t.Error("something was forgotten")
	}
	// What is a username and a password is a password.
	r = &redactor{}
	r.add("ann@example", User)
	r.add("ann@example", Text)
	shown := false
	r.hidden.find([]byte("ann@example"), func(int, int) { shown = true })
	if !shown {
		t.Error("a password that is a username, too, counts as one that is shown")
	}
}

func TestNoValueInPrint(t *testing.T) {
	s := Secret{Name: "shop", Kind: Text, Value: "hunter2"}
	if got := fmt.Sprint(s, &s); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

// What a read of a megabyte costs: its text, and the answer in JSON.
func BenchmarkRedact(b *testing.B) {
	r := &redactor{}
	for _, value := range []string{"correct horse battery staple", "hunter2-and-more", "123456"} {
		r.add(value, Text)
	}
	page, err := os.ReadFile("vault.go")
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(strings.Repeat(string(page), 1<<20/len(page)+1))[:1<<20]
	quoted, _ := json.Marshal(string(text))
	markdown := regexp.MustCompile("[!-/:-@[-`{-~]").ReplaceAll(text, []byte(`\$0`))[:1<<20]
	for _, c := range []struct {
		name   string
		text   []byte
		isJSON bool
	}{{"text", text, false}, {"JSON", quoted, true}, {"Markdown", markdown, false}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if len(r.redact(c.text, c.isJSON)) != len(c.text) {
					b.Fatal("changed")
				}
			}
		})
	}
}
