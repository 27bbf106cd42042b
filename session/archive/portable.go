package archive

import (
	"archive/tar"
	"compress/flate"
	"errors"
	"fmt"
	"io"
)

// A portable archive is compressed, and sealed with the passphrase of the person who exports it, for no
// particular owner. Its first file is the state, which no other archive has.
const stateFile = "state.json"

// portableOwner is the owner of every portable archive.
var portableOwner = []byte("browserd portable profile 1")

// MaxState is how many bytes the state in a portable archive may have.
const MaxState = 16 << 20

// Export writes the content of the owner's sealed archive r, and a state, as a portable archive. Nothing is
// written unencrypted. Errors: ErrSealed, ErrLarge, those of w.
func Export(w io.Writer, to Ciphers, salt, state []byte, r io.Reader, from Ciphers, owner []byte, limit int64) error {
	return seal(w, to, salt, portableOwner, func(w io.Writer) error {
		z, err := flate.NewWriter(w, flate.BestCompression)
		if err != nil {
			return err
		}
		t := tar.NewWriter(z)
		if err := add(t, stateFile, int64(len(state)), nil, state); err != nil {
			return err
		}
		err = open(r, from, owner, func(r io.Reader) error {
			return forEachEntry(r, limit, func(h *tar.Header, content io.Reader) error { return add(t, h.Name, h.Size, content, nil) })
		})
		return errors.Join(err, t.Close(), z.Close())
	})
}

// Import seals the content of a portable archive for an owner. It returns the archive's state, and the size of
// the rest as Size counts it. It checks every file as Open does. Errors: ErrSealed, ErrLarge, those of w.
func Import(w io.Writer, to Ciphers, salt, owner []byte, r io.Reader, from Ciphers, limit int64) (state []byte, size int64, err error) {
	err = seal(w, to, salt, owner, func(w io.Writer) error {
		return open(r, from, portableOwner, func(r io.Reader) error {
			z := flate.NewReader(r)
			t := tar.NewReader(z)
			h, err := t.Next()
			switch {
			case err != nil:
				return err
			case h.Typeflag != tar.TypeReg || h.Name != stateFile:
				return fmt.Errorf("%q is not its state", h.Name)
			case h.Size > MaxState:
				return ErrLarge
			}
			if state, err = io.ReadAll(t); err != nil {
				return err
			}
			out := tar.NewWriter(w)
			err = forEachTarEntry(t, limit, func(h *tar.Header, content io.Reader) error {
				size += max(h.Size, minFileBytes)
				return add(out, h.Name, h.Size, content, nil)
			})
			if err := errors.Join(err, out.Close()); err != nil {
				return err
			}
			if n, err := io.CopyN(io.Discard, z, maxTrailingBytes); err == nil || !errors.Is(err, io.EOF) {
				return fmt.Errorf("%d bytes and more stand behind its files: %w", n, err)
			}
			return nil
		})
	})
	return state, size, err
}

// maxTrailingBytes is how many bytes may follow the end of a tar: the padding of its last record.
const maxTrailingBytes = 64 << 10

func add(t *tar.Writer, name string, size int64, r io.Reader, content []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	if r == nil {
		_, err := t.Write(content)
		return err
	}
	_, err := io.Copy(t, r)
	return err
}
