package fallback

import (
	"fmt"
	"slices"
	"strings"

	"github.com/browserd/browserd/fallback/reader"
)

// The sources of static documents.
const (
	HTTP = "http"
	Jina = "jina"
)

// Config says which sources serve where there is no Chromium.
type Config struct {
	Order []string      `koanf:"order" default:"jina,http" doc:"sources beside Chromium, in the order in which reading tries them: jina (the reader), http (direct); one left out is not used. Opening takes http first"`
	Jina  reader.Config `koanf:",squash"`
}

// Check says which value is none.
func (c Config) Check() error {
	for i, s := range c.Order {
		if s != HTTP && s != Jina {
			return fmt.Errorf("fallback.order: %q: takes jina and http", s)
		}
		if slices.Contains(c.Order[:i], s) {
			return fmt.Errorf("fallback.order: %s: names %s twice", strings.Join(c.Order, ","), s)
		}
	}
	return c.Jina.Check()
}
