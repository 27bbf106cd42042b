package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	yamlv3 "go.yaml.in/yaml/v3"
)

const fileName = "browserd.yaml"

// Candidates lists the files that Load looks for, the first that exists
// counts; named is true if it was asked for by name and so has to exist.
func (s Sources) Candidates() (paths []string, named bool) {
	if s.Path != "" {
		return []string{s.Path}, true
	}
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	if p := lookupEnv(env, FileEnv); p != "" {
		return []string{p}, true
	}
	if own, err := s.userFile(); err == nil { // without a home there is none
		paths = append(paths, own)
	}
	system := s.SystemDir
	if system == "" && runtime.GOOS != "windows" { // where any user may make a directory in %ProgramData%
		system = "/etc"
	}
	if system != "" {
		paths = append(paths, filepath.Join(system, "browserd", fileName))
	}
	return paths, false
}

func (l *loader) loadFile(src Sources) error {
	paths, named := src.Candidates()
	own, _ := src.userFile()
	l.named = named
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !named && path == own && ofAnother(info, true) {
			return fmt.Errorf("%s belongs to another user: to use it all the same, name it with --config", path)
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && !named {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the configuration: %w", err)
		}
		l.file = path
		return l.readFile(path, data)
	}
	return nil
}

func (l *loader) readFile(path string, data []byte) error {
	tree, err := yaml.Parser().Unmarshal(data)
	if err != nil {
		return fmt.Errorf("%s: %s", path, strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
	}
	if n, err := secondDocument(data); err == nil {
		return fmt.Errorf("%s:%d: a second document begins: accepts one, without --- between its keys", path, n)
	}
	k := koanf.New(".")
	if err := k.Load(confmap.Provider(tree, "."), nil); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	lines := map[string]int{}
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(data, &root); err == nil {
		noteLines(&root, "", lines)
	}
	l.put(k.All(), func(key string) string {
		if n := lines[key]; n > 0 {
			return fmt.Sprintf("%s:%d", path, n)
		}
		return path
	})
	return nil
}

// secondDocument returns the line of the second YAML document in data (YAML 1.2.2,
// section 9.2), which the parser would leave out; an error if there is none.
func secondDocument(data []byte) (line int, err error) {
	documents := yamlv3.NewDecoder(bytes.NewReader(data))
	var n yamlv3.Node
	if err := documents.Decode(&n); err != nil {
		return 0, err
	}
	err = documents.Decode(&n)
	return n.Line, err
}

// noteLines records on which line each key stands.
func noteLines(n *yamlv3.Node, prefix string, lines map[string]int) {
	if n.Kind == yamlv3.DocumentNode && len(n.Content) == 1 {
		noteLines(n.Content[0], prefix, lines)
	}
	if n.Kind != yamlv3.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := prefix + n.Content[i].Value
		lines[key] = n.Content[i].Line
		noteLines(n.Content[i+1], key+".", lines)
	}
}
