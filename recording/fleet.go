package recording

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Fleet knows what the nodes of a fleet keep of each agent's recordings, so that the limits are the fleet's. It names
// an agent by the folder of its recordings, which is the same at all nodes.
type Fleet interface {
	// Fit calls choose with what it has noted of a folder, one call at a time in the whole fleet, and notes what that
	// returns: what is kept here, and which of the others' have to go. Where it cannot, it has Store.Settle called
	// later.
	Fit(folder string, choose func(noted []Noted) (here, gone []Kept))
	// Later has Store.Settle called for a folder, at once where it can be. It does not wait.
	Later(folder string)
}

// Kept is a finished recording, wherever it is. Its name and end identify it among those of a folder.
type Kept struct {
	Name  string    `json:"name"`
	Ended time.Time `json:"ended"` // by the clock of its node, in microseconds
	Bytes int64     `json:"bytes"`
}

// Noted is a recording that the fleet has noted.
type Noted struct {
	Kept
	Gone bool // it has to go; false: it is at another node, which runs
}

// recordingID identifies a recording in a folder.
type recordingID struct {
	name  string
	ended int64 // µs since 1970
}

func (k Kept) id() recordingID { return recordingID{k.Name, k.Ended.UnixMicro()} }

func (e Recorded) kept() Kept { return Kept{e.Name, e.Time.Truncate(time.Microsecond), e.Bytes} }

// isFolder tells whether a name that the fleet says is that of an agent's folder (Store.of): it leads to no other one.
func isFolder(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == sha256.Size/2
}

// JoinFleet makes the limits those of a fleet. Call it once, before anything is recorded.
func (s *Store) JoinFleet(f Fleet) { s.fleet = f }

// Settle removes what has to go of a folder, here and at other nodes, and has the fleet note the rest.
func (s *Store) Settle(folder string) { s.fit(folder, 0) }

// fit is Settle with so many more to come. It may wait for the fleet's database. Without a fleet there is nothing to do.
func (s *Store) fit(folder string, more int) {
	if s.fleet == nil || s.dir == "" || !isFolder(folder) {
		return
	}
	s.fleet.Fit(folder, func(noted []Noted) (here, gone []Kept) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.choose(folder, more, noted)
	})
}

// choose removes what has to go of a folder, so that all that is left at all nodes fits with so many more to come. It
// returns what is left here, and what has to go of the others'. The caller holds mu.
func (s *Store) choose(folder string, more int, noted []Noted) (here, gone []Kept) {
	out := map[recordingID]bool{}
	for _, n := range noted {
		if n.Gone {
			out[n.id()] = true
		}
	}
	all, own := []Kept{}, map[recordingID]Recorded{}
	for _, e := range s.done(folder) {
		if k := e.kept(); out[k.id()] {
			s.remove(folder, e)
		} else {
			all, own[k.id()] = append(all, k), e
		}
	}
	for _, n := range noted {
		if _, is := own[n.id()]; !is && !n.Gone { // one of here that an earlier start of this daemon has noted is no other's
			all = append(all, n.Kept)
		}
	}
	slices.SortStableFunc(all, func(a, b Kept) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Name, b.Name)) })
	over := s.cfg.over(all, more)
	for i, k := range all {
		e, is := own[k.id()]
		switch {
		case is && i < over:
			s.remove(folder, e)
		case is:
			here = append(here, k)
		case i < over:
			gone = append(gone, k)
		}
	}
	return here, gone
}

// over returns how many of these recordings, the oldest first, are too many, with so many more to come.
func (c Config) over(all []Kept, more int) (n int) {
	total := int64(0)
	for _, k := range all {
		total += k.Bytes
	}
	for ; n < len(all) && (total > int64(c.BytesPerAgent) || len(all)-n+more > c.Count); n++ {
		total -= all[n].Bytes
	}
	return n
}

// Remove removes the recordings of a folder that another node has chosen.
func (s *Store) Remove(folder string, gone []Kept) {
	if !isFolder(folder) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.done(folder) {
		if slices.ContainsFunc(gone, func(k Kept) bool { return k.id() == e.kept().id() }) {
			s.remove(folder, e)
		}
	}
}

// Folders returns the folders in which there are recordings.
func (s *Store) Folders() (folders []string) {
	if s.dir == "" {
		return nil
	}
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		if within, _ := os.ReadDir(filepath.Join(s.dir, e.Name())); len(within) > 0 {
			folders = append(folders, e.Name())
		}
	}
	return folders
}
