package config

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DefaultAgent is the agent whose token is BROWSERD_TOKEN or the one that the
// daemon made.
const DefaultAgent = "default"

// TokenFile is where a daemon without a configured token keeps the one that it
// made.
func TokenFile(stateDir string) string { return filepath.Join(stateDir, "token") }

// Token returns the token in stateDir, and makes one there at the first call:
// 130 random bits, in a file that only this user can read. Daemons that start
// at the same time get the same one.
func Token(stateDir string) (string, error) {
	token, err := readToken(stateDir)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	tmp, err := os.CreateTemp(stateDir, "token-*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("making a token: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = fmt.Fprintln(tmp, rand.Text())
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return "", fmt.Errorf("making a token: %w", err)
	}
	// A link appears whole or not at all, and never over another's.
	if err := os.Link(tmp.Name(), TokenFile(stateDir)); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making a token: %w", err)
	}
	return readToken(stateDir)
}

func readToken(stateDir string) (string, error) {
	path := TokenFile(stateDir)
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no plain file: remove it, and the daemon makes a new one", path)
	}
	if ofAnother(info, false) {
		return "", fmt.Errorf("%s belongs to another user: remove it, and the daemon makes a new one", path)
	}
	if info.Mode().Perm()&0o077 != 0 && os.Getenv("OS") != "Windows_NT" {
		return "", fmt.Errorf("%s can be read by others (mode %o): remove it, and the daemon makes a new one", path, info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("%s is empty: remove it, and the daemon makes a new one", path)
	}
	return token, nil
}
