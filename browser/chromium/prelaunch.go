package chromium

import (
	"log/slog"
	"sync"

	"github.com/browserd/browserd/browser/cdp"
)

// Prelaunched is a Chromium that has its profile directory, its pipes and its jail, and
// whose program has not started yet. It is one small sleeping process. Any goroutine may
// use it.
type Prelaunched struct {
	mu        sync.Mutex
	proc      *Process // nil: taken, or closed
	transport cdp.Transport
}

// Prelaunch prepares the launch of cfg in a jail (cfg.JailPort), which takes some ten
// milliseconds. The error says why there can be none. The caller closes the result.
func Prelaunch(cfg Config, log *slog.Logger) (*Prelaunched, error) {
	found, err := Find(cfg)
	if err != nil {
		return nil, err
	}
	p, transport, err := spawn(cfg, found, log)
	if err != nil {
		return nil, err
	}
	return &Prelaunched{proc: p, transport: transport}, nil
}

// take returns the process, once; nil where it has ended meanwhile, or would become
// another program than the one found now: an upgrade may have moved it.
func (l *Prelaunched) take(found Found) (*Process, cdp.Transport) {
	p, transport := l.out()
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

// out returns the process, once, even where it has ended.
func (l *Prelaunched) out() (*Process, cdp.Transport) {
	if l == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.proc
	l.proc = nil
	return p, l.transport
}

// Close ends the process, if no launch has taken it. l may be nil.
func (l *Prelaunched) Close() {
	if p, transport := l.out(); p != nil {
		transport.Close()
		p.end()
	}
}
