package fleet

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/browserd/browserd/postgres"
)

// NodeReport describes a node.
type NodeReport struct {
	Node     int       `json:"node"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	State    string    `json:"state"` // up, draining, or lost if its lease has expired
	Lease    float64   `json:"lease_s"`
	Sessions int       `json:"sessions"` // how many it owns
	Capacity int       `json:"capacity"`
	Began    time.Time `json:"began"`
}

// SessionReport says which node owns a session.
type SessionReport struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Node    int       `json:"node"`
	Epoch   int64     `json:"epoch"`
	Created time.Time `json:"created"`
}

// Report describes a fleet.
type Report struct {
	Nodes    []NodeReport    `json:"nodes"`
	Sessions []SessionReport `json:"sessions"`
}

// StateLost is NodeReport.State of a node whose lease has expired.
const StateLost = "lost"

// ReadReport reads the fleet's tables. It needs no node at this machine.
func ReadReport(ctx context.Context, cfg Config) (*Report, error) {
	db, err := open(cfg.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	r := &Report{Nodes: []NodeReport{}, Sessions: []SessionReport{}}
	if err := r.read(ctx, db); err != nil {
		return nil, fmt.Errorf("fleet.dsn: the database cannot be read: %w", postgres.Clean(cfg.DSN, err))
	}
	return r, nil
}

func (r *Report) read(ctx context.Context, db *sql.DB) error {
	var there bool
	if err := db.QueryRowContext(ctx, "SELECT to_regclass('fleet_steps') IS NOT NULL").Scan(&there); err != nil || !there {
		return err // no node has ever joined
	}
	rows, err := db.QueryContext(ctx, `SELECT number, name, version, CASE WHEN lease_until < clock_timestamp() THEN $1 ELSE state END,
		extract(epoch FROM lease_until - clock_timestamp()), (SELECT count(*) FROM sessions WHERE node = nodes.id), capacity, began
		FROM nodes WHERE state <> $2 ORDER BY number, began`, StateLost, stateGone)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var n NodeReport
		if err := rows.Scan(&n.Node, &n.Name, &n.Version, &n.State, &n.Lease, &n.Sessions, &n.Capacity, &n.Began); err != nil {
			return err
		}
		r.Nodes = append(r.Nodes, n)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	owned, err := db.QueryContext(ctx, `SELECT sessions.agent, sessions.name, nodes.number, epoch, created FROM sessions JOIN nodes ON nodes.id = sessions.node ORDER BY created`)
	if err != nil {
		return err
	}
	defer owned.Close()
	for owned.Next() {
		var s SessionReport
		if err := owned.Scan(&s.Agent, &s.Session, &s.Node, &s.Epoch, &s.Created); err != nil {
			return err
		}
		r.Sessions = append(r.Sessions, s)
	}
	return owned.Err()
}
