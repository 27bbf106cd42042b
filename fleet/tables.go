package fleet

import (
	"crypto/rand"
	"strings"
)

// tablesLock is the advisory lock under which tables are created and nodes get their numbers.
const tablesLock = 0x666c6565 // "flee"

// steps are the migrations, in order. Only append: two versions of browserd may run side by side, so a step may add
// what an older version does not know, and remove nothing.
var steps = []string{
	`CREATE TABLE nodes (
		id TEXT PRIMARY KEY,
		number INT NOT NULL,
		name TEXT NOT NULL,
		address TEXT NOT NULL,
		version TEXT NOT NULL,
		protocol INT NOT NULL,
		state TEXT NOT NULL,
		capacity INT NOT NULL,
		sessions INT NOT NULL,
		began TIMESTAMPTZ NOT NULL,
		lease_until TIMESTAMPTZ NOT NULL
	) WITH (fillfactor = 50);
	CREATE SEQUENCE epochs;
	CREATE TABLE sessions (
		agent TEXT NOT NULL,
		name TEXT NOT NULL,
		node TEXT NOT NULL REFERENCES nodes,
		epoch BIGINT NOT NULL,
		created TIMESTAMPTZ NOT NULL,
		checkpoint BYTEA NOT NULL,
		moving BOOLEAN NOT NULL DEFAULT false,
		kept TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
		PRIMARY KEY (agent, name)
	);
	CREATE INDEX sessions_by_node ON sessions (node);
	CREATE TABLE fleet_settings (name TEXT PRIMARY KEY, value BYTEA NOT NULL)`,
	// What agents save under names, sealed, in parts; and the holds of those who may write a name.
	`CREATE TABLE saved (
		kind TEXT NOT NULL,
		agent TEXT NOT NULL,
		name TEXT NOT NULL,
		bytes BIGINT NOT NULL,
		saved TIMESTAMPTZ NOT NULL,
		PRIMARY KEY (kind, agent, name)
	);
	CREATE TABLE saved_parts (
		kind TEXT NOT NULL,
		agent TEXT NOT NULL,
		name TEXT NOT NULL,
		part INT NOT NULL,
		content BYTEA NOT NULL,
		PRIMARY KEY (kind, agent, name, part),
		FOREIGN KEY (kind, agent, name) REFERENCES saved ON DELETE CASCADE
	);
	ALTER TABLE saved_parts ALTER content SET STORAGE EXTERNAL;
	CREATE TABLE saved_holds (
		kind TEXT NOT NULL,
		agent TEXT NOT NULL,
		name TEXT NOT NULL,
		node TEXT NOT NULL,
		token TEXT NOT NULL UNIQUE,
		PRIMARY KEY (kind, agent, name)
	);
	ALTER TABLE sessions ADD COLUMN storage BYTEA;
	ALTER TABLE sessions ALTER storage SET STORAGE EXTERNAL`,
	// How many bytes an agent's uploads take at each node. change numbers the writes of a node, so that a late one is ignored.
	`CREATE TABLE uploads (
		agent TEXT NOT NULL,
		node TEXT NOT NULL REFERENCES nodes ON DELETE CASCADE,
		bytes BIGINT NOT NULL,
		change BIGINT NOT NULL,
		PRIMARY KEY (agent, node)
	)`,
	// Operators' answers for good. id is the SHA-256 of agent, command and place.
	`CREATE TABLE confirmed_commands (
		id BYTEA PRIMARY KEY,
		agent TEXT NOT NULL,
		command TEXT NOT NULL,
		place TEXT NOT NULL,
		allow BOOLEAN NOT NULL,
		proof BYTEA NOT NULL,
		confirmed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
	);
	CREATE TABLE confirmed_settings (
		key TEXT NOT NULL,
		entry TEXT NOT NULL,
		proof BYTEA NOT NULL,
		confirmed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
		PRIMARY KEY (key, entry)
	)`,
	// The session for a token's requests that name none and belong to no connection. In the row of importToken, session
	// is the ID of the agent's import of a profile.
	`CREATE TABLE homes (
		agent TEXT NOT NULL,
		token INT NOT NULL,
		session TEXT NOT NULL,
		PRIMARY KEY (agent, token)
	)`,
	// Values of secrets that were used for agents, sealed. code: it is a one-time code. The tag identifies a value.
	`CREATE TABLE given (
		agent TEXT NOT NULL,
		tag BYTEA NOT NULL,
		code BOOLEAN NOT NULL,
		value BYTEA NOT NULL,
		at TIMESTAMPTZ NOT NULL,
		PRIMARY KEY (agent, tag)
	)`,
	// Finished recordings, by the folder of their agent. node has the file; when the daemon starts again, its new node takes
	// over the rows of the old one. gone: node still has to remove the file, which does not count any more.
	`CREATE TABLE recordings (
		folder TEXT NOT NULL,
		name TEXT NOT NULL,
		ended TIMESTAMPTZ NOT NULL,
		bytes BIGINT NOT NULL,
		node TEXT NOT NULL REFERENCES nodes ON DELETE CASCADE,
		gone BOOLEAN NOT NULL DEFAULT false,
		PRIMARY KEY (folder, name, ended)
	);
	CREATE INDEX recordings_gone ON recordings (node) WHERE gone`,
	// Operators' answers for the life of a session, sealed for its epoch; answered is the number of the last KeepAnswers.
	`ALTER TABLE sessions ADD COLUMN answers BYTEA, ADD COLUMN answered BIGINT NOT NULL DEFAULT 0`,
}

// The states of a node.
const (
	stateUp       = "up"
	stateDraining = "draining" // it opens no session and hands its sessions over
	stateGone     = "gone"     // it has ended
)

// newID returns an ID for one start of a daemon, or for one connection.
func newID() string { return rand.Text()[:idLength] }

const idLength = 16

// isID reports whether text may be the ID of a node.
func isID(text string) bool {
	return len(text) == idLength && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
