//go:build linux

package e2e_test

import (
	"os"
	"strconv"
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
	value := metricsOf(t, d)
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
