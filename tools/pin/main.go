// Command pin writes the digests of the base images into docker/Dockerfile: each
// ARG whose default is an image becomes NAME:TAG@sha256:…, by what the image's registry
// answers now. With -check it asks nobody, and fails where a digest is missing.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/google/go-containerregistry/pkg/crane"
)

func main() {
	file := flag.String("file", "../docker/Dockerfile", "the Dockerfile")
	only := flag.Bool("check", false, "fail where an image has no digest, and write nothing")
	flag.Parse()
	if err := run(*file, *only); err != nil {
		fmt.Fprintln(os.Stderr, "pin:", err)
		os.Exit(1)
	}
}

// image is an ARG whose default is an image: its start, the name with the tag, the digest.
var image = regexp.MustCompile(`(?m)^(ARG [A-Z]+_IMAGE=)([^@\s]+)(@sha256:[0-9a-f]{64})?$`)

// The digest that is written is that of the index, which names the image of each platform.
func run(file string, only bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	found := image.FindAllSubmatch(text, -1)
	if len(found) == 0 {
		return fmt.Errorf("%s has no line ARG …_IMAGE=NAME:TAG", file)
	}
	digests := map[string]string{}
	for _, m := range found {
		name := string(m[2])
		if only {
			if len(m[3]) == 0 {
				return fmt.Errorf("%s: %s has no digest: run make pin-images", file, name)
			}
			continue
		}
		if digests[name], err = crane.Digest(name); err != nil {
			return fmt.Errorf("asking for the digest of %s: %w", name, err)
		}
		fmt.Printf("%s@%s\n", name, digests[name])
	}
	if only {
		return nil
	}
	pinned := image.ReplaceAllFunc(text, func(line []byte) []byte {
		m := image.FindSubmatch(line)
		return fmt.Appendf(nil, "%s%s@%s", m[1], m[2], digests[string(m[2])])
	})
	return os.WriteFile(file, pinned, 0o644)
}
