package loginform

import (
	"regexp"
	"strings"
	"sync"
)

// lazily returns a regular expression that is compiled when it is first used.
func lazily(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}

// kind is what a field is for.
type kind int

const (
	other    kind = iota // nothing of a login
	text                 // a text of which nothing is known
	username             // a name or an address by which the site knows somebody
	password
	newPassword // one that is chosen, not known
	code        // a one-time code
	captcha
)

// field is a field and how sure its kind is.
type field struct {
	Control
	kind  kind
	score int
}

// sure is the score of a field whose autocomplete token says what it is for.
const sure = 4

// The words by which sites in English, German, French, Spanish, Italian, Dutch, Portuguese and
// the Scandinavian languages name what belongs to a login.
var (
	codeWords = lazily(`(?i)\botp\b|totp|2fa|mfa|two.?factor|one.?time|(verification|security|auth\w*|access|login|sms|pass).?(code|pin)\b|^(code|pin|token)$|\d.?(digit|stellig)|einmal.?(code|passwort|kennwort)|(bestätigungs|sicherheits|verifizierungs|anmelde|zugangs).?code|code (de|di) |código|codice|engangs|verificatiecode|beveiligingscode`)
	codeNever = lazily(`(?i)zip|post|promo|coupon|voucher|gutschein|rabatt|country|area|länder|vorwahl|invite|referral|discount`)
	userWords = lazily(`(?i)user|login|log.?in|sign.?in|e.?mail|account|identifier|member|benutzer|anmelde|nutzer|kennung|kundennummer|konto|identifiant|utilisateur|courriel|usuario|correo|utente|gebruiker|bruker|användar|bruger|utilizador|phone|mobile|telefon|handy`)
	userNever = lazily(`(?i)search|such|newsletter|subscribe|abonn|coupon|comment|query|^q$`)
	newWords  = lazily(`(?i)\bnew\b|confirm|repeat|again|retype|\bneues\b|wiederhol|bestätig|nouveau|confirmer|nuev|nuov|nieuw|herhaal|\bnytt\b|gjenta|upprepa`)

	captchaWords = lazily(`(?i)captcha|(characters|letters|text|code) (in|from|of) the (image|picture)|zeichen (im|aus dem) bild|sicherheitsabfrage`)
	captchaClass = lazily(`(?i)\b(g-recaptcha|h-captcha|cf-turnstile)\b`)
	captchaSrc   = lazily(`(?i)/recaptcha/|hcaptcha\.com|challenges\.cloudflare\.com|arkoselabs|funcaptcha|geetest|datadome|captcha`)

	submitWords = lazily(`(?i)^\W*(log.?in|sign.?in|log.?on|sign.?on|next|continue|submit|verify|confirm|go on|enter|einloggen|anmelden|login|weiter|bestätigen|prüfen|absenden|senden|connexion|se connecter|suivant|continuer|valider|vérifier|iniciar|entrar|acceder|siguiente|continuar|verificar|accedi|avanti|continua|verifica|inloggen|aanmelden|volgende|doorgaan|controleren|logg (inn|in)|neste|fortsett|nästa|fortsätt|log ind|næste|fortsæt|seguinte)\W*$|^\W*(log|sign) in\b|jetzt (anmelden|einloggen)`)
	notSubmit   = lazily(`(?i)\b(with|mit|avec|con|met|med|via|using|über)\b|google|apple|facebook|github|microsoft|passkey|passwordless|sso\b|forgot|vergessen|oublié|olvid|dimentic|vergeten|glemt|glömt|register|registrier|sign.?up|create|konto (anlegen|erstellen)|show|hide|anzeigen|einblenden|cancel|abbrechen|annuler|cancelar|annulla|avbryt|annuleren|\bback\b|zurück|close|schließen|cookie|accept|akzept|ablehnen|search|suche|resend|erneut|another|andere`)
	logOut      = lazily(`(?i)^\W*(log|sign).?(out|off)|^\W*(abmelden|ausloggen|déconnexion|se déconnecter|cerrar sesión|esci|uitloggen|afmelden|logg (ut|av)|logga ut|log ud|terminar sessão|sair)\b`)

	errorWords = lazily(`(?i)incorrect|invalid|wrong|not (correct|recogni[sz]ed|valid|match)|does(n.t| not) match|do(n.t| not) match|failed|denied|locked|blocked|too many|try again|couldn.t|could not|unknown (user|account)|no account|expired|falsch|ungültig|nicht (korrekt|richtig|erkannt|gefunden|gültig)|stimm(t|en) nicht|fehlgeschlagen|gesperrt|abgelaufen|zu viele|erneut versuchen|incorrecte?|invalide|erroné|échou|incorrect[oa]|inválid|non (è )?(corrett|valid)|errat[oa]|onjuist|ongeldig|mislukt|feil|ugyldig|felaktig|ogiltig|forkert`)
	factorSays = lazily(`(?i)check your (phone|e.?mail|inbox|device)|approve (the|this|your|a) |(we|i).{0,8} sent (you )?(a|an) |tap (yes|approve)|(open|use) (the|your) .{0,30}(authenticator|app\b)|(security key|passkey).{0,30}(insert|touch|use|verify)|(insert|touch|use|verify).{0,30}(security key|passkey)|two.?(factor|step) (auth|verif)|2.?step verif|zwei.?(faktor|stufen)|bestätigen sie (die|ihre|diese) anmeldung|(auf|an) ihr(em)? (handy|smartphone|gerät)|freigabe|sicherheitsschlüssel`)
	robotSays  = lazily(`(?i)verify.{0,20} (human|not a robot)|(not|n't) a robot|are you (a )?human|kein roboter|ein mensch sind|unusual traffic|complete the captcha|solve the (captcha|puzzle|challenge)|checking (if the site connection is secure|your browser)`)
)

// captchaFrame reports whether a frame is a captcha's that waits for somebody: the badge of one
// that asks nothing stands at the corner of many pages.
func captchaFrame(e element) bool {
	return captchaSrc().MatchString(e.Src) && !strings.Contains(e.Src, "size=invisible")
}

// fieldOf recognises what an input is for, at that place of the page.
func fieldOf(e element, at int) field {
	f := field{Control: Control{Ref: e.Ref, Name: e.Name, Enabled: e.Enabled && e.Editable, Filled: e.Content != "", at: at}}
	says := strings.Join([]string{e.FieldName, e.ID, e.Name, e.Placeholder}, "\n")
	in := func(re, never func() *regexp.Regexp) bool {
		for line := range strings.SplitSeq(says, "\n") {
			if re().MatchString(line) {
				return never == nil || !never().MatchString(says)
			}
		}
		return false
	}
	typ := strings.ToLower(e.Type)
	if !f.Enabled {
		return f
	}
	for _, token := range strings.Fields(strings.ToLower(e.Tokens)) {
		switch token {
		case "username":
			f.kind, f.score = username, sure
		case "email", "tel":
			f.kind, f.score = username, 2
		case "current-password":
			f.kind, f.score = password, sure
		case "one-time-code":
			f.kind, f.score = code, sure
		case "new-password":
			f.kind = newPassword
		}
	}
	switch {
	case f.kind != other:
	case in(captchaWords, nil):
		f.kind = captcha
	case typ == "password" && in(codeWords, codeNever) && (e.MaxLength != "" || !strings.Contains(strings.ToLower(says), "pass")):
		f.kind, f.score = code, 2
	case typ == "password" && in(newWords, nil):
		f.kind = newPassword
	case typ == "password":
		f.kind, f.score = password, 1
	case typ != "" && typ != "text" && typ != "email" && typ != "tel" && typ != "number":
	case in(codeWords, codeNever):
		f.kind, f.score = code, 1
	case in(userNever, nil):
	case in(userWords, nil):
		f.kind, f.score = username, 3
		if typ == "email" {
			f.score = 2
		}
	case typ == "email":
		f.kind, f.score = username, 1
	default:
		f.kind = text
	}
	return f
}

// NewError returns the first line of a page's text that says what went wrong and was not there
// before; empty: there is none.
func NewError(now, before string) string { return newLine(errorWords, now, before) }

// SaysFactor returns the line that asks for a second factor in another way than by a field.
func SaysFactor(now, before string) string { return newLine(factorSays, now, before) }

// SaysRobot returns the line that asks for proof that no program is at work.
func SaysRobot(now, before string) string { return newLine(robotSays, now, before) }

func newLine(re func() *regexp.Regexp, now, before string) string {
	for line := range strings.Lines(now) {
		line = strings.TrimSpace(line)
		if line != "" && len(line) <= maxMessage && re().MatchString(line) && !strings.Contains(before, line) {
			return line
		}
	}
	return ""
}
