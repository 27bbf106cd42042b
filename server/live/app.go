package live

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"sync"
)

var (
	//go:embed app.html
	appHTML string
	//go:embed app.css
	appCSS string
	//go:embed app.js
	viewJS string
)

// appJS is the script of a view's page.
var appJS = sync.OnceValue(func() string { return viewJS + grantsJS })

var appTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("app").Parse(appHTML))
})

// appPolicy is the Content-Security-Policy of a view's page: its own style and script, by
// their hashes, and requests to the daemon.
var appPolicy = sync.OnceValue(func() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(appJS()) + "; style-src " + hash(appCSS) + "; connect-src 'self'; media-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})

// App returns the page of a view, with the current state.
func App(v *View, now State) ([]byte, error) {
	var out bytes.Buffer
	err := appTemplate().Execute(&out, struct {
		CSRF   string
		Style  template.CSS
		Script template.JS
		State  State
	}{v.CSRF, template.CSS(appCSS), template.JS(appJS()), now})
	return out.Bytes(), err
}

// SetAppHeader sets the header fields of the response with the page of a view.
func SetAppHeader(h http.Header) {
	SetHeader(h)
	h.Set("Content-Security-Policy", appPolicy())
}
