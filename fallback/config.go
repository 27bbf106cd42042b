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

// Config configures the sources of documents beside Chromium.
type Config struct {
	Order []string      `koanf:"order" default:"jina,http" doc:"sources beside Chromium, in the order in which reading tries them: jina (the reader), http (direct); one left out is not used. Opening takes http first"`
	Jina  reader.Config `koanf:",squash"`
	// MemoryMB is for all sessions together, in MiB.
	MemoryMB int `koanf:"memory_mb" default:"2048" doc:"MiB that the daemon may take with the pages of sessions without Chromium, above which it opens no further large one (too_large); 0: no limit"`
}

// Check returns an error that names the first invalid key and its value.
func (c Config) Check() error {
	for i, s := range c.Order {
		if s != HTTP && s != Jina {
			return fmt.Errorf("fallback.order: %q: accepts jina and http", s)
		}
		if slices.Contains(c.Order[:i], s) {
			return fmt.Errorf("fallback.order: %s: names %s twice", strings.Join(c.Order, ","), s)
		}
	}
	if c.MemoryMB < 0 {
		return fmt.Errorf("fallback.memory_mb: %d: accepts a number of MiB, 0 for no limit", c.MemoryMB)
	}
	return c.Jina.Check()
}
