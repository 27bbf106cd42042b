package attach

import "os"

// ownedByUs returns an error if there is no such file.
func ownedByUs(path string) error {
	_, err := os.Lstat(path)
	return err
}
