package browser

import (
	"log/slog"
	"sync"

	"github.com/browserd/browserd/browser/cdp"
)

// Held is a Chromium that has its profile, its pipes and its jail, and waits for the
// word to start: nothing is left of its launch but Chromium's own. It is one small
// sleeping process.
type Held struct {
	mu        sync.Mutex
	proc      *process // nil: taken, or closed
	transport cdp.Transport
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

// take returns what is held, once; nil where that has ended meanwhile, or would become
// another program than the one found now: an upgrade may have moved it.
func (h *Held) take(found Found) (*process, cdp.Transport) {
	p, transport := h.out()
	if p == nil {
		return nil, nil
	}
	useless := p.found != found
	select {
	case <-p.exited:
		useless = true
	default:
	}
	if useless {
		transport.Close()
		p.end()
		return nil, nil
	}
	return p, transport
}

// out returns what is held, whatever has become of it, once.
func (h *Held) out() (*process, cdp.Transport) {
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.proc
	h.proc = nil
	return p, h.transport
}

// Close ends what is held, if nothing has been launched from it.
func (h *Held) Close() {
	if p, transport := h.out(); p != nil {
		transport.Close()
		p.end()
	}
}
