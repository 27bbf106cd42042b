package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each base image has a digest, or docs/security.md says that it has none yet.
func TestBaseImagesHaveDigests(t *testing.T) {
	dockerfile, docs := read(t, "../docker/Dockerfile"), read(t, "../docs/security.md")
	_, gap, _ := strings.Cut(docs, "Not pinned yet: ")
	gap, _, _ = strings.Cut(gap, "|")
	images := regexp.MustCompile(`(?m)^ARG ([A-Z]+_IMAGE)=([^@\s]+)(@sha256:[0-9a-f]{64})?$`).FindAllStringSubmatch(dockerfile, -1)
	if len(images) == 0 {
		t.Fatal("the Dockerfile names no image")
	}
	for _, m := range images {
		if documented := strings.Contains(gap, "`"+m[2]+"`"); documented == (m[3] != "") {
			t.Errorf("%s: digest %q, said to have none: %v", m[2], m[3], documented)
		}
	}
	known := regexp.MustCompile(`^(\$\{[A-Z]+_IMAGE\}|base)$`)
	for _, m := range regexp.MustCompile(`(?m)^FROM (?:--\S+ )?(\S+)`).FindAllStringSubmatch(dockerfile, -1) {
		if !known.MatchString(m[1]) {
			t.Errorf("FROM %s: name the image in an ARG …_IMAGE, which make pin-images pins", m[1])
		}
	}
}

// The image and each archive bring the licences, and all else that the archives name is there.
func TestLicencesAreShipped(t *testing.T) {
	for _, file := range []string{"LICENSE", "THIRD_PARTY_NOTICES"} {
		if !regexp.MustCompile(`(?m)^COPY .*\b` + file + `\b.* /usr/share/browserd/$`).MatchString(read(t, "../docker/Dockerfile")) {
			t.Errorf("the image has no %s", file)
		}
		if !strings.Contains(read(t, "../.goreleaser.yaml"), "\n      - "+file+"\n") {
			t.Errorf("the archives have no %s", file)
		}
		if strings.Contains(read(t, "../.dockerignore"), file) {
			t.Errorf(".dockerignore leaves out %s", file)
		}
	}
	_, list, _ := strings.Cut(read(t, "../.goreleaser.yaml"), "\n    files:\n")
	files := regexp.MustCompile(`(?m)\A(?:      - \S+\n)+`).FindString(list)
	for _, pattern := range strings.Fields(strings.ReplaceAll(files, "- ", "")) {
		if found, err := filepath.Glob(filepath.Join("..", pattern)); err != nil || len(found) == 0 {
			t.Errorf("the archives name %s, which is not there: %v", pattern, err)
		}
	}
	if files == "" {
		t.Error("no files of an archive were found in .goreleaser.yaml")
	}
}

// go install MODULE@VERSION refuses a module with replace or exclude directives.
func TestNothingIsReplaced(t *testing.T) {
	if m := regexp.MustCompile(`(?m)^(replace|exclude)\b.*`).FindString(read(t, "../go.mod")); m != "" {
		t.Errorf("go.mod: %s", m)
	}
}
