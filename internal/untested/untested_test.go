package untested_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/browserd/browserd/internal/untested"
)

func TestASkipIsListed(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	t.Setenv("NOT_TESTED", list)
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if !t.Skipped() {
					t.Error("the test is not skipped")
				}
			}()
			untested.Skip(t, "there is no %s", name)
		})
	}
	got, err := os.ReadFile(list)
	if want := "TestASkipIsListed/one: there is no one\nTestASkipIsListed/two: there is no two\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
