package archive

import (
	"archive/tar"
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func ciphers(salt []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(bytes.Repeat(salt, 2))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

var (
	salt  = []byte("0123456789abcdef")
	owner = []byte("agent\x00shop")
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		got[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What sites store comes back as it was; settings, extensions, caches and links do not.
func TestSealAndOpen(t *testing.T) {
	from, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	stored := map[string]string{
		"Default/Cookies": "c", "Default/Network/Cookies": "n", "Default/IndexedDB/http_a_0.indexeddb.leveldb/000003.log": strings.Repeat("x", 3*chunk),
		"Default/Service Worker/Database/LOG": "", "Default/Local Storage/leveldb/CURRENT": "m",
	}
	write(t, from, stored)
	write(t, from, map[string]string{
		"Local State": "{}", "Default/Preferences": `{"proxy": 1}`, "Default/Secure Preferences": "{}", "Default/Extensions/a/1/manifest.json": "{}",
		"Default/Cache/x": "x", "NativeMessagingHosts/x.json": "{}", "Default/Login Data": "x", "Default/Cookies-x": "x",
	})
	if err := os.WriteFile(secret, []byte("not to be read"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Default/IndexedDB/link", "Default/Trust Tokens"} {
		if err := os.Symlink(secret, filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(secret), filepath.Join(from, "Default/databases")); err != nil {
		t.Fatal(err)
	}
	var sealed bytes.Buffer
	if err := Seal(&sealed, from, ciphers, salt, owner); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := Open(bytes.NewReader(sealed.Bytes()), to, ciphers, owner, 1<<30); err != nil {
		t.Fatal(err)
	}
	got := read(t, to)
	for name, content := range stored {
		if got[name] != content {
			t.Errorf("%s: %d bytes, want %d", name, len(got[name]), len(content))
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("also there: %v", got)
	}
	if err := Open(bytes.NewReader(sealed.Bytes()), t.TempDir(), ciphers, owner, 1<<20); !errors.Is(err, ErrLarge) {
		t.Errorf("over the limit: %v", err)
	}

	// Every change of it is noticed, wherever it is.
	whole := sealed.Bytes()
	first := len(magic) + saltSize + idSize
	length := 4 + chunk + 28
	for what, content := range map[string][]byte{
		"cut":              whole[:len(whole)-1],
		"without its last": whole[:first+length],
		"empty":            nil,
		"a chunk twice":    append(append(append([]byte{}, whole[:first+length]...), whole[first:first+length]...), whole[first+length:]...),
		"a chunk less":     append(append([]byte{}, whole[:first]...), whole[first+length:]...),
		"more":             append(append([]byte{}, whole...), 0, 0, 0, 0),
	} {
		if err := Open(bytes.NewReader(content), t.TempDir(), ciphers, owner, 1<<30); !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := 0; i < len(whole); i += 1 + len(whole)/200 {
		changed := bytes.Clone(whole)
		changed[i] ^= 4
		if err := Open(bytes.NewReader(changed), t.TempDir(), ciphers, owner, 1<<30); err == nil {
			t.Errorf("byte %d changed: no error", i)
		}
	}
	if err := Open(bytes.NewReader(whole), t.TempDir(), ciphers, []byte("agent\x00other"), 1<<30); !errors.Is(err, ErrSealed) {
		t.Errorf("another owner's: %v", err)
	}
}

// A tar that would write elsewhere, or what is no data of sites, is refused before anything of it
// is written.
func TestUnpackRefuses(t *testing.T) {
	for _, h := range []tar.Header{
		{Name: "../x"}, {Name: "/etc/x"}, {Name: "Default/../../x"}, {Name: "Default/IndexedDB/../Preferences"}, {Name: "Default/Preferences"},
		{Name: "Default/Extensions/a/manifest.json"}, {Name: "Local State"}, {Name: "Default/IndexedDB//x"}, {Name: `Default/IndexedDB/..\..\x`},
		{Name: "Default/IndexedDB/l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, {Name: "Default/IndexedDB/l", Typeflag: tar.TypeLink, Linkname: "Default/Cookies"},
		{Name: "Default/IndexedDB/f", Typeflag: tar.TypeFifo}, {Name: "Default/IndexedDB/d", Typeflag: tar.TypeDir}, {Name: "Default/Cookies/x"}, {Name: "default/Cookies"},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := errors.Join(w.WriteHeader(&h), w.Close()); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := Unpack(&b, dir, 1<<20); err == nil {
			t.Errorf("%q of type %c: no error", h.Name, h.Typeflag)
		}
		if got := read(t, dir); len(got) != 0 {
			t.Errorf("%q: %v", h.Name, got)
		}
	}
}

// A portable archive of somebody who has its passphrase is checked as a tar of Unpack is: nothing is
// sealed that could not be opened, or is no data of sites.
func TestImportRefuses(t *testing.T) {
	of := func(entries ...tar.Header) []byte {
		var b bytes.Buffer
		err := seal(&b, ciphers, salt, portableOwner, func(w io.Writer) error {
			z, _ := flate.NewWriter(w, 9)
			a := tar.NewWriter(z)
			for _, h := range entries {
				if h.Typeflag == 0 {
					h.Typeflag = tar.TypeReg
				}
				if err := a.WriteHeader(&h); err != nil {
					return err
				}
				a.Write(make([]byte, h.Size))
			}
			return errors.Join(a.Close(), z.Close())
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	state := tar.Header{Name: stateFile}
	var sealed bytes.Buffer
	if _, size, err := Import(&sealed, ciphers, salt, owner, bytes.NewReader(of(state, tar.Header{Name: "Default/Cookies", Size: 5})), ciphers, 1<<20); err != nil || size != minFileBytes {
		t.Fatalf("%d, %v", size, err)
	}
	if err := Open(&sealed, t.TempDir(), ciphers, owner, 1<<20); err != nil {
		t.Error(err)
	}
	for what, content := range map[string][]byte{
		"no state":             of(tar.Header{Name: "Default/Cookies"}),
		"a state that is long": of(tar.Header{Name: stateFile, Size: MaxState + 1}),
		"settings":             of(state, tar.Header{Name: "Default/Preferences"}),
		"another directory":    of(state, tar.Header{Name: "Default/IndexedDB/../../../x"}),
		"a link":               of(state, tar.Header{Name: "Default/IndexedDB/l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}),
		"a file twice":         of(state, tar.Header{Name: "Default/Cookies"}, tar.Header{Name: "Default/Cookies"}),
		"a file in a file":     of(state, tar.Header{Name: "Default/IndexedDB/a"}, tar.Header{Name: "Default/IndexedDB/a/b"}),
		"a file as directory":  of(state, tar.Header{Name: "Default/IndexedDB/a/b"}, tar.Header{Name: "Default/IndexedDB/a"}),
		"a long name":          of(state, tar.Header{Name: "Default/IndexedDB/" + strings.Repeat("n", 256)}),
		"a bomb":               of(state, tar.Header{Name: "Default/IndexedDB/a", Size: 64 << 20}),
		"many small ones": func() []byte {
			list := []tar.Header{state}
			for i := range 257 {
				list = append(list, tar.Header{Name: "Default/IndexedDB/" + strings.Repeat("f", 1+i%200) + strings.Repeat("g", i/200)})
			}
			return of(list...)
		}(),
		"no tar": func() []byte {
			var b bytes.Buffer
			seal(&b, ciphers, salt, portableOwner, func(w io.Writer) error { _, err := w.Write([]byte("not compressed")); return err })
			return b.Bytes()
		}(),
		"more behind it": func() []byte {
			var b bytes.Buffer
			seal(&b, ciphers, salt, portableOwner, func(w io.Writer) error {
				z, _ := flate.NewWriter(w, 9)
				a := tar.NewWriter(z)
				a.WriteHeader(&tar.Header{Name: stateFile, Typeflag: tar.TypeReg})
				a.Close()
				z.Write(make([]byte, 100<<20))
				return z.Close()
			})
			return b.Bytes()
		}(),
	} {
		if _, _, err := Import(io.Discard, ciphers, salt, owner, bytes.NewReader(content), ciphers, 1<<20); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
