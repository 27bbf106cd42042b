package browser

import (
	"log/slog"
	"sync"

	"github.com/chromedp/chromedp"
)

// Held is a Chromium that has its profile, its pipes and its jail, and waits for the
// word to start: nothing is left of its launch but Chromium's own. It is one small
// sleeping process.
type Held struct {
	mu        sync.Mutex
	proc      *process // nil: taken, or closed
	transport chromedp.Transport
}

// Hold prepares the launch of cfg in a jail (cfg.JailPort), some ten milliseconds.
// The error says why there can be none.
func Hold(cfg Config, log *slog.Logger) (*Held, error) {
	found, err := Find(cfg)
	if err != nil {
		return nil, err
	}
	p, transport, err := spawn(cfg, found, log)
	if err != nil {
		return nil, err
	}
	return &Held{proc: p, transport: transport}, nil
}

// take returns what is held, once; nil where that has ended meanwhile.
func (h *Held) take() (*process, chromedp.Transport) {
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.proc
	h.proc = nil
	if p == nil {
		return nil, nil
	}
	select {
	case <-p.exited:
		h.transport.Close()
		p.end()
		return nil, nil
	default:
		return p, h.transport
	}
}

// Close ends what is held, if nothing has been launched from it.
func (h *Held) Close() {
	if p, transport := h.take(); p != nil {
		transport.Close()
		p.end()
	}
}
