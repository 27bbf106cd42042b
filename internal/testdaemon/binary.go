package testdaemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

var build = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("BROWSERD_BIN"); bin != "" {
		return bin, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "browserd-bin-")
	if err != nil {
		return "", err
	}
	built = dir
	args := []string{"build", "-o", filepath.Join(dir, "browserd")}
	if RaceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/browserd")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the daemon: %w\n%s", err, out)
	}
	// Chromium's user may have to start the daemon's own binary again.
	return filepath.Join(dir, "browserd"), os.Chmod(dir, 0o755)
})

// built is the directory that build made.
var built string

// Binary is the path of the daemon: BROWSERD_BIN, or cmd/browserd built once
// for this test process, with -race where the test itself runs with it.
func Binary() (string, error) { return build() }

// RemoveBinary removes what Binary built. TestMain calls it last.
func RemoveBinary() {
	if built != "" {
		os.RemoveAll(built)
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
