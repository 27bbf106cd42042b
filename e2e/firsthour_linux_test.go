package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/browserd/browserd/internal/testdaemon"
)

// The first hour of somebody who has just built browserd, at a terminal: each script in
// testdata/firsthour is a session in a shell, with a home of its own and nothing set.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	app := strings.TrimSuffix(demoServer(t), "/")
	// A free address, and an environment without a setting: the daemon that has it is stopped.
	d := testdaemon.Start(t, testdaemon.Options{})
	d.Stop()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "firsthour"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(bin)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("HOME", d.Home)
			e.Setenv("TERM", "xterm")
			for _, v := range d.Environ() {
				name, value, _ := strings.Cut(v, "=")
				if strings.HasPrefix(name, "XDG_") || name == "BROWSERD_SERVER__LISTEN" || strings.HasPrefix(name, "BROWSERD_BROWSER__") {
					e.Setenv(name, value)
				}
			}
			e.Setenv("APP", app)
			e.Setenv("HOST", strings.TrimPrefix(app, "http://"))
			e.Defer(func() { d.Command("stop") })
			return nil
		},
	})
}
