package testdaemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

var build = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("BROWSERD_BIN"); bin != "" {
		return bin, nil
	}
	if RaceEnabled {
		// Without it in the engine of scripts: see the Makefile.
		return buildAs("browserd-race", "-race", "-gcflags=modernc.org/libquickjs=-race=false")
	}
	return buildAs("browserd")
})

var buildPlain = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("BROWSERD_PLAIN_BIN"); bin != "" {
		return bin, nil
	}
	if RaceEnabled {
		return buildAs("browserd")
	}
	return build()
})

// built is the directory of what was built in this process.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "browserd-bin-")
	if err != nil {
		return "", err
	}
	// Chromium's user may have to start the daemon's own binary again.
	return dir, os.Chmod(dir, 0o755)
})

func buildAs(name string, flags ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir, err := built()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, name)
	cmd := exec.Command("go", slices.Concat([]string{"build", "-ldflags", "-s -w", "-o", bin}, flags, []string{"./cmd/browserd"})...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the daemon: %w\n%s", err, out)
	}
	return bin, nil
}

// Binary is the path of the daemon: BROWSERD_BIN, or cmd/browserd built once
// for this test process, with -race where the test itself runs with it.
func Binary() (string, error) { return build() }

// PlainBinary is the path of the daemon without the race detector, for tests that measure
// memory or compute for long: the detector takes several times as much. It is
// BROWSERD_PLAIN_BIN, or cmd/browserd built once for this test process.
func PlainBinary() (string, error) { return buildPlain() }

// RemoveBinary removes what Binary and PlainBinary built. TestMain calls it last.
func RemoveBinary() {
	if dir, err := built(); err == nil {
		os.RemoveAll(dir)
	}
}

// Root is the product's directory, in whichever of the repository's modules the
// test runs.
func Root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/browserd/browserd").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
