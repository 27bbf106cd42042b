// Package archive seals what sites store in a Chromium profile as one file, and unpacks it.
//
// An archive has only files of an allowlist ([Stored]): cookies and what sites store. What Chromium reads as
// its own settings, or runs, is never part of an archive: preferences, extensions, certificates, native
// messaging. The package follows no symbolic link, neither when it packs nor when it unpacks. It knows nothing
// of agents or names, except that an archive is bound to its owner. Any goroutine may call its functions.
package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// storedPaths are the files and directories of Chromium's user data directory that are part of an archive.
// Windows and macOS have some of them in the directory Network.
var storedPaths = []string{
	"Cookies", "Cookies-journal", "Network/Cookies", "Network/Cookies-journal",
	"Device Bound Sessions", "Device Bound Sessions-journal", "Network/Device Bound Sessions", "Network/Device Bound Sessions-journal",
	"Trust Tokens", "Trust Tokens-journal", "Network/Trust Tokens", "Network/Trust Tokens-journal",
	"Local Storage/", "IndexedDB/", "Service Worker/", "WebStorage/", "File System/", "databases/",
}

// Stored reports whether a file of a user data directory is part of an archive. name is its path in the
// directory, with slashes.
func Stored(name string) bool {
	rest, ok := strings.CutPrefix(name, "Default/")
	if !ok || !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00") {
		return false
	}
	for _, k := range storedPaths {
		if rest == k || strings.HasSuffix(k, "/") && strings.HasPrefix(rest, k) {
			return true
		}
	}
	return false
}

// Walk calls do with each file of a user data directory that is part of an archive.
func Walk(userData string, do func(root *os.Root, name string, info fs.FileInfo) error) error {
	root, err := os.OpenRoot(userData)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // Chromium has removed it meanwhile
		}
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name != "." && name != "Default" && name != "Default/Network" && !Stored(name+"/x") {
				return fs.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() || !Stored(name) {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return do(root, name, info)
	})
}

// minFileBytes is the least size that a file counts for, as it takes a block on the disk.
const minFileBytes = 4096

// Size returns how many bytes of a user data directory would be part of an archive; each file counts
// as at least minFileBytes. Errors: ErrLarge where it has more files than an archive may have.
func Size(userData string) (n int64, err error) {
	files := 0
	err = Walk(userData, func(_ *os.Root, _ string, info fs.FileInfo) error {
		if files++; files > maxFiles {
			return ErrLarge
		}
		n += max(info.Size(), minFileBytes)
		return nil
	})
	return n, err
}

// Pack writes a tar of the files of a user data directory that are part of an archive.
func Pack(w io.Writer, userData string) error {
	t := tar.NewWriter(w)
	err := Walk(userData, func(root *os.Root, name string, info fs.FileInfo) error {
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = io.CopyN(t, f, info.Size())
		return err
	})
	return errors.Join(err, t.Close())
}

// ErrLarge is the error of an archive with too many files or bytes.
var ErrLarge = errors.New("too large")

// maxFiles is how many files an archive may have.
var maxFiles = 200_000 // changed by tests

// Unpack writes the files of a tar into an empty user data directory. A file that may not be part of an archive
// is an error, and so are more than limit bytes (ErrLarge).
func Unpack(r io.Reader, userData string, limit int64) error {
	root, err := os.OpenRoot(userData)
	if err != nil {
		return err
	}
	defer root.Close()
	return forEachEntry(r, limit, func(h *tar.Header, content io.Reader) error { return Put(root, h.Name, content) })
}

// The longest path in an archive, and the longest element of a path.
const (
	maxPath = 1000
	maxPart = 255
)

// forEachEntry calls do with each file of a tar. A file that may not be part of an archive, or that could not
// be written to a directory, is an error, and so are more than limit bytes (ErrLarge).
func forEachEntry(r io.Reader, limit int64, do func(h *tar.Header, content io.Reader) error) error {
	return forEachTarEntry(tar.NewReader(r), limit, do)
}

func forEachTarEntry(t *tar.Reader, limit int64, do func(h *tar.Header, content io.Reader) error) error {
	const isFile, isDir = 1, 2
	seen := map[string]int{}
	for files := 0; ; files++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !Stored(h.Name) || len(h.Name) > maxPath || seen[h.Name] != 0 {
			return fmt.Errorf("%q is no part of a profile", h.Name)
		}
		seen[h.Name] = isFile
		for dir := h.Name; dir != "."; {
			if len(path.Base(dir)) > maxPart {
				return fmt.Errorf("%q is no part of a profile", h.Name)
			}
			if dir = path.Dir(dir); seen[dir] == isFile {
				return fmt.Errorf("%q is no part of a profile", h.Name)
			}
			seen[dir] = isDir
		}
		if limit -= max(h.Size, minFileBytes); limit < 0 || files >= maxFiles {
			return ErrLarge
		}
		if err := do(h, t); err != nil {
			return err
		}
	}
}

// Put writes a file that does not exist yet, and makes the directories above it.
func Put(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// magic begins a sealed file. After it come the salt of the key, a random id of 16 bytes, and the chunks: for
// each its length in 4 bytes, then that many bytes.
const magic = "browserd profile 1\n"

const (
	saltSize = 16
	idSize   = 16
	chunk    = 1 << 20 // bytes of content in a chunk; the last one has fewer
)

// Ciphers returns the cipher of files with a salt. The cipher adds random nonces itself.
type Ciphers func(salt []byte) (cipher.AEAD, error)

// sealer encrypts what is written to it in chunks. The additional data of a chunk are the owner, the file's id,
// the chunk's number and whether it is the last one, so that no chunk can be left out, moved, or taken from
// another file.
type sealer struct {
	w    *bufio.Writer
	aead cipher.AEAD
	aad  []byte
	n    uint64
	buf  []byte
}

func chunkAAD(aad []byte, n uint64, last bool) []byte {
	out := binary.BigEndian.AppendUint64(bytes.Clone(aad), n)
	if last {
		return append(out, 1)
	}
	return append(out, 0)
}

func (s *sealer) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	for len(s.buf) >= chunk {
		if err := s.flush(s.buf[:chunk], false); err != nil {
			return 0, err
		}
		s.buf = append(s.buf[:0], s.buf[chunk:]...)
	}
	return len(p), nil
}

func (s *sealer) flush(content []byte, last bool) error {
	sealed := s.aead.Seal(nil, nil, content, chunkAAD(s.aad, s.n, last))
	s.n++
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(sealed)))
	if _, err := s.w.Write(length[:]); err != nil {
		return err
	}
	_, err := s.w.Write(sealed)
	return err
}

// Seal writes a sealed archive of a user data directory. Only a caller that passes the same owner can open it.
func Seal(w io.Writer, userData string, ciphers Ciphers, salt, owner []byte) error {
	return seal(w, ciphers, salt, owner, func(w io.Writer) error { return Pack(w, userData) })
}

func seal(w io.Writer, ciphers Ciphers, salt, owner []byte, write func(w io.Writer) error) error {
	a, err := ciphers(salt)
	if err != nil {
		return err
	}
	var id [idSize]byte
	rand.Read(id[:])
	s := &sealer{w: bufio.NewWriter(w), aead: a, aad: append(bytes.Clone(owner), id[:]...)}
	s.w.WriteString(magic)
	s.w.Write(salt)
	s.w.Write(id[:])
	if err := write(s); err != nil {
		return err
	}
	return errors.Join(s.flush(s.buf, true), s.w.Flush())
}

// ErrSealed is the error of a file that is not a sealed archive of the owner: it was sealed with another key or
// for another owner, or was changed since.
var ErrSealed = errors.New("it was sealed with another key or for another owner, or changed since")

type opener struct {
	r    *bufio.Reader
	aead cipher.AEAD
	aad  []byte
	n    uint64
	buf  []byte
	last bool
}

func (o *opener) Read(p []byte) (int, error) {
	for len(o.buf) == 0 {
		if o.last {
			return 0, io.EOF
		}
		if err := o.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, o.buf)
	o.buf = o.buf[n:]
	return n, nil
}

func (o *opener) next() error {
	var length [4]byte
	if _, err := io.ReadFull(o.r, length[:]); err != nil {
		return ErrSealed
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > chunk+64 {
		return ErrSealed
	}
	sealed := make([]byte, n)
	if _, err := io.ReadFull(o.r, sealed); err != nil {
		return ErrSealed
	}
	_, err := o.r.Peek(1)
	o.last = err != nil // nothing follows, so this must be the last chunk
	if o.buf, err = o.aead.Open(nil, nil, sealed, chunkAAD(o.aad, o.n, o.last)); err != nil {
		return ErrSealed
	}
	o.n++
	return nil
}

// Open unpacks a sealed archive into an empty user data directory. Errors: ErrSealed, ErrLarge. After an error
// remove the directory: it may have a part of the archive.
func Open(r io.Reader, userData string, ciphers Ciphers, owner []byte, limit int64) error {
	return open(r, ciphers, owner, func(r io.Reader) error { return Unpack(r, userData, limit) })
}

func open(r io.Reader, ciphers Ciphers, owner []byte, read func(r io.Reader) error) error {
	head := make([]byte, len(magic)+saltSize+idSize)
	in := bufio.NewReader(r)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:len(magic)]) != magic {
		return ErrSealed
	}
	salt, id := bytes.Clone(head[len(magic):len(magic)+saltSize]), head[len(magic)+saltSize:]
	a, err := ciphers(salt)
	if err != nil {
		return err
	}
	o := &opener{r: in, aead: a, aad: append(bytes.Clone(owner), id...)}
	if err := read(o); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, o) // read to the end, so that the last chunk is authenticated
	return err
}
