package main

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// Sample is what was seen of the daemon at one moment.
type Sample struct {
	At       time.Duration // since the beginning
	Sessions float64
	// RSS is the daemon's resident memory, Heap what Go has in use, Live what
	// the last collection left (half of what the next one waits for), in bytes.
	RSS, Heap, Live float64
	Goroutines      float64
	Files           float64 // open file descriptors of the daemon
	Processes       float64 // below the daemon
	Zombies         float64 // of those, ended and not waited for
	Chromium        float64 // resident memory of those, in bytes; shared pages count in each
	Profiles        float64 // profile directories
	Temporary       float64 // entries in the daemon's temporary directory, profiles' insides left out
	Launches        float64 // of Chromium, so far
}

// measure takes a sample. The daemon is asked for its metrics, the rest is
// read from /proc and its home.
func measure(ctx context.Context, d *testdaemon.Daemon, began time.Time) (Sample, error) {
	m, err := metrics(ctx, d)
	if err != nil {
		return Sample{}, err
	}
	s := Sample{
		At: time.Since(began), Sessions: m["browserd_sessions"],
		RSS: m["process_resident_memory_bytes"], Heap: m["go_memstats_heap_inuse_bytes"], Live: m["go_memstats_next_gc_bytes"] / 2,
		Goroutines: m["go_goroutines"], Files: m["process_open_fds"], Chromium: m["browserd_chromium_resident_bytes"],
		Launches: m["browserd_chromium_launches_total"],
	}
	s.Processes = float64(len(testdaemon.Descendants(d.PID)))
	s.Zombies = float64(len(testdaemon.Zombies(d.PID)))
	profiles := d.Profiles()
	s.Profiles, s.Temporary = float64(len(profiles)), float64(entries(filepath.Join(d.Home, "tmp"), profiles))
	return s, nil
}

// metrics reads the values of /metrics that have no labels.
func metrics(ctx context.Context, d *testdaemon.Daemon) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL()+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+d.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics: HTTP %d", resp.StatusCode)
	}
	values := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = v
		}
	}
	return values, lines.Err()
}

// entries counts what lies in dir, outside of the profiles.
func entries(dir string, profiles []string) int {
	n := 0
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return nil // it went away while the tree was being walked
		}
		for _, p := range profiles {
			if path == p {
				return fs.SkipDir
			}
		}
		n++
		return nil
	})
	return n
}

// size is how many bytes the files below dir have.
func size(dir string) (bytes int64) {
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := os.Lstat(path); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}
