package ssrfcases

import (
	"io"
	"net/http"
)

// Handler answers the case's chain, and 200 to anything else.
func (c Case) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		for _, h := range c.Chain {
			if h.URL != scheme+"://"+r.Host+r.URL.RequestURI() {
				continue
			}
			for k, v := range h.Headers {
				w.Header().Set(k, v)
			}
			if h.Location != "" {
				w.Header().Set("Location", h.Location)
			}
			w.WriteHeader(h.Status)
			io.WriteString(w, h.Body)
			return
		}
	})
}
