package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Charge is what one call has cost its agent so far. Nil and the zero value cost
// nothing, and Settle does nothing for them.
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
	// Refused: the call ended before any work. The agent gets all credits back, and
	// the call does not count towards its rate.
	Refused Outcome = iota
	// Worked: something was sent or fetched, successfully or not.
	Worked
	// Rendered: like Worked, and Chromium rendered the page.
	Rendered
)

// Begin checks whether agent may call command now and deducts the price, in one
// transaction, so that two callers, in one daemon or in two, cannot spend the same
// credit. It returns a Charge that does nothing if the command is free, or if neither
// credits nor rates are on.
//
// The error is a *protocol.Error: credits_exhausted (details: balance, cost),
// rate_limited (details: retry_after_s, limit) or ledger_unavailable. After an error
// nothing has been deducted.
func (l *Ledger) Begin(ctx context.Context, agent, command string, price Price) (*Charge, error) {
	cost, charged := l.cfg.cost(price)
	if !charged || !l.cfg.limits() {
		return &Charge{}, nil
	}
	if !l.cfg.Credits {
		cost = 0
	}
	if err := l.createTables(ctx); err != nil {
		return nil, l.countRefusal(l.unavailable(ctx, err))
	}
	c := &Charge{ledger: l, id: rand.Text(), agent: agent, command: command, price: price, cost: cost}
	err := l.transact(ctx, func(tx *sql.Tx) error { return l.take(ctx, tx, c) })
	if err == nil {
		return c, nil
	}
	if errors.Is(err, errUncertain) {
		// The commit may have happened although the call does not begin: refund it.
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

// take is Begin's transaction. The UPDATE comes first because it locks the agent's row, so that concurrent
// calls of one agent are counted one after the other.
func (l *Ledger) take(ctx context.Context, tx *sql.Tx, c *Charge) error {
	if err := l.addAccount(ctx, tx, c.agent, l.initial[c.agent]); err != nil {
		return err
	}
	var left int
	err := tx.QueryRowContext(ctx, l.dialect.rebind("UPDATE accounts SET balance = balance - ? WHERE agent = ? AND balance >= ? RETURNING balance"), c.cost, c.agent, c.cost).Scan(&left)
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
	_, err = tx.ExecContext(ctx, l.dialect.rebind("INSERT INTO charges (id, at, agent, command, cost, state) VALUES (?, ?, ?, ?, ?, 'taken')"),
		c.id, now.UnixMicro(), c.agent, c.command, c.cost)
	return err
}

// checkRate counts the agent's calls of the last hour. retry_after_s is the time until
// enough of them are older than an hour. Calls dated in the future, which exist after
// the clock was set back, do not count, except those of the next minute: the clocks of
// two daemons may differ by that much.
func (l *Ledger) checkRate(ctx context.Context, tx *sql.Tx, agent string, now time.Time) error {
	since, until := now.Add(-time.Hour).UnixMicro(), now.Add(time.Minute).UnixMicro()
	var oldest int64
	err := tx.QueryRowContext(ctx, l.dialect.rebind("SELECT at FROM charges WHERE agent = ? AND at > ? AND at <= ? AND state <> 'refunded' ORDER BY at DESC LIMIT 1 OFFSET ?"),
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

// Settle ends the charge and returns what the call cost: Refused refunds everything,
// Worked refunds the price of rendering. Only the first call of Settle has an effect. If
// the database does not answer, the settlement is retried in the background.
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
	// Settle even if the call was cancelled. The answer waits for the settlement until
	// the call's deadline, but at least minSettleWait.
	limit := settleWait
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(end), minSettleWait))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := l.settle(ctx, s); err != nil {
		l.log.WarnContext(ctx, "a charge could not be settled yet", "agent", c.agent, "command", c.command, "error", l.clean(err))
		l.settleLater(s)
	}
	return s.cost
}

// How long an answer waits for its settlement before the background takes over.
const (
	settleWait    = 5 * time.Second
	minSettleWait = 500 * time.Millisecond
)

// settlement is how a charge ends: its final cost and state.
type settlement struct {
	id    string
	agent string
	cost  int
	state string
}

// settle applies s. It may be retried: a charge that is settled already, or was never
// written, stays unchanged.
func (l *Ledger) settle(ctx context.Context, s settlement) error {
	if err := l.createTables(ctx); err != nil {
		return err
	}
	return l.transact(ctx, func(tx *sql.Tx) error {
		// Lock the account first, as Begin does: one order of locks, so no deadlock.
		if _, err := tx.ExecContext(ctx, l.dialect.rebind(
			"UPDATE accounts SET balance = balance + COALESCE((SELECT cost - ? FROM charges WHERE id = ? AND state = 'taken'), 0) WHERE agent = ?"),
			s.cost, s.id, s.agent); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, l.dialect.rebind("UPDATE charges SET cost = ?, state = ? WHERE id = ? AND state = 'taken'"), s.cost, s.state, s.id)
		return err
	})
}

func (l *Ledger) settleLater(s settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsettled = append(l.unsettled, s)
}

// settleQueued writes the queued settlements until one fails; that one stays queued.
// Only the writer goroutine calls it.
func (l *Ledger) settleQueued(ctx context.Context) error {
	for l.hasUnsettled() {
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
