package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// downloads are what the pages of a context offered for download, guarded by
// its mu. The files lie in a directory of the context's own, inside Chromium's
// profile, under names that Chromium made up; what a page calls them is only
// ever data.
type downloads struct {
	dir     string
	root    *os.Root // of dir, held open so that nothing can be put in its place
	list    []*download
	changed chan struct{} // closed and replaced when one of them changes
}

type download struct {
	protocol.Download
	guid string
}

// maxListed bounds the list, denied downloads included.
const maxListed = 200

func (d *downloads) open(dir string) (err error) {
	d.dir = dir
	d.root, err = os.OpenRoot(dir)
	return err
}

// remove removes the files.
func (d *downloads) remove() {
	if d.root == nil {
		return
	}
	d.root.Close()
	os.RemoveAll(d.dir)
}

// taken is how many bytes the downloads have, other than d, and how many there are.
func (d *downloads) taken(other *download) (bytes int64, files int) {
	for _, o := range d.list {
		if o != other && (o.State == protocol.DownloadRunning || o.State == protocol.DownloadDone) {
			bytes += o.Bytes
			files++
		}
	}
	return bytes, files
}

// unique is name, or name with a number before its extension where a download
// of the session has it already.
func (d *downloads) unique(name string) string {
	used := map[string]bool{}
	for _, o := range d.list {
		used[o.Name] = true
	}
	ext := filepath.Ext(name)
	for n, free := 2, name; ; n++ {
		if !used[free] {
			return free
		}
		free = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, ext), n, ext)
	}
}

// wake tells those who wait that a download has changed; the caller holds mu.
func (d *downloads) wake() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// downloadBegins is Browser.downloadWillBegin.
type downloadBegins struct {
	FrameID           cdproto.FrameID `json:"frameId"`
	GUID              string          `json:"guid"`
	URL               string          `json:"url"`
	SuggestedFilename string          `json:"suggestedFilename"`
}

// downloadProgress is Browser.downloadProgress.
type downloadProgress struct {
	GUID          string  `json:"guid"`
	TotalBytes    float64 `json:"totalBytes"`
	ReceivedBytes float64 `json:"receivedBytes"`
	State         string  `json:"state"` // inProgress, completed, canceled
}

// downloadBegins gives a download to the context whose frame began it. One
// that is nobody's (its tab was closed meanwhile) is cancelled wherever it is.
func (h *host) downloadBegins(e downloadBegins) {
	all := h.all()
	for _, c := range all {
		if c.downloadBegins(e) {
			return
		}
	}
	for _, c := range all {
		c.mu.Lock()
		keeps := c.o.Downloads
		c.mu.Unlock()
		if keeps {
			go c.cancelDownload(e.GUID)
		}
	}
}

// downloadBegins notes a download that a frame of this context began; false
// where the frame is not one of its own.
func (c *Context) downloadBegins(e downloadBegins) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tabs {
		if t.frames[e.FrameID] == nil {
			continue
		}
		all := &c.downloaded
		d := &download{guid: e.GUID, Download: protocol.Download{
			Name: all.unique(downloadName(e.SuggestedFilename)), URL: e.URL, Tab: t.name, State: protocol.DownloadRunning,
		}}
		_, files := all.taken(nil)
		switch {
		case !c.o.Downloads:
			d.State = protocol.DownloadDenied
			d.Why = "the session was opened without downloads"
		case files >= c.o.DownloadFiles || len(all.list) >= maxListed || !isGUID(e.GUID):
			d.State = protocol.DownloadCancelled
			d.Why = fmt.Sprintf("the session has %d downloads, as many as it may", files)
			go c.cancelDownload(e.GUID)
		}
		all.list = keep(all.list, d, maxListed)
		if d.State == protocol.DownloadRunning {
			go c.weigh(d)
		}
		c.happened(func(h *happenings) { h.downloads = keep(h.downloads, d.Name, 20) })
		t.failed = "download"
		t.wake()
		c.tellDownload(d)
		return true
	}
	return false
}

// downloadProgress notes how far a download of this context is; false where it
// is not one of its own.
func (c *Context) downloadProgress(e downloadProgress) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var d *download
	for _, o := range c.downloaded.list {
		if o.guid == e.GUID {
			d = o
		}
	}
	if d == nil {
		return false
	}
	if d.State != protocol.DownloadRunning {
		if e.State != "inProgress" {
			c.forgetFile(d)
		}
		return true
	}
	d.Bytes, d.Total = int64(e.ReceivedBytes), max(int64(e.TotalBytes), 0)
	taken, _ := c.downloaded.taken(d)
	switch {
	case taken+max(d.Bytes, d.Total) > c.o.DownloadBytes:
		c.tooLarge(d, taken)
		if e.State == "inProgress" {
			go c.cancelDownload(e.GUID)
		} else {
			c.forgetFile(d)
		}
		return true
	case e.State == "completed":
		d.State = protocol.DownloadDone
	case e.State == "canceled":
		d.State = protocol.DownloadFailed
		d.Why = "the transfer did not come to its end"
		c.forgetFile(d)
	default:
		return true
	}
	c.tellDownload(d)
	return true
}

// loseDownloads notes that nothing will end the downloads of a Chromium that died.
func (c *Context) loseDownloads() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.downloaded.list {
		if d.State == protocol.DownloadRunning {
			d.State, d.Why = protocol.DownloadFailed, "Chromium died"
			c.tellDownload(d)
		}
	}
}

// weighEvery is how often the file of a download is looked at. Chromium tells
// its progress twice a second, in which a fast server sends 300 MB.
const weighEvery = 20 * time.Millisecond

// weigh cancels a download whose file has become larger than it may, and
// returns when it has ended.
func (c *Context) weigh(d *download) {
	tick := time.NewTicker(weighEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.life.Done():
			return
		}
		size := c.downloaded.written(d.guid)
		c.mu.Lock()
		running := d.State == protocol.DownloadRunning
		if taken, _ := c.downloaded.taken(d); running && taken+size > c.o.DownloadBytes {
			running, d.Bytes = false, size
			c.tooLarge(d, taken)
			go c.cancelDownload(d.guid)
		}
		c.mu.Unlock()
		if !running {
			return
		}
	}
}

// written is how much of a download lies in its file.
func (d *downloads) written(guid string) int64 {
	for _, name := range []string{guid, guid + ".crdownload"} {
		if info, err := d.root.Stat(name); err == nil {
			return info.Size()
		}
	}
	return 0
}

// tooLarge makes a download one that was cancelled; the caller holds mu.
func (c *Context) tooLarge(d *download, taken int64) {
	d.State = protocol.DownloadCancelled
	d.Why = fmt.Sprintf("the session may download %d bytes, and has %d already", c.o.DownloadBytes, taken)
	c.tellDownload(d)
}

// tellDownload says that a download has another state; the caller holds mu.
func (c *Context) tellDownload(d *download) {
	c.downloaded.wake()
	fields := map[string]any{"tab": d.Tab, "name": d.Name, "url": d.URL, "state": d.State}
	if d.State != protocol.DownloadDenied {
		fields["bytes"] = d.Bytes
	}
	if d.Why != "" {
		fields["why"] = d.Why
	}
	c.emit(protocol.EventDownload, fields)
}

func (c *Context) cancelDownload(guid string) {
	params := cdpbrowser.CancelDownloadParams{GUID: guid, BrowserContextID: c.id}
	c.host.root.Send(cdpbrowser.CancelDownload.Method, params).Wait(c.life, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetFile(&download{guid: guid})
}

// forgetFile removes what a download has written; the caller holds mu.
func (c *Context) forgetFile(d *download) {
	if c.downloaded.root != nil && isGUID(d.guid) {
		c.downloaded.root.Remove(d.guid)
		c.downloaded.root.Remove(d.guid + ".crdownload")
	}
}

var guid = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Fa-f-]{8,64}$`) })

// isGUID keeps it to what Chromium makes up: the name of a file.
func isGUID(s string) bool { return guid().MatchString(s) }

// Downloads lists what the session's pages offered for download, in the order
// in which it began. With wait it returns when none is running, or the one of
// that name, or ctx ends. Any goroutine may call it. Errors: invalid_params
// where there is no download of that name.
func (c *Context) Downloads(ctx context.Context, name string, wait bool) ([]protocol.Download, error) {
	for {
		c.mu.Lock()
		list := make([]protocol.Download, 0, len(c.downloaded.list))
		running, found := false, name == ""
		for _, d := range c.downloaded.list {
			list = append(list, d.Download)
			if name == "" || d.Name == name {
				found = true
				running = running || d.State == protocol.DownloadRunning
			}
		}
		changed := c.downloaded.changed
		c.mu.Unlock()
		switch {
		case !found:
			return nil, noDownload(name, list)
		case !wait || !running:
			return list, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-c.life.Done():
			if err := context.Cause(c.life); !errors.Is(err, cdp.ErrGone) {
				return nil, err
			}
			c.loseDownloads() // one may have begun in its last moment
		}
	}
}

// DownloadContent reads at most n bytes of a finished download from offset,
// and says how many it has in all. Any goroutine may call it. Errors:
// invalid_params where there is no finished download of that name.
func (c *Context) DownloadContent(name string, offset int64, n int) (content []byte, size int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var d *download
	list := []protocol.Download{}
	for _, o := range c.downloaded.list {
		list = append(list, o.Download)
		if o.Name == name {
			d = o
		}
	}
	if d == nil {
		return nil, 0, noDownload(name, list)
	}
	if d.State != protocol.DownloadDone {
		return nil, 0, protocol.Errorf(protocol.InvalidParams, "name %s: the download is %s", quote(name), d.State).
			With("parameter", "name").With("state", d.State).Then("give wait: true to wait for one that is running")
	}
	f, err := c.downloaded.root.Open(d.guid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, protocol.Errorf(protocol.InvalidParams, "name %s: its file is gone", quote(name)).With("parameter", "name")
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0, protocol.Errorf(protocol.InvalidParams, "name %s: it is no file", quote(name)).With("parameter", "name")
	}
	content, err = io.ReadAll(io.NewSectionReader(f, offset, int64(n)))
	return content, info.Size(), err
}

func noDownload(name string, list []protocol.Download) error {
	names := make([]string, 0, len(list))
	for _, d := range list {
		names = append(names, d.Name)
	}
	return protocol.Errorf(protocol.InvalidParams, "name %s: the session has no such download", quote(name)).
		With("parameter", "name").With("downloads", names)
}
