package session

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	rounds = 10
	os.Exit(m.Run())
}
