package session

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	pbkdf2Iterations = 10
	os.Exit(m.Run())
}
