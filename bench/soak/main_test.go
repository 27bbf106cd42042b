package main

import (
	"os"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testdaemon.RemoveBinary()
	os.Exit(code)
}
