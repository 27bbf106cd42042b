// Package shelf stores what agents save under names. It owns the interface Shelf, and Files, a Shelf in
// directories, one for each agent. Package fleet has a Shelf in its database. A Shelf stores items of one kind.
// It promises, within this process and between processes: changes to an agent's items happen one after the
// other, nobody reads a half-written item, and a name has one holder at a time. It does not read the items'
// content, and knows no quota.
//
// Any goroutine may call a Shelf. A Draft and Changes belong to the goroutine that got them.
package shelf

import (
	"io"
	"time"
)

// Item describes what is stored under a name.
type Item struct {
	Name  string // with its extension, such as shop.json
	Bytes int64
	Saved time.Time
}

// Shelf stores what agents save, of one kind. The error for a name without an item wraps fs.ErrNotExist.
type Shelf interface {
	// List lists an agent's items, ordered by name.
	List(agent string) ([]Item, error)
	// Stat describes the item of a name.
	Stat(agent, name string) (Item, error)
	// Open returns a reader of an item's content. Changes that are made meanwhile do not affect it. The caller
	// closes it.
	Open(agent, name string) (io.ReadCloser, error)
	// Change calls do while nobody else changes the agent's items. The changes are stored if do returns nil.
	Change(agent string, do func(Changes) error) error
	// Draft begins a large item, which Changes.Place later stores under a name that begins with base. base is a
	// name without its extension. The caller holds it.
	Draft(agent, base string) (Draft, error)
	// Tidy removes drafts that killed processes left. The caller holds the base.
	Tidy(agent, base string)
	// Hold reserves a base for one holder among all processes that use this shelf, until release is called. ok
	// is false if somebody else holds it.
	Hold(agent, base string) (release func(), ok bool, err error)
	// Salt returns the salt from which new keys are derived; nil: each process makes its own.
	Salt() []byte
}

// Changes reads and changes the items of the agent of a call of Change.
type Changes interface {
	List() ([]Item, error)
	Open(name string) (io.ReadCloser, error)
	// Put stores content under a name. It replaces an earlier item.
	Put(name string, content []byte) error
	// Place stores a draft under a name. It replaces an earlier item.
	Place(d Draft, name string) error
	Remove(name string) error
}

// Draft is a large item that is being written.
type Draft interface {
	io.Writer
	// Finish makes sure that all of it is written. Only Place may follow.
	Finish() error
	// Discard removes the draft, unless it was placed. Call it in any case.
	Discard()
}
