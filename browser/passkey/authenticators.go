// Package passkey gives the pages of a browser context virtual authenticators (CDP domain
// WebAuthn), one for each page and its frames.
//
// They hold nothing and are never touched, except while UsePasskeys runs: then the page that is named,
// and pages that it opens, have the passkeys that it was given. A request for a passkey at any
// other time waits until the page gives up.
package passkey

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/cdproto/webauthn"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Authenticators are those of one browser context. Any goroutine may call its methods. Pages have
// an authenticator from HoldPasskeys or UsePasskeys on.
type Authenticators struct {
	selected func(ctx context.Context) (*cdp.Session, error)

	calling sync.Mutex // held while pages are given authenticators; taken before mu

	mu    sync.Mutex
	on    bool
	pages map[target.SessionID]*page
	use   *use // under way; nil: none
}

// New returns those of a context. selected returns the page that is the selected tab's.
func New(selected func(ctx context.Context) (*cdp.Session, error)) *Authenticators {
	return &Authenticators{selected: selected, pages: map[target.SessionID]*page{}}
}

// page is one page.
type page struct {
	cdp *cdp.Session
	id  webauthn.AuthenticatorID // empty: it has none
}

// use is one call of UsePasskeys.
type use struct {
	without map[target.SessionID]bool // pages that do not get the passkeys: all but one that were there
	keys    []protocol.Passkey
	over    bool // pages get none any more; what they did with those they had still counts
	uses    []protocol.PasskeyUse
	got     chan struct{} // 1
}

// Attach takes a page before it runs; life ends with it. The full browser opens no window of its
// own any more that asks for a passkey.
func (a *Authenticators) Attach(ctx, life context.Context, s *cdp.Session) error {
	a.calling.Lock()
	defer a.calling.Unlock()
	ui := false
	s.Send(webauthn.Enable.Method, webauthn.EnableParams{EnableUI: &ui})
	p := &page{cdp: s}
	a.mu.Lock()
	a.pages[s.ID()] = p
	on := a.on
	a.mu.Unlock()
	context.AfterFunc(life, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.pages, s.ID())
	})
	if on {
		return a.give(ctx, p)
	}
	return nil
}

// HoldPasskeys has all pages have an authenticator from now on.
func (a *Authenticators) HoldPasskeys(ctx context.Context) error {
	a.calling.Lock()
	defer a.calling.Unlock()
	a.mu.Lock()
	a.on = true
	a.mu.Unlock()
	return a.giveAll(ctx)
}

// giveAll gives every page a new authenticator. That a page is gone is no error. The caller holds
// calling.
func (a *Authenticators) giveAll(ctx context.Context) (first error) {
	a.mu.Lock()
	all := make([]*page, 0, len(a.pages))
	for _, p := range a.pages {
		all = append(all, p)
	}
	a.mu.Unlock()
	for _, p := range all {
		if err := a.give(ctx, p); err != nil && first == nil && a.has(p) {
			first = err
		}
	}
	return first
}

func (a *Authenticators) has(p *page) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pages[p.cdp.ID()] == p
}

// give gives a page a new authenticator in the place of its own: with the passkeys of the use
// that is under way, if they are for it. What the page has asked the old one for fails, so
// that it can ask again. The caller holds calling.
func (a *Authenticators) give(ctx context.Context, p *page) error {
	a.mu.Lock()
	old, present, keys := p.id, false, []protocol.Passkey(nil)
	if a.use != nil && !a.use.over && !a.use.without[p.cdp.ID()] {
		present, keys = true, a.use.keys
	}
	a.mu.Unlock()
	if old != "" {
		p.cdp.Send(webauthn.RemoveVirtualAuthenticator.Method, webauthn.RemoveVirtualAuthenticatorParams{AuthenticatorID: old})
	}
	var got webauthn.AddVirtualAuthenticatorResult
	err := p.cdp.Call(ctx, webauthn.AddVirtualAuthenticator.Method, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Ctap2version: webauthn.Ctap2versionCtap21, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: present,
	}}, &got)
	if err != nil {
		return err
	}
	a.mu.Lock()
	p.id = got.AuthenticatorID
	a.mu.Unlock()
	var waits []*cdp.Pending
	for _, k := range keys {
		waits = append(waits, p.cdp.Send(webauthn.AddCredential.Method, map[string]any{"authenticatorId": got.AuthenticatorID, "credential": credentialOf(k)}))
	}
	return cdp.WaitAll(ctx, waits)
}

// UsePasskeys lets the selected tab, and tabs that it opens, make passkeys and use keys, while do
// runs and until one was made or used, for at most wait more. It returns all that were, also with
// an error. Calls do not overlap.
func (a *Authenticators) UsePasskeys(ctx context.Context, keys []protocol.Passkey, wait time.Duration, do func() error) ([]protocol.PasskeyUse, error) {
	at, err := a.selected(ctx)
	if err != nil {
		return nil, err
	}
	u := &use{without: map[target.SessionID]bool{}, keys: keys, got: make(chan struct{}, 1)}
	a.calling.Lock()
	a.mu.Lock()
	a.on, a.use = true, u
	for id := range a.pages {
		u.without[id] = id != at.ID()
	}
	a.mu.Unlock()
	err = a.giveAll(ctx)
	a.calling.Unlock()
	if err == nil {
		if err = do(); err == nil {
			late := time.NewTimer(wait)
			defer late.Stop()
			select {
			case <-u.got:
			case <-late.C:
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
	}
	a.calling.Lock()
	defer a.calling.Unlock()
	a.mu.Lock()
	u.over = true
	a.mu.Unlock()
	within, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	if late := a.giveAll(within); err == nil {
		err = late
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.use = nil
	return u.uses, err
}

// Made takes the event WebAuthn.credentialAdded of a page, and Used credentialAsserted.
func (a *Authenticators) Made(at target.SessionID, params jsonv2.Value) { a.took(at, params, true) }

// Used is Made for a passkey that was there.
func (a *Authenticators) Used(at target.SessionID, params jsonv2.Value) { a.took(at, params, false) }

func (a *Authenticators) took(at target.SessionID, params jsonv2.Value, made bool) {
	var e webauthn.EventCredentialAdded // the other one is the same
	if json.Unmarshal(params, &e) != nil || e.Credential == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pages[at]
	if a.use == nil || p == nil || p.id != e.AuthenticatorID {
		return
	}
	a.use.uses = append(a.use.uses, protocol.PasskeyUse{Made: made, Passkey: passkeyOf(e.Credential)})
	select {
	case a.use.got <- struct{}{}:
	default:
	}
}

func passkeyOf(c *webauthn.Credential) protocol.Passkey {
	return protocol.Passkey{
		ID: base64.RawURLEncoding.EncodeToString(c.CredentialID), RPID: c.RpID, UserName: c.UserName, UserDisplayName: c.UserDisplayName, UserHandle: c.UserHandle,
		PrivateKey: c.PrivateKey, SignCount: int64(c.SignCount), Resident: c.IsResidentCredential, BackupEligible: c.BackupEligibility, BackedUp: c.BackupState,
	}
}

// credentialOf returns a WebAuthn.Credential. That of cdproto always has
// generateCmtgKeyOnNextOperation, which an authenticator without CMTG refuses.
func credentialOf(k protocol.Passkey) map[string]any {
	id, _ := base64.RawURLEncoding.DecodeString(k.ID) // it is passkeyOf's
	c := map[string]any{
		"credentialId": id, "rpId": k.RPID, "isResidentCredential": k.Resident, "privateKey": k.PrivateKey, "signCount": k.SignCount,
		"backupEligibility": k.BackupEligible, "backupState": k.BackedUp, "userName": k.UserName, "userDisplayName": k.UserDisplayName,
	}
	if len(k.UserHandle) > 0 {
		c["userHandle"] = k.UserHandle
	}
	return c
}
