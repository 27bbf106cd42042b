package testpostgres

import (
	"net"
	"strconv"
	"testing"
)

// A program that has the server's port is not waited for.
func TestThePortIsTaken(t *testing.T) {
	s := Start(t)
	s.Stop()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err != nil {
		t.Fatal(err)
	}
	if !s.run(t) {
		t.Error("the server runs beside another one at its port")
	}
	l.Close()
	s.Run(t)
}
