package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// repository is where the tasks come from; commit is what the players were
// written for and the figures were measured with.
const (
	repository = "https://github.com/Farama-Foundation/miniwob-plusplus"
	commit     = "3f461ffcca7cecd2e84f603c6908ea16a0dfbc0c"
)

// clone returns a copy of the repository in the user's cache directory, made
// with git where there is none yet.
func clone(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "browserd-bench", "miniwob-"+commit[:12])
	if _, err := os.Stat(filepath.Join(dir, "miniwob", "html")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"fetch", "--quiet", "--depth=1", repository, commit},
		{"checkout", "--quiet", "FETCH_HEAD"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %s: %w: %s (a copy can be named with -miniwob)", args[0], err, out)
		}
	}
	return dir, nil
}
