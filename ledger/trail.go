package ledger

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// Entry is one line of the audit trail: who asked for what, and how it ended. It has no
// field for bodies, and its URL is masked before it is written.
type Entry struct {
	Time    time.Time `json:"time"`
	Agent   string    `json:"agent"`
	Session string    `json:"session,omitempty"`
	Command string    `json:"command"`
	URL     string    `json:"url,omitempty"`    // the values of its query are masked
	Status  int       `json:"status,omitempty"` // HTTP, of the main response
	Bytes   int64     `json:"bytes,omitempty"`  // of the answer that was given
	Source  string    `json:"source,omitempty"` // chromium, http, jina, or a search provider
	Verdict string    `json:"verdict"`          // ok, or the error's code, with its reason after a colon
	MS      int       `json:"ms"`
	Cost    int       `json:"cost,omitempty"` // credits
	Run     string    `json:"run,omitempty"`  // the id of the script that sent the command, or that it ran
}

// How many entries may wait, and how many are written in one transaction.
const (
	trailBuffer = 8192
	trailBatch  = 256
)

// writeEvery is how long an entry may wait to be written together with others.
const writeEvery = 250 * time.Millisecond

// retryAfter is the pause after the database failed.
const retryAfter = 2 * time.Second

// Record adds e to the trail. It returns at once; entries are written in batches in the
// background. While the database cannot be reached, up to trailBuffer entries wait.
// Further ones are dropped, and the log says so.
func (l *Ledger) Record(e Entry) {
	if l.trail == nil || !l.cfg.Audit {
		return
	}
	if e.Time.IsZero() {
		e.Time = l.now()
	}
	e.URL = MaskURL(e.URL)
	select {
	case l.trail <- &e:
	default:
		l.mu.Lock()
		l.dropped++
		first := l.dropped == 1
		l.mu.Unlock()
		if first {
			l.log.Error("the audit trail cannot be written fast enough: entries are dropped")
		}
	}
}

// Waiting returns the number of settlements that are not written yet, and the number of
// trail entries dropped so far.
func (l *Ledger) Waiting() (unsettled, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.unsettled), l.dropped
}

// Flush returns when everything recorded before it is written, or when ctx ends.
func (l *Ledger) Flush(ctx context.Context) {
	if l.flush == nil {
		return
	}
	written := make(chan struct{})
	select {
	case l.flush <- written:
		select {
		case <-written:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
}

// write is the goroutine that writes the trail and the queued settlements.
func (l *Ledger) write(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	pruned := time.Time{}
	var batch []Entry
	var wait time.Time // no attempt before this time, after the database failed
	failing := false
	var flushing []chan struct{} // closed with the next write that succeeds
	written := func() {
		if len(l.trail) > 0 { // they may have been recorded before it
			return
		}
		for _, c := range flushing {
			close(c)
		}
		flushing = nil
	}
	write := func() {
		if time.Now().Before(wait) {
			return
		}
		if len(batch) == 0 && !l.hasUnsettled() {
			written()
			return
		}
		err := l.writeAll(ctx, batch)
		switch {
		case err == nil:
			batch = batch[:0]
			if failing {
				l.log.Info("the ledger's database is back")
			}
			failing = false
			written()
		default:
			wait = time.Now().Add(retryAfter)
			if !failing {
				l.log.Error("the ledger's database does not answer: what is to be written waits", "error", l.clean(err))
			}
			failing = true
		}
	}
	for {
		in := l.trail
		if len(batch) >= trailBatch {
			in = nil // written first
		}
		select {
		case e := <-in:
			if batch = append(batch, *e); len(batch) == trailBatch {
				write()
			}
		case <-tick.C:
			write()
			if l.haveTables() && time.Since(pruned) > time.Hour && !failing {
				pruned = time.Now()
				l.prune(ctx)
			}
		case c := <-l.flush:
			flushing = append(flushing, c)
			wait = time.Time{}
			write()
			for more := true; more && !failing; {
				select {
				case e := <-l.trail:
					if batch = append(batch, *e); len(batch) == trailBatch {
						write()
					}
				default:
					write()
					more = false
				}
			}
		case <-ctx.Done():
			l.mu.Lock()
			l.dropped += len(batch) + len(l.trail)
			l.mu.Unlock()
			return
		}
	}
}

// hasUnsettled reports whether a settlement is queued.
func (l *Ledger) hasUnsettled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.unsettled) > 0
}

func (l *Ledger) haveTables() bool {
	select {
	case <-l.ready:
		defer func() { l.ready <- struct{}{} }()
		return l.tablesCreated
	default:
		return false
	}
}

// writeAll writes one batch of entries and the queued settlements.
func (l *Ledger) writeAll(ctx context.Context, batch []Entry) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := l.createTables(ctx); err != nil {
		return err
	}
	if err := l.settleQueued(ctx); err != nil {
		return err
	}
	if len(batch) == 0 {
		return nil
	}
	return l.transact(ctx, func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, l.dialect.rebind(
			"INSERT INTO trail (at, agent, session, command, url, status, bytes, source, verdict, ms, cost, run) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"))
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, e := range batch {
			if _, err := insert.ExecContext(ctx, e.Time.UnixMicro(), text(e.Agent), text(e.Session), text(e.Command), text(e.URL),
				e.Status, e.Bytes, text(e.Source), text(e.Verdict), e.MS, e.Cost, text(e.Run)); err != nil {
				return err
			}
		}
		return nil
	})
}

// text returns s as PostgreSQL can store it: valid UTF-8 without NUL.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// prune removes entries and charges older than ledger.keep. That includes charges that
// were never settled: their credits stay deducted.
func (l *Ledger) prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	before := l.now().Add(-l.cfg.Keep).UnixMicro()
	for _, table := range []string{"trail", "charges"} {
		err := l.transact(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, l.dialect.rebind("DELETE FROM "+table+" WHERE at < ?"), before)
			return err
		})
		if errors.Is(ctx.Err(), context.Canceled) {
			return // the ledger is closing; the next start prunes
		}
		if err != nil {
			l.log.Warn("old entries could not be removed", "table", table, "error", l.clean(err))
			return
		}
	}
}

// Query selects entries of the trail. An empty field matches every entry.
type Query struct {
	Agent   string
	Command string
	Verdict string // a prefix: policy_denied matches policy_denied:ip_private
	Since   time.Time
	Limit   int // 0: 100
}

// Trail returns the newest entries that match q, in order of time.
func (l *Ledger) Trail(ctx context.Context, q Query) ([]Entry, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	where, args := []string{"at >= ?"}, []any{int64(0)}
	if !q.Since.IsZero() {
		args[0] = q.Since.UnixMicro()
	}
	for column, value := range map[string]string{"agent": q.Agent, "command": q.Command} {
		if value != "" {
			where, args = append(where, column+" = ?"), append(args, value)
		}
	}
	if q.Verdict != "" {
		where, args = append(where, "substr(verdict, 1, ?) = ?"), append(args, len([]rune(q.Verdict)), q.Verdict)
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	rows, err := l.query(ctx, "SELECT at, agent, session, command, url, status, bytes, source, verdict, ms, cost, run FROM trail WHERE "+
		strings.Join(where, " AND ")+" ORDER BY at DESC, id DESC LIMIT ?", append(args, q.Limit)...)
	if err != nil {
		return nil, l.clean(err)
	}
	defer rows.Close()
	list := []Entry{}
	for rows.Next() {
		var e Entry
		var at int64
		if err := rows.Scan(&at, &e.Agent, &e.Session, &e.Command, &e.URL, &e.Status, &e.Bytes, &e.Source, &e.Verdict, &e.MS, &e.Cost, &e.Run); err != nil {
			return nil, err
		}
		e.Time = time.UnixMicro(at).UTC()
		list = append(list, e)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, rows.Err()
}
