package main

import (
	"bufio"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"browserd": main})
}

// The sessions at the terminal in testdata/script. Each has a home of its own
// and no BROWSERD_ variable but those that it sets; PORT is free, TAKEN is not.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Defer(func() { taken.Close() })
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer free.Close()
			env.Setenv("TAKEN", taken.Addr().String())
			env.Setenv("PORT", free.Addr().String())
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"await": await},
	})
}

// await FILE TEXT waits until FILE, which a background command writes, holds
// TEXT. There is no event for that, so it looks again and again.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE TEXT")
	}
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		f, err := os.Open(ts.MkAbs(args[0]))
		if err == nil {
			for lines := bufio.NewScanner(f); lines.Scan(); {
				if strings.Contains(lines.Text(), args[1]) {
					f.Close()
					return
				}
			}
			f.Close()
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("%s never held %q", args[0], args[1])
}
