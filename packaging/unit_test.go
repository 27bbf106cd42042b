package packaging

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/browserd/browserd/internal/untested"
)

// systemd takes every line of the unit, and finds the service as closed as it
// was made: an exposure of at most 2.5 of 10.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		untested.Missing(t, "the unit is not looked at: systemd-analyze is not installed")
	}
	unit, err := os.ReadFile("browserd.service")
	if err != nil {
		t.Fatal(err)
	}
	// verify asks for the program, which is not installed where this is built.
	installed := bytes.Replace(unit, []byte("/usr/bin/browserd serve"), []byte("/bin/true"), 1)
	if bytes.Equal(unit, installed) {
		t.Fatal("the unit does not start /usr/bin/browserd serve")
	}
	file := filepath.Join(t.TempDir(), "browserd.service")
	if err := os.WriteFile(file, installed, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte(file)) {
		t.Errorf("verify: %v\n%s", err, out)
	}
	out, err = exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold=25", file).CombinedOutput()
	if err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
}
