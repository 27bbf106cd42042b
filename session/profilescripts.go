package session

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/browserd/browserd/session/shelf"
)

// scriptsExt is the extension of the item beside a profile's archive that says where JavaScript of the agent has
// run in the profile's sessions. Without it none has.
const scriptsExt = ".scripts"

// scriptsName is the name under which the item of a profile is sealed, so that it cannot stand for the profile's
// state. No profile has this name.
func scriptsName(name string) string { return name + "\x00scripts" }

// maxScriptsBytes is the size of an item that is read. The origins of scriptOrigins need less.
const maxScriptsBytes = 1 << 20

// loadScripts returns where JavaScript of the agent has run in the sessions of a profile. Errors: invalid_params
// if that was changed since it was sealed, or sealed with another key.
func (p *Profiles) loadScripts(agent, name string) (r scriptOrigins, err error) {
	f, err := p.shelf.Open(agent, name+scriptsExt)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, p.wrapError("opening", err)
	}
	sealed, err := io.ReadAll(io.LimitReader(f, maxScriptsBytes))
	if err = errors.Join(err, f.Close()); err != nil {
		return r, p.wrapError("opening", err)
	}
	if len(sealed) < len(sealedMagic) {
		return r, p.unsealError(name)
	}
	content, err := p.unseal(agent, scriptsName(name), sealed)
	if err != nil || json.Unmarshal(content, &r) != nil {
		return r, p.unsealError(name)
	}
	return r, nil
}

// saveScripts stores where JavaScript of the agent has run in the sessions of a profile. The caller holds the
// name.
func (p *Profiles) saveScripts(agent, name string, r scriptOrigins) error {
	return p.change(agent, "saving", func(in shelf.Changes) error { return p.putScripts(in, agent, name, r) })
}

// putScripts is saveScripts as a part of other changes.
func (p *Profiles) putScripts(in shelf.Changes, agent, name string, r scriptOrigins) error {
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	sealed, err := p.seal(agent, scriptsName(name), content)
	if err != nil {
		return err
	}
	return in.Put(name+scriptsExt, sealed)
}
