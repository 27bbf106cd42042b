package browser

import (
	"context"

	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/browser/permission"
	"github.com/browserd/browserd/protocol"
)

// keepDownloads has rules send downloads to a directory of the context's own. Errors:
// unsupported (a Chromium that runs elsewhere).
func (r *records) keepDownloads(rules *permission.Rules) error {
	c := r.c
	if c.host.process == nil {
		return protocol.Errorf(protocol.Unsupported, "a Chromium that runs elsewhere keeps no downloads for browserd").
			With("source", "chromium").Then("go on without downloads")
	}
	dir, err := c.host.process.MakeDir("downloads")
	if err != nil {
		return err
	}
	c.mu.Lock()
	limits := network.DownloadLimits{Bytes: c.o.DownloadBytes, Files: c.o.DownloadFiles}
	c.mu.Unlock()
	rules.KeepDownloads(dir)
	return c.downloads.Allow(dir, limits)
}

// AllowDownloads keeps what the session's pages download from now on.
func (r *records) AllowDownloads(ctx context.Context) error {
	if r.downloads.Allowed() {
		return nil
	}
	rules := permission.Denied(r.c.id)
	if err := r.keepDownloads(&rules); err != nil {
		return err
	}
	return rules.SendDownloads(r.c.host.root).Wait(ctx, nil)
}
