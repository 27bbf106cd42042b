// Package untested says what tests leave out because the machine lacks something: a test
// that is skipped without a word looks like one that passed.
package untested

import (
	"fmt"
	"os"
	"testing"
)

// InCI reports whether this is a run of .ci/run, which sets CI.
func InCI() bool { return os.Getenv("CI") == "true" }

// Missing ends t because a tool is missing. In CI that fails the test, elsewhere it
// skips it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if InCI() {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Skip skips t because of something that a machine of CI may lack as well. It adds a line
// to the file that the variable NOT_TESTED names, which .ci/run prints at its end.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if path := os.Getenv("NOT_TESTED"); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(f, "%s: %s\n", t.Name(), fmt.Sprintf(format, args...))
		if e := f.Close(); err != nil || e != nil {
			t.Fatal(err, e)
		}
	}
	t.Skipf(format, args...)
}
