package network

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
	"github.com/browserd/browserd/snapshot"
)

// Downloads are the files that the pages of one browser context offered for
// download. They lie in a directory of the context's own, inside Chromium's profile,
// under names that Chromium made up (GUIDs); the name that a page suggests is only
// data. Any goroutine may call its methods.
type Downloads struct {
	browser *cdp.Session // of the browser itself
	context cdproto.BrowserContextID
	life    context.Context         // the browser context's
	report  func(protocol.Download) // told of each change; must not call back
	mu      sync.Mutex              // guards all below
	limits  DownloadLimits          // the zero value denies all
	dir     string
	root    *os.Root // of dir, held open so that nothing can be put in its place
	list    []*download
	changed chan struct{} // closed and replaced when one of them changes
}

// DownloadLimits are what a session may download.
type DownloadLimits struct {
	Bytes int64 // of all its downloads together
	Files int   // that are kept; 0: every download is denied
}

type download struct {
	protocol.Download
	guid string
}

// maxListed bounds the list, denied downloads included.
const maxListed = 200

// NewDownloads returns the list of a browser context without downloads: each is denied
// until Allow. life ends with the context. report is told of each download's new
// state, with a lock held: it must not call Downloads.
func NewDownloads(life context.Context, browser *cdp.Session, id cdproto.BrowserContextID, report func(protocol.Download)) *Downloads {
	return &Downloads{browser: browser, context: id, life: life, report: report, changed: make(chan struct{})}
}

// Allowed reports whether downloads are kept.
func (d *Downloads) Allowed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.limits.Files > 0
}

// Allow keeps downloads from now on, in dir, within limits.
func (d *Downloads) Allow(dir string, limits DownloadLimits) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dir, d.limits = dir, limits
	d.root, err = os.OpenRoot(dir)
	return err
}

// Remove removes the files.
func (d *Downloads) Remove() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root == nil {
		return
	}
	d.root.Close()
	os.RemoveAll(d.dir)
}

// taken returns how many bytes the downloads have, other than d, and how many there are.
func (d *Downloads) taken(other *download) (bytes int64, files int) {
	for _, o := range d.list {
		if o != other && (o.State == protocol.DownloadRunning || o.State == protocol.DownloadDone) {
			bytes += o.Bytes
			files++
		}
	}
	return bytes, files
}

// unique is name, or name with a number before its extension where a download
// of the session has it already. One that was denied has no file to be mistaken for.
func (d *Downloads) unique(name string) string {
	used := map[string]bool{}
	for _, o := range d.list {
		used[o.Name] = used[o.Name] || o.State != protocol.DownloadDenied
	}
	ext := filepath.Ext(name)
	for n, free := 2, name; ; n++ {
		if !used[free] {
			return free
		}
		free = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, ext), n, ext)
	}
}

// DownloadBegins is Browser.downloadWillBegin.
type DownloadBegins struct {
	FrameID           cdproto.FrameID `json:"frameId"`
	GUID              string          `json:"guid"`
	URL               string          `json:"url"`
	SuggestedFilename string          `json:"suggestedFilename"`
}

// DownloadProgress is Browser.downloadProgress.
type DownloadProgress struct {
	GUID          string  `json:"guid"`
	TotalBytes    float64 `json:"totalBytes"`
	ReceivedBytes float64 `json:"receivedBytes"`
	State         string  `json:"state"` // inProgress, completed, canceled
}

// Begin notes a download that a page of a tab began, and returns its name, and why no file
// is kept of it where none is.
func (d *Downloads) Begin(tab string, e DownloadBegins) (name, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := &download{guid: e.GUID, Download: protocol.Download{
		Name: d.unique(downloadName(e.SuggestedFilename)), URL: e.URL, Tab: tab, State: protocol.DownloadRunning,
	}}
	_, files := d.taken(nil)
	switch {
	case d.limits.Files == 0:
		n.State = protocol.DownloadDenied
		n.Why = "downloads are not allowed in this session"
	case files >= d.limits.Files || len(d.list) >= maxListed || !isGUID(e.GUID):
		n.State = protocol.DownloadCancelled
		n.Why = fmt.Sprintf("the session has %d downloads, as many as it may", files)
		go d.cancel(e.GUID)
	}
	if len(d.list) < maxListed {
		d.list = append(d.list, n)
	}
	if n.State == protocol.DownloadRunning {
		go d.watchSize(n)
	}
	d.tell(n)
	return n.Name, n.Why
}

// Disown cancels a download whose tab was closed meanwhile, if it went to this
// context's directory.
func (d *Downloads) Disown(guid string) {
	d.mu.Lock()
	keeps := d.limits.Files > 0
	d.mu.Unlock()
	if keeps {
		go d.cancel(guid)
	}
}

// Progress notes how far a download is; false if it is not one of this context.
func (d *Downloads) Progress(e DownloadProgress) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var n *download
	for _, o := range d.list {
		if o.guid == e.GUID {
			n = o
		}
	}
	if n == nil {
		return false
	}
	if n.State != protocol.DownloadRunning {
		if e.State != "inProgress" {
			d.forgetFile(n.guid)
		}
		return true
	}
	n.Bytes, n.Total = int64(e.ReceivedBytes), max(int64(e.TotalBytes), 0)
	taken, _ := d.taken(n)
	switch {
	case taken+max(n.Bytes, n.Total) > d.limits.Bytes:
		d.tooLarge(n, taken)
		if e.State == "inProgress" {
			go d.cancel(e.GUID)
		} else {
			d.forgetFile(n.guid)
		}
		return true
	case e.State == "completed":
		n.State = protocol.DownloadDone
	case e.State == "canceled":
		n.State = protocol.DownloadFailed
		n.Why = "the transfer did not come to its end"
		d.forgetFile(n.guid)
	default:
		return true
	}
	d.tell(n)
	return true
}

// BrowserLost notes that nothing will end the downloads of a Chromium that died.
func (d *Downloads) BrowserLost() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.list {
		if n.State == protocol.DownloadRunning {
			n.State, n.Why = protocol.DownloadFailed, "Chromium died"
			d.tell(n)
		}
	}
}

// sizeInterval is how often the size of a download's file is checked. Chromium
// reports progress twice a second, in which a fast server sends 300 MB.
const sizeInterval = 20 * time.Millisecond

// watchSize cancels a download whose file has become larger than it may, and
// returns when it has ended.
func (d *Downloads) watchSize(n *download) {
	tick := time.NewTicker(sizeInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-d.life.Done():
			return
		}
		size := d.written(n.guid)
		d.mu.Lock()
		running := n.State == protocol.DownloadRunning
		if taken, _ := d.taken(n); running && taken+size > d.limits.Bytes {
			running, n.Bytes = false, size
			d.tooLarge(n, taken)
			go d.cancel(n.guid)
		}
		d.mu.Unlock()
		if !running {
			return
		}
	}
}

// written returns how much of a download lies in its file. Whoever calls it knows that
// the directory is there: Allow is called once, before any download.
func (d *Downloads) written(guid string) int64 {
	for _, name := range []string{guid, guid + ".crdownload"} {
		if info, err := d.root.Stat(name); err == nil {
			return info.Size()
		}
	}
	return 0
}

// tooLarge makes a download one that was cancelled; the caller holds mu.
func (d *Downloads) tooLarge(n *download, taken int64) {
	n.State = protocol.DownloadCancelled
	n.Why = fmt.Sprintf("the session may download %d bytes, and has %d already", d.limits.Bytes, taken)
	d.tell(n)
}

// tell reports that a download has another state; the caller holds mu.
func (d *Downloads) tell(n *download) {
	close(d.changed)
	d.changed = make(chan struct{})
	d.report(n.Download)
}

func (d *Downloads) cancel(guid string) {
	params := cdpbrowser.CancelDownloadParams{GUID: guid, BrowserContextID: d.context}
	d.browser.Send(cdpbrowser.CancelDownload.Method, params).Wait(d.life, nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetFile(guid)
}

// forgetFile removes what a download has written; the caller holds mu.
func (d *Downloads) forgetFile(guid string) {
	if d.root != nil && isGUID(guid) {
		d.root.Remove(guid)
		d.root.Remove(guid + ".crdownload")
	}
}

var guid = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Fa-f-]{8,64}$`) })

// isGUID reports whether s is a name that Chromium makes up, safe as the name of a file.
func isGUID(s string) bool { return guid().MatchString(s) }

// List returns what the pages offered for download, in the order in which it
// began. With wait it returns when none is running, or the one of that name, or ctx
// ends. Errors: invalid_params where there is no download of that name.
func (d *Downloads) List(ctx context.Context, name string, wait bool) ([]protocol.Download, error) {
	for {
		d.mu.Lock()
		list := make([]protocol.Download, 0, len(d.list))
		running, found := false, name == ""
		for _, n := range d.list {
			list = append(list, n.Download)
			if name == "" || n.Name == name {
				found = true
				running = running || n.State == protocol.DownloadRunning
			}
		}
		changed := d.changed
		d.mu.Unlock()
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
		case <-d.life.Done():
			if err := context.Cause(d.life); !errors.Is(err, cdp.ErrGone) {
				return nil, err
			}
			d.BrowserLost() // one may have begun in its last moment
		}
	}
}

// Content reads at most n bytes of a finished download from offset, and says how
// many it has in all. Errors: invalid_params where there is no finished download of
// that name.
func (d *Downloads) Content(name string, offset int64, n int) (content []byte, size int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found *download
	list := []protocol.Download{}
	for _, o := range d.list {
		list = append(list, o.Download)
		if o.Name == name {
			found = o
		}
	}
	if found == nil {
		return nil, 0, noDownload(name, list)
	}
	if found.State != protocol.DownloadDone {
		return nil, 0, protocol.Errorf(protocol.InvalidParams, "name %s: the download is %s", quote(name), found.State).
			With("parameter", "name").With("state", found.State).Then("give wait: true to wait for one that is running")
	}
	f, err := d.root.Open(found.guid)
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

func quote(s string) string { return snapshot.Quote(snapshot.Cut(s, 80)) }

// DownloadFields are what the event of a download's new state says of it.
func DownloadFields(d protocol.Download) map[string]any {
	fields := map[string]any{"tab": d.Tab, "name": d.Name, "url": d.URL, "state": d.State}
	if d.State != protocol.DownloadDenied {
		fields["bytes"] = d.Bytes
	}
	if d.Why != "" {
		fields["why"] = d.Why
	}
	return fields
}
