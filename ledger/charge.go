package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Charge is what one call has taken from its agent. Nil and the zero value have
// taken nothing and settle nothing.
type Charge struct {
	ledger  *Ledger
	id      string
	agent   string
	command string
	price   Price
	cost    int
	settled bool
}

// Outcome is how a charged call ended.
type Outcome int

const (
	// Refused: before any work; the agent gets everything back and the call
	// does not count towards its rate.
	Refused Outcome = iota
	// Worked: something was sent or fetched, whether or not it succeeded.
	Worked
	// Rendered: Worked, and Chromium rendered the page.
	Rendered
)

// Begin asks whether agent may call command now, and takes its price, in
// one transaction: two callers, in one daemon or in two, cannot take the same
// credit. A command that costs nothing, and any command while neither credits
// nor rates are on, gets a Charge that does nothing.
//
// The error is a *protocol.Error: credits_exhausted (details: balance, cost),
// rate_limited (details: retry_after_s, limit) or ledger_unavailable; then
// nothing was taken.
func (l *Ledger) Begin(ctx context.Context, agent, command string, price Price) (*Charge, error) {
	cost, charged := l.cfg.cost(price)
	if !charged || !l.cfg.limits() {
		return &Charge{}, nil
	}
	if !l.cfg.Credits {
		cost = 0
	}
	if err := l.layOut(ctx); err != nil {
		return nil, l.countRefusal(l.unavailable(ctx, err))
	}
	c := &Charge{ledger: l, id: rand.Text(), agent: agent, command: command, price: price, cost: cost}
	err := l.transact(ctx, func(tx *sql.Tx) error { return l.take(ctx, tx, c) })
	if err == nil {
		return c, nil
	}
	if errors.Is(err, errUncertain) {
		// What may have been taken, for a call that now never begins, is given back.
		l.settleLater(settlement{c.id, c.agent, 0, "refunded"})
	}
	if said := (*protocol.Error)(nil); errors.As(err, &said) {
		return nil, l.countRefusal(said)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, context.Cause(ctx)
	}
	return nil, l.countRefusal(l.unavailable(ctx, err))
}

// take is Begin's transaction. The update comes first: it locks the agent's
// row, so that its calls are counted one after the other.
func (l *Ledger) take(ctx context.Context, tx *sql.Tx, c *Charge) error {
	if err := l.addAccount(ctx, tx, c.agent, l.initial[c.agent]); err != nil {
		return err
	}
	var left int
	err := tx.QueryRowContext(ctx, l.dialect.q("UPDATE accounts SET balance = balance - ? WHERE agent = ? AND balance >= ? RETURNING balance"), c.cost, c.agent, c.cost).Scan(&left)
	if errors.Is(err, sql.ErrNoRows) {
		balance, err := l.balance(ctx, tx, c.agent)
		if err != nil {
			return err
		}
		return protocol.Errorf(protocol.CreditsExhausted, "%s costs %d credits and %s has %d left", c.command, c.cost, c.agent, balance).
			With("balance", balance).With("cost", c.cost)
	}
	if err != nil {
		return err
	}
	now := l.now()
	if l.cfg.PerHour > 0 {
		if err := l.checkRate(ctx, tx, c.agent, now); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, l.dialect.q("INSERT INTO charges (id, at, agent, command, cost, state) VALUES (?, ?, ?, ?, ?, 'taken')"),
		c.id, now.UnixMicro(), c.agent, c.command, c.cost)
	return err
}

// checkRate counts the calls of the hour that ends now. The wait ends when
// enough of them lie more than an hour back. Calls of the future, which the clock was
// set back from, do not count, but for a minute in which two daemons' clocks may differ.
func (l *Ledger) checkRate(ctx context.Context, tx *sql.Tx, agent string, now time.Time) error {
	since, until := now.Add(-time.Hour).UnixMicro(), now.Add(time.Minute).UnixMicro()
	var oldest int64
	err := tx.QueryRowContext(ctx, l.dialect.q("SELECT at FROM charges WHERE agent = ? AND at > ? AND at <= ? AND state <> 'refunded' ORDER BY at DESC LIMIT 1 OFFSET ?"),
		agent, since, until, l.cfg.PerHour-1).Scan(&oldest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	wait := time.UnixMicro(oldest).Add(time.Hour).Sub(now)
	return protocol.Errorf(protocol.RateLimited, "%s has made %d calls of the web tools within an hour, which is all it may", agent, l.cfg.PerHour).
		With("retry_after_s", int(wait.Seconds())+1).With("limit", l.cfg.PerHour)
}

// Settle ends the charge: Refused gives everything back, Worked gives back
// what rendering would have cost. It returns what the call cost in the end.
// Only the first call counts. Where the database does not answer, the
// settlement waits for it in the background.
func (c *Charge) Settle(ctx context.Context, how Outcome) (cost int) {
	if c == nil || c.ledger == nil || c.settled {
		return 0
	}
	c.settled = true
	l := c.ledger
	s := settlement{c.id, c.agent, c.cost, "kept"}
	switch {
	case how == Refused:
		s.cost, s.state = 0, "refunded"
	case how == Worked && c.price == PerFetch && l.cfg.Credits:
		s.cost = c.cost - l.cfg.Costs.Render
	}
	l.countSettled(c.command, s.cost, how)
	// The call may have been cancelled; its settlement is not. Its answer waits for
	// it as long as the call has time, and a moment where it has none.
	limit := settleWait
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(end), settleMoment))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := l.settle(ctx, s); err != nil {
		l.log.WarnContext(ctx, "a charge could not be settled yet", "agent", c.agent, "command", c.command, "error", l.clean(err))
		l.settleLater(s)
	}
	return s.cost
}

// How long an answer waits for its settlement, which is otherwise left to the
// background.
const (
	settleWait   = 5 * time.Second
	settleMoment = 500 * time.Millisecond
)

// settlement is the end of a charge: what it is to cost, and its state then.
type settlement struct {
	id    string
	agent string
	cost  int
	state string
}

// settle applies s once: a charge that is settled already, or was never
// written, is left alone, so that it may be tried again.
func (l *Ledger) settle(ctx context.Context, s settlement) error {
	if err := l.layOut(ctx); err != nil {
		return err
	}
	return l.transact(ctx, func(tx *sql.Tx) error {
		// The account first, as Begin does: the same order everywhere, and no deadlock.
		if _, err := tx.ExecContext(ctx, l.dialect.q(
			"UPDATE accounts SET balance = balance + COALESCE((SELECT cost - ? FROM charges WHERE id = ? AND state = 'taken'), 0) WHERE agent = ?"),
			s.cost, s.id, s.agent); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, l.dialect.q("UPDATE charges SET cost = ?, state = ? WHERE id = ? AND state = 'taken'"), s.cost, s.state, s.id)
		return err
	})
}

func (l *Ledger) settleLater(s settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsettled = append(l.unsettled, s)
}

// settleWaiting tries the settlements that wait, until one fails. Each waits until
// it is written. Only the writer calls it.
func (l *Ledger) settleWaiting(ctx context.Context) error {
	for l.waits() {
		l.mu.Lock()
		s := l.unsettled[0]
		l.mu.Unlock()
		if err := l.settle(ctx, s); err != nil {
			return err
		}
		l.mu.Lock()
		l.unsettled = l.unsettled[1:]
		l.mu.Unlock()
	}
	return nil
}
