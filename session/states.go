package session

import (
	"fmt"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/shelf"
)

// StateConfig configures how saved states are stored.
type StateConfig struct {
	Key        string        `koanf:"key" default:"" secret:"true" doc:"passphrase with which what state_save and run save is encrypted (AES-256-GCM); empty: files that only browserd's user can read, and no secrets, passkeys or profiles are kept"`
	Bytes      int           `koanf:"bytes" default:"67108864" doc:"bytes of saved states that one agent may keep, all together; one state has at most 16 MiB"`
	Checkpoint time.Duration `koanf:"checkpoint" default:"10s" doc:"how often a session opened with keep saves its state while it is used, so that a daemon that is killed loses no more; 0: only when it ends"`
	Count      int           `koanf:"count" default:"100" doc:"saved states that one agent may keep"`
}

// Check returns an error that names the first invalid value.
func (c StateConfig) Check() error {
	if c.Key != "" && len(c.Key) < 16 {
		return fmt.Errorf("state.key: accepts at least 16 characters")
	}
	if c.Bytes <= 0 {
		return fmt.Errorf("state.bytes: %d: accepts a number above 0", c.Bytes)
	}
	if c.Count <= 0 {
		return fmt.Errorf("state.count: %d: accepts a number above 0", c.Count)
	}
	if c.Checkpoint != 0 && c.Checkpoint < time.Second {
		return fmt.Errorf("state.checkpoint: %v: accepts 0, or a second and more, such as 10s", c.Checkpoint)
	}
	return nil
}

// States stores the states that agents have saved by name.
type States struct {
	*Store[protocol.State]
	// Checkpoint is how often a session saves its state while it is used; 0: only when it ends.
	Checkpoint time.Duration
	tabOnly    bool // leave local storage out: the profile's archive has it
}

// NewStates returns the states on a shelf.
func NewStates(on shelf.Shelf, cfg StateConfig) *States {
	store := NewStore(on, Kind{
		Noun: "state", Key: cfg.Key, Count: cfg.Count, Bytes: cfg.Bytes, MaxBytes: 16 << 20, Config: "state",
		SaveAgain: "save it again with state_save", SeeAll: "state_list lists yours",
		Free: "remove some with state_delete (state_list lists them), or save over one of them",
	}, func(s protocol.State) bool { return s.Version == protocol.StateVersion })
	return &States{Store: store, Checkpoint: cfg.Checkpoint}
}
