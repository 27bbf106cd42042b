package browser

import (
	"fmt"
	"time"

	"github.com/browserd/browserd/browser/chromium"
)

// Config is the section browser of the configuration: which Chromium is used and how,
// and how many browser contexts are kept for it.
type Config struct {
	chromium.Config `koanf:",squash"`

	ReadyContexts int           `koanf:"ready_contexts" doc:"browser contexts that are ready before a session asks for one, while sessions use Chromium; 0: none" default:"1"`
	IdleTimeout   time.Duration `koanf:"idle_timeout" workdir:"true" doc:"how long Chromium stays when no session uses it; 0: as long as the daemon" default:"5m"`
	Ahead         bool          `koanf:"ahead" workdir:"true" doc:"start Chromium with the daemon and keep it running, instead of on first use" default:"false"`
}

// maxReady is the largest Config.ReadyContexts: each context has a process.
const maxReady = 16

// Check returns what is wrong with c by itself, without looking at the machine: one
// sentence that names the key and the value, or nil.
func (c Config) Check() error {
	if err := c.Config.Check(); err != nil {
		return err
	}
	if c.ReadyContexts < 0 || c.ReadyContexts > maxReady {
		return fmt.Errorf("browser.ready_contexts: %d: accepts 0 to %d", c.ReadyContexts, maxReady)
	}
	if c.IdleTimeout < 0 {
		return fmt.Errorf("browser.idle_timeout: %v: accepts a duration such as 5m, or 0", c.IdleTimeout)
	}
	return nil
}
