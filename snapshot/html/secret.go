package html

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Mask is shown in place of a secret.
const Mask = "\u2022\u2022\u2022"

// secretWords are browser/script/js/secrets.js, in Go: the tokens of autofill that stand
// for secrets, what a name or a label says of one, and what it says only about one.
var secretWords = sync.OnceValue(func() (w struct{ autofill, says, about, camel, apart *regexp.Regexp }) {
	w.autofill = regexp.MustCompile(`\b(one-time-code|cc-[a-z-]+|current-password|new-password)\b`)
	w.says = regexp.MustCompile(`(^| )(\pL*(password|passwd|passphrase|passcode|passwort|kennwort|pwd)|otp|totp|cvv|cvc|csc|mot de passe|` +
		`contraseña|senha|wachtwoord|lösenord|hasło|heslo|şifre|salasana|adgangskode|passord|пароль|` +
		`(one time|verification|authentication|security) (code|password|passcode|pin))( |$)|密码|密碼|パスワード|비밀번호`)
	w.about = regexp.MustCompile(`(^| )(hints?|length|strength|reset|forgot|forgotten|recover|recovery|e?mail|search|find|filter|manager|policy|question|expir\w*|rules?|url|count|min|max|minimum|maximum)( |$)`)
	w.camel = regexp.MustCompile(`([a-z])([A-Z])`)
	w.apart = regexp.MustCompile(`\PL+`)
	return w
})

const longestSaying = 60 // characters of a label; what is longer explains something

// saysSecret reports whether a name or a label says that its field holds a secret.
func saysSecret(s string) bool {
	if s == "" || len(s) > 4*longestSaying || utf8.RuneCountInString(s) > longestSaying || strings.IndexFunc(s, unicode.IsLetter) < 0 {
		return false
	}
	w := secretWords()
	s = strings.TrimSpace(w.apart.ReplaceAllString(strings.ToLower(w.camel.ReplaceAllString(s, "$1 $2")), " "))
	return w.says.MatchString(s) && !w.about.MatchString(s)
}

// KeepSecret has a field of the document count as one whose value must be masked.
func KeepSecret(d *Document, n *html.Node) {
	if d.secrets == nil {
		d.secrets = map[*html.Node]bool{}
	}
	d.secrets[n] = true
}

// Secret reports whether the value of a field must be masked: a password, a code that
// counts once, a card's data, by its type, its autofill, its style, its names and its labels.
func (d *Document) Secret(n *html.Node) bool {
	input := is(n, atom.Input)
	if !input && !is(n, atom.Textarea) {
		return false
	}
	if d.secrets[n] {
		return true
	}
	kind := "text"
	if input {
		kind = InputType(n)
	}
	if kind == "password" || secretWords().autofill.MatchString(strings.ToLower(attr(n, "autocomplete"))) || d.resolver(nil).style(n).dotted {
		return true
	}
	if kind != "text" && kind != "tel" && kind != "number" {
		return false
	}
	for _, a := range []string{"name", "id", "aria-label", "placeholder", "title"} {
		if saysSecret(attr(n, a)) {
			return true
		}
	}
	for _, id := range strings.Fields(head(attr(n, "aria-labelledby"), maxName)) {
		if e := d.ByID(id); e != nil && saysSecret(fold(textContent(e, 4*longestSaying))) {
			return true
		}
	}
	for _, l := range d.Labels(n) {
		if saysSecret(fold(textContent(l, 4*longestSaying))) {
			return true
		}
	}
	return false
}

func mask(d *Document, n *html.Node, v string) string {
	if v != "" && d.Secret(n) {
		return Mask
	}
	return v
}
