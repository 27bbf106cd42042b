package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// How long a program may take to print a value.
const programLimit = 10 * time.Second

// value returns the value from the secret's source. The error never has the output of a program.
func (s Secret) value(ctx context.Context) (string, error) {
	v := s.Value
	switch {
	case s.Env != "":
		if v = os.Getenv(s.Env); v == "" {
			return "", fmt.Errorf("the daemon's environment has no %s", s.Env)
		}
	case len(s.Program) > 0:
		var err error
		if v, err = runProgram(ctx, s.Program); err != nil {
			return "", err
		}
	}
	return v, checkValue(s.Kind, v)
}

// runProgram runs a program, without a shell, and returns what it printed without the line
// break at its end.
func runProgram(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second // what it has started may hold its output open
	out := &limitedBuffer{left: maxValue + 2, over: cancel}
	cmd.Stdout = out
	err := cmd.Run()
	exited := (*exec.ExitError)(nil)
	switch {
	case out.left < 0:
		return "", fmt.Errorf("the program %s printed more than %d bytes", argv[0], maxValue)
	case ctx.Err() != nil:
		return "", fmt.Errorf("the program %s did not end in time", argv[0])
	case errors.As(err, &exited):
		return "", fmt.Errorf("the program %s failed: %s", argv[0], exited.ProcessState)
	case err != nil:
		return "", fmt.Errorf("the program %s: %w", argv[0], err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(out.kept.String(), "\n"), "\r"), nil
}

// limitedBuffer keeps the first left bytes that are written to it. If there are more, it calls over and returns
// an error.
type limitedBuffer struct {
	kept bytes.Buffer
	left int
	over func()
}

func (l *limitedBuffer) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		l.over()
		return 0, errors.New("too much")
	}
	return l.kept.Write(b)
}
