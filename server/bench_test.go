package server

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPing is the round trip of a command that does nothing.
func BenchmarkPing(b *testing.B) {
	c := start(b, nil).connect(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.send(request(i, "ping", `{}`))
		c.read()
	}
}

// BenchmarkPipelined is the same with 16 requests on their way at once.
func BenchmarkPipelined(b *testing.B) {
	c := start(b, nil).connect(b)
	for i := range 16 {
		c.send(request(i, "ping", `{}`))
	}
	for i := 16; b.Loop(); i++ {
		c.read()
		c.send(request(i, "ping", `{}`))
	}
}

// BenchmarkHTTPPing is the round trip over HTTP on a kept connection.
func BenchmarkHTTPPing(b *testing.B) {
	d := start(b, nil)
	for b.Loop() {
		if status, body := d.post(b, "ping", `{}`); status != 200 {
			b.Fatal(status, body)
		}
	}
}

// BenchmarkDecode is the decoding of frames of several sizes.
func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{0, 1 << 10, 1 << 20} {
		frame := []byte(request(1, "type", fmt.Sprintf(`{"ref":"@e1","text":%q}`, strings.Repeat("x", size))))
		b.Run(fmt.Sprint(len(frame)), func(b *testing.B) {
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				if _, err := decodeRequest(frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
