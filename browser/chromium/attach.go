package chromium

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/browser"

	"github.com/browserd/browserd/browser/attach"
	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// consentWait is how long a command waits for the person's answer before it returns waiting_for_consent.
const consentWait = time.Second

// howToAttach is the next step for a person who has not turned on remote debugging.
const howToAttach = "in the browser open chrome://inspect/#remote-debugging, turn on remote debugging, and run: browserd attach"

// consent is the person's answer to the connection. Guarded by the Supervisor's mu.
type consent struct {
	pending bool            // the browser asks the person now
	refused *protocol.Error // they refused, or did not answer in time: not asked again until Attach
}

// attach connects to the person's own browser, and waits for their answer.
func (s *Supervisor) attach(cfg Config) (*cdp.Conn, browser.GetVersionResult, error) {
	var none browser.GetVersionResult
	dir := cfg.AttachDir
	if dir == "" {
		if dir = attach.DefaultDir(); dir == "" {
			return nil, none, unavailable("set browser.attach_dir to its user data directory", "browser.attach: there is no Chrome or Chromium of yours")
		}
	}
	address, err := attach.Find(dir)
	if err != nil {
		return nil, none, unavailable(howToAttach, "browser.attach: your browser takes no connections: %w", err)
	}
	s.setConsentPending(true)
	defer s.setConsentPending(false)
	s.log.Info("your browser asks you whether browserd may use it: press Allow")
	t, err := cdp.Dial(s.ctx, address)
	if err != nil && !errors.Is(err, cdp.ErrRefused) { // it was closed while it asked
		return nil, none, unavailable(howToAttach, "browser.attach: your browser ended before you answered: %w", withoutURL(err))
	}
	if err != nil {
		refused := unavailable("browserd attach asks again", "browser.attach: you, or nobody in time, allowed browserd to use your browser: %w", withoutURL(err))
		if s.ctx.Err() == nil {
			s.mu.Lock()
			s.consent.refused = refused
			s.mu.Unlock()
		}
		return nil, none, refused
	}
	conn := cfg.connect(attach.Only(t))
	v, err := version(s.ctx, conn)
	if err != nil {
		conn.Close()
		return nil, none, unavailable("check that it is a Chromium", "browser.attach: your browser does not answer as Chromium does: %w", err)
	}
	return conn, v, nil
}

func (s *Supervisor) setConsentPending(pending bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consent.pending = pending
}

// consentTimeout returns a channel that is closed when a command has waited for consentWait for the person's
// answer. It is nil without browser.attach.
func (s *Supervisor) consentTimeout(ctx context.Context, f *pendingLaunch) <-chan struct{} {
	if !s.cfg.Attach {
		return nil
	}
	timeout, cancel := context.WithTimeout(ctx, consentWait)
	expired := make(chan struct{})
	go func() {
		defer cancel()
		select {
		case <-f.done:
			return
		case <-timeout.Done():
		}
		if ctx.Err() == nil {
			close(expired)
		}
	}()
	return expired
}

func waitingForConsent() error {
	return protocol.Errorf(protocol.WaitingForConsent, "your browser asks whether browserd may use it, and nobody has answered")
}

// Attach connects, and asks the person again if they have refused. It returns waiting_for_consent
// after a second without an answer.
func (s *Supervisor) Attach(ctx context.Context) error {
	if !s.cfg.Attach {
		return errors.New("browser.attach is not set")
	}
	s.mu.Lock()
	s.consent.refused, s.retryAt, s.failures = nil, time.Time{}, 0
	s.mu.Unlock()
	if err := s.Warm(ctx); err != nil {
		return fmt.Errorf("attaching: %w", err)
	}
	return nil
}

// detachedCause is the cause for OnLost when the connection to the person's own browser has ended.
const detachedCause = "your own browser was closed, or ended the connection"

// attachment is the state for Info. The caller holds mu.
func (s *Supervisor) attachment() string {
	switch r := s.current; {
	case !s.cfg.Attach:
		return ""
	case r != nil && r.conn.Err() == nil:
		return "attached"
	case s.consent.pending:
		return "waiting_for_consent"
	case s.consent.refused != nil:
		return "refused"
	}
	return "not_attached"
}
