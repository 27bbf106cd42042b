package e2e_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"
	"testing"
)

// packed is a gzip file that unpacks to so many MiB of one byte. Behind the first MiB each
// is packed into the same bytes, so that a few are packed and one is repeated.
func packed(t *testing.T, of byte, mib int) string {
	t.Helper()
	var deflated bytes.Buffer
	z, err := flate.NewWriter(&deflated, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	one, sum := bytes.Repeat([]byte{of}, 1<<20), uint32(0)
	var ends [3]int
	for i := range ends {
		z.Write(one)
		z.Flush()
		ends[i] = deflated.Len()
	}
	for range mib {
		sum = crc32.Update(sum, crc32.IEEETable, one)
	}
	z.Close()
	text := deflated.String()
	size := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, sum), uint32(mib<<20))
	return "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + text[:ends[1]] + strings.Repeat(text[ends[1]:ends[2]], mib-2) + text[ends[2]:] + string(size)
}

// What packed makes is unpacked to what it says, its sum and its size included.
func TestPacked(t *testing.T) {
	t.Parallel()
	z, err := gzip.NewReader(strings.NewReader(packed(t, ' ', 5)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{' '}, 5<<20)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
