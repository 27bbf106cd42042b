package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// entry is a line of a recording.
type entry struct {
	Sent bool            `json:"sent"` // to Chromium
	At   time.Duration   `json:"at"`   // since the start
	Text json.RawMessage `json:"text"`
}

// recordTo passes everything on between the pipe and a Chromium, and writes it down.
func recordTo(path, chromium string, args []string, commands io.Reader, answers io.WriteCloser) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	commandR, commandW, err1 := os.Pipe()
	answerR, answerW, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	cmd := exec.Command(chromium, args...)
	cmd.ExtraFiles, cmd.Stderr = []*os.File{commandR, answerW}, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	commandR.Close()
	answerW.Close()
	var mu sync.Mutex
	began, out := time.Now(), json.NewEncoder(f)
	pass := func(sent bool, from io.Reader, to io.WriteCloser) {
		defer to.Close()
		for m := range messages(from) {
			mu.Lock()
			out.Encode(entry{sent, time.Since(began), m})
			mu.Unlock()
			if _, err := to.Write(append(m, 0)); err != nil {
				return
			}
		}
	}
	go pass(true, commands, commandW)
	pass(false, answerR, answers)
	return cmd.Wait()
}

// messages are what comes over a pipe until it ends, without the zero bytes.
func messages(r io.Reader) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for in := bufio.NewReaderSize(r, 256<<10); ; {
			m, err := in.ReadBytes(0)
			if err != nil || !yield(m[:len(m)-1:len(m)-1]) {
				return
			}
		}
	}
}
