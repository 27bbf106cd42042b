//go:build linux

package e2e_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// vitals are what a daemon holds, as its metrics and the kernel say.
type vitals struct {
	goroutines, files, processes int
	sockets                      int // WebSocket connections
	resident                     int // bytes of the daemon itself
	profiles                     int
}

// steadily is the environment of a daemon whose vitals are counted: it has no
// browser context made ahead, which would come between the counts. The rest is
// names and values by turns.
func steadily(more ...string) map[string]string {
	env := map[string]string{"BROWSERD_BROWSER__READY_CONTEXTS": "0"}
	for i := 0; i < len(more); i += 2 {
		env[more[i]] = more[i+1]
	}
	return env
}

func vitalsOf(t *testing.T, d *testdaemon.Daemon) vitals {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true // a connection that is kept would be counted
	req.Header.Set("Authorization", "Bearer "+d.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) int {
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
				f, err := strconv.ParseFloat(v, 64)
				if err != nil {
					t.Fatal(err)
				}
				return int(f)
			}
		}
		t.Fatalf("no metric %s", name)
		return 0
	}
	files, err := os.ReadDir("/proc/" + strconv.Itoa(d.PID) + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	return vitals{
		goroutines: value("go_goroutines"), files: len(files), sockets: value("browserd_websockets"), resident: value("process_resident_memory_bytes"),
		processes: len(testdaemon.Descendants(d.PID)), profiles: len(d.Profiles()),
	}
}

// asBefore waits until the daemon holds no more than it did before, but for a
// few goroutines and files of connections that end by and by.
func asBefore(t *testing.T, d *testdaemon.Daemon, before vitals) {
	t.Helper()
	const few = 6
	var now vitals
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		now = vitalsOf(t, d)
		if now.goroutines <= before.goroutines+few && now.files <= before.files+few && now.sockets <= before.sockets && now.processes <= before.processes && now.profiles <= before.profiles {
			return
		}
	}
	t.Errorf("left behind: %+v, before %+v", now, before)
}
