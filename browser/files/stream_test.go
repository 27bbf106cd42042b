package files

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/browserd/browserd/protocol"
)

// streamed returns the files one after the other, and then the error; nil: io.EOF.
func streamed(end error, contents ...io.Reader) Next {
	return func() (string, io.Reader, error) {
		if len(contents) == 0 && end != nil {
			return "", nil, end
		}
		if len(contents) == 0 {
			return "", nil, io.EOF
		}
		next := contents[0]
		contents = contents[1:]
		return "a.txt", next, nil
	}
}

// block is how many bytes the buffer of these tests holds.
const block = 1 << 20

// What comes as a stream counts as what comes whole does, is what was sent, and leaves nothing where it fails: no file, and
// nothing that counts.
func TestStreamedFilesCount(t *testing.T) {
	const limit = 3*block + leastFile
	quota := SessionQuota(limit)
	var u Uploads
	u.Limit(quota)
	t.Cleanup(u.Remove)
	zeros := func(n int) io.Reader { return bytes.NewReader(make([]byte, n)) }
	broken := errors.New("the client has gone")
	empty := func(n int) (list []io.Reader) {
		for range n {
			list = append(list, strings.NewReader(""))
		}
		return list
	}
	for _, c := range []struct {
		name  string
		next  Next
		used  int64 // bytes that count afterwards
		fault error
		code  protocol.Code
	}{
		{"none", streamed(nil), 0, nil, ""},
		{"small ones", streamed(nil, strings.NewReader("a"), strings.NewReader("")), 2 * leastFile, nil, ""},
		{"one of many blocks", streamed(nil, zeros(2*block+1)), 2*block + 1, nil, ""},
		{"a block, in small pieces", streamed(nil, iotest.OneByteReader(zeros(block))), block, nil, ""},
		{"as many bytes as there may be", streamed(nil, zeros(limit)), limit, nil, ""},
		{"one byte more", streamed(nil, zeros(limit+1)), 0, nil, protocol.TooLarge},
		{"one file more", streamed(nil, zeros(limit-leastFile), strings.NewReader(""), strings.NewReader("")), 0, nil, protocol.TooLarge},
		{"very many empty ones", streamed(nil, empty(limit/leastFile+1)...), 0, nil, protocol.TooLarge},
		{"one that breaks off", streamed(nil, zeros(block), io.MultiReader(zeros(block+9), iotest.ErrReader(broken))), 0, broken, ""},
		{"a body that breaks off", streamed(broken, zeros(block)), 0, broken, ""},
	} {
		paths, discard, err := u.StoreStream(make([]byte, block), c.next)
		if c.fault != nil && !errors.Is(err, c.fault) || c.code != "" && protocol.CodeOf(err) != c.code || (err != nil) != (c.fault != nil || c.code != "") {
			t.Errorf("%s: %v", c.name, err)
		}
		if quota.used != c.used || u.used != c.used {
			t.Errorf("%s: %d and %d bytes count, want %d", c.name, quota.used, u.used, c.used)
		}
		if discard != nil {
			for _, path := range paths {
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			discard()
			discard()
		}
		if left, err := filepath.Glob(filepath.Join(u.Dir(), "*", "*")); err != nil || len(left) > 0 || quota.used != 0 {
			t.Errorf("%s: %v are left, and %d bytes count: %v", c.name, left, quota.used, err)
		}
	}
	paths, _, err := u.StoreStream(make([]byte, block), streamed(nil, strings.NewReader("first"), strings.NewReader("second")))
	if err != nil || len(paths) != 2 {
		t.Fatal(paths, err)
	}
	for i, want := range []string{"first", "second"} {
		if got, err := os.ReadFile(paths[i]); err != nil || string(got) != want {
			t.Errorf("%s holds %q: %v", paths[i], got, err)
		}
	}
	u.Remove()
	if _, _, err := u.StoreStream(make([]byte, block), streamed(nil, strings.NewReader("late"))); protocol.CodeOf(err) != protocol.SessionNotFound {
		t.Errorf("after the session's end: %v", err)
	}
}
