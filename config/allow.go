package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/browserd/browserd/policy"
)

// AllowHosts adds hosts to policy.allow_hosts in the user's own configuration file, and
// returns its path. What else is in the file stays, with its comments.
//
// It writes no other file: where c comes from one that was named (--config,
// BROWSERD_CONFIG) or from the system's, the error says which one to change.
func AllowHosts(c *Loaded, hosts []string) (path string, err error) {
	return changeAllowed(c, func(have []string) []string {
		for _, h := range hosts {
			if !slices.Contains(have, h) {
				have = append(have, h)
			}
		}
		return have
	})
}

// ForgetHosts removes hosts from policy.allow_hosts there.
func ForgetHosts(c *Loaded, hosts []string) (path string, err error) {
	return changeAllowed(c, func(have []string) []string {
		return slices.DeleteFunc(have, func(h string) bool { return slices.Contains(hosts, h) })
	})
}

// userFile returns the user's own configuration file, which need not exist.
func (s Sources) userFile() (string, error) {
	dir := s.UserDir
	if dir == "" {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return "", fmt.Errorf("there is no place for your configuration: %w", err)
		}
		if !filepath.IsAbs(dir) { // HOME is relative: it would be the working directory's
			return "", fmt.Errorf("there is no place for your configuration: HOME is no absolute path")
		}
	}
	return filepath.Join(dir, "browserd", fileName), nil
}

func changeAllowed(c *Loaded, change func(have []string) []string) (path string, err error) {
	path, err = Sources{}.userFile()
	if err != nil {
		return "", err
	}
	if c.File != "" && (c.Named || c.File != path) {
		return "", fmt.Errorf("the configuration is %s, which browserd does not write: change %s there", c.File, policy.KeyAllowHosts)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link stays
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the configuration: %w", err)
	}
	have, err := allowedIn(path, data)
	if err != nil {
		return "", err
	}
	want := change(slices.Clone(have))
	if slices.Equal(have, want) {
		return path, nil
	}
	if data, err = withAllowed(data, want); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if got, err := allowedIn(path, data); err != nil || !slices.Equal(got, want) {
		return "", fmt.Errorf("%s: %s is written in a form that browserd cannot change: set it to %q there", path, policy.KeyAllowHosts, want)
	}
	return path, ReplaceFile(path, data)
}

// allowedIn is policy.allow_hosts as a file has it.
func allowedIn(path string, data []byte) ([]string, error) {
	l := &loader{schema: keys(), inForce: map[string]any{}, origins: map[string]string{}}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := errors.Join(append([]error{l.readFile(path, data)}, l.faults...)...); err != nil {
			return nil, err
		}
	}
	have, _ := l.inForce[policy.KeyAllowHosts].([]string)
	return have, nil
}

// withAllowed returns a YAML file with policy.allow_hosts set to hosts.
func withAllowed(data []byte, hosts []string) ([]byte, error) {
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(data, &root); err != nil {
		return nil, err
	}
	if root.Kind == 0 { // nothing, or comments alone
		root = yamlv3.Node{Kind: yamlv3.DocumentNode, HeadComment: string(bytes.TrimSpace(data))}
	}
	if len(root.Content) == 0 {
		root.Content = []*yamlv3.Node{{Kind: yamlv3.MappingNode}}
	}
	top := root.Content[0]
	list := valueIn(top, policy.KeyAllowHosts) // a dotted key is one too
	if list == nil {
		list = below(below(top, "policy"), "allow_hosts")
	}
	list.Kind, list.Tag, list.Value, list.Content = yamlv3.SequenceNode, "", "", nil
	for _, h := range hosts {
		list.Content = append(list.Content, &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: h})
	}
	var out bytes.Buffer
	enc := yamlv3.NewEncoder(&out)
	enc.SetIndent(2)
	err := enc.Encode(&root)
	return out.Bytes(), errors.Join(err, enc.Close())
}

// below returns the value of a key in a mapping, which is made where it is not there.
func below(mapping *yamlv3.Node, key string) *yamlv3.Node {
	if mapping.Kind != yamlv3.MappingNode { // null: "policy:" with nothing behind it
		mapping.Kind, mapping.Tag, mapping.Value = yamlv3.MappingNode, "", ""
	}
	if value := valueIn(mapping, key); value != nil {
		return value
	}
	value := &yamlv3.Node{}
	mapping.Content = append(mapping.Content, &yamlv3.Node{Kind: yamlv3.ScalarNode, Value: key}, value)
	return value
}

// valueIn returns the value of a key in a mapping, nil if it is not there.
func valueIn(mapping *yamlv3.Node, key string) *yamlv3.Node {
	for i := 0; mapping.Kind == yamlv3.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// ReplaceFile puts a whole new file in the old one's place, with the old one's mode: a
// reader sees one of the two. It makes the directory.
func ReplaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	mode := fs.FileMode(0o600)
	if old, err := os.Stat(path); err == nil {
		mode = old.Mode().Perm()
	}
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
