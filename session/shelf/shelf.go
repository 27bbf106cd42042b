// Package shelf is where what agents save by name lies. It owns the interface Shelf, and Files,
// which keeps what one kind of thing there is in a directory for each agent; package fleet has a
// Shelf in its database. It promises that of two who change what an agent keeps the second sees
// what the first did, in this process and in others, that nobody reads half a thing, and that a
// name has one holder at a time. It never looks into what lies there, and knows no quota.
//
// Any goroutine may call what it returns, but for a Draft and Changes, which are their caller's.
package shelf

import (
	"io"
	"time"
)

// Item is what lies under a name.
type Item struct {
	Name  string // with its ending, such as shop.json
	Bytes int64
	Saved time.Time
}

// Shelf keeps what agents save, of one kind. The error for what is not there wraps
// fs.ErrNotExist.
type Shelf interface {
	// List lists what an agent keeps, in the order of the names.
	List(agent string) ([]Item, error)
	// Stat describes what lies under a name.
	Stat(agent, name string) (Item, error)
	// Open reads what lies under a name, all of one time. The caller closes it.
	Open(agent, name string) (io.ReadCloser, error)
	// Change calls do while nobody else changes what the agent keeps. What do changes is kept if
	// it returns nil.
	Change(agent string, do func(Changes) error) error
	// Draft begins something large that Changes.Place puts under a name with the base's beginning.
	// The caller holds the base, a name without its ending.
	Draft(agent, base string) (Draft, error)
	// Tidy removes drafts of killed processes. The caller holds the base.
	Tidy(agent, base string)
	// Hold reserves a base for one holder, in all processes that have this shelf, until release is
	// called. ok is false if somebody else has it.
	Hold(agent, base string) (release func(), ok bool, err error)
	// Salt returns the salt that new keys come of; nil: each process has its own.
	Salt() []byte
}

// Changes is what Change's caller sees and changes.
type Changes interface {
	List() ([]Item, error)
	Open(name string) (io.ReadCloser, error)
	// Put puts content under a name, in the place of what lies there.
	Put(name string, content []byte) error
	// Place puts a draft under a name, in the place of what lies there.
	Place(d Draft, name string) error
	Remove(name string) error
}

// Draft is something that is being written.
type Draft interface {
	io.Writer
	// Finish makes sure that all of it is written. Only Place may follow.
	Finish() error
	// Discard removes it, unless it was placed.
	Discard()
}
