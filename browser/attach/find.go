package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// portFile is the file to which Chromium writes where it listens: a port, and the path of the
// WebSocket, with a random part.
const portFile = "DevToolsActivePort"

var portRule = regexp.MustCompile(`^([1-9][0-9]{0,4})\n(/devtools/browser/[0-9a-f-]{36})\n?$`)

// Find returns the address of the WebSocket at which the Chromium that uses the user data directory
// listens. It does not connect: Chromium asks the person about each connection. It returns an error
// if the file is another user's, or another process than that Chromium listens on the port.
func Find(dir string) (address string, err error) {
	path := filepath.Join(dir, portFile)
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		for _, name := range []string{dir, path} {
			if err := ownedByUs(name); err != nil {
				return "", err
			}
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if len(content) == 0 && time.Since(began) < writeTimeout {
			continue
		}
		m := portRule.FindStringSubmatch(string(content))
		if m == nil {
			return "", fmt.Errorf("%s is not what Chromium writes", path)
		}
		if err := listens(dir, m[1]); err != nil {
			return "", err
		}
		return "ws://127.0.0.1:" + m[1] + m[2], nil
	}
}

// writeTimeout is how long Chromium may take to write the file, which it creates empty.
const writeTimeout = 500 * time.Millisecond

// DefaultDir returns the user data directory of the first of Chrome and Chromium that listens, or else of the
// first that exists. It returns "" if there is none.
func DefaultDir() string {
	config, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	names := []string{"google-chrome", "google-chrome-beta", "chromium"}
	switch runtime.GOOS {
	case "darwin":
		names = []string{"Google/Chrome", "Google/Chrome Beta", "Chromium"}
	case "windows":
		config, names = os.Getenv("LOCALAPPDATA"), []string{`Google\Chrome\User Data`, `Google\Chrome Beta\User Data`, `Chromium\User Data`}
	}
	first := ""
	for _, name := range names {
		dir := filepath.Join(config, name)
		if _, err := os.Stat(filepath.Join(dir, portFile)); err == nil {
			return dir
		}
		if _, err := os.Stat(dir); err == nil && first == "" {
			first = dir
		}
	}
	return first
}

// lockHolder returns the process that uses a user data directory, from the link HOST-PID that Chromium makes
// there.
func lockHolder(dir string) (pid string, err error) {
	to, err := os.Readlink(filepath.Join(dir, "SingletonLock"))
	if err != nil {
		return "", fmt.Errorf("no Chromium has %s open", dir)
	}
	return to[strings.LastIndexByte(to, '-')+1:], nil
}
