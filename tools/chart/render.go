package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// release is what the chart is rendered for.
type release struct {
	name, namespace string
	values          []map[string]any // the last one counts
}

// manifest is one document that the chart renders.
type manifest struct {
	file string // the template
	text string
}

// readValues reads a file with values.
func readValues(file string) (map[string]any, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	v := map[string]any{}
	return v, yaml.Unmarshal(b, &v)
}

// merged returns all values in one.
func (r release) merged() map[string]any {
	all := map[string]any{}
	for _, v := range r.values {
		all = loader.MergeMaps(all, v)
	}
	return all
}

// documents are separated by lines of three dashes.
var documents = regexp.MustCompile(`(?m)^---\s*$`)

// render returns the manifests in the order of their files. The error is that of templates.
func (r release) render(dir string) ([]manifest, error) {
	rendered, err := r.templates(dir)
	if err != nil {
		return nil, err
	}
	var all []manifest
	for _, file := range slices.Sorted(maps.Keys(rendered)) {
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		for _, text := range documents.Split(rendered[file], -1) {
			if strings.TrimSpace(text) != "" && !onlyComments(text) {
				all = append(all, manifest{file, text})
			}
		}
	}
	return all, nil
}

// templates returns what each template renders, by its file, NOTES.txt too. The error is the
// engine's, or says which value values.schema.json refuses.
func (r release) templates(dir string) (map[string]string, error) {
	chart, err := loader.LoadDir(dir)
	if err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: r.name, Namespace: r.namespace, Revision: 1, IsInstall: true}
	capabilities := *common.DefaultCapabilities
	capabilities.KubeVersion = common.KubeVersion{Version: kubernetesVersion, Major: "1", Minor: strings.Split(kubernetesVersion, ".")[1]}
	values, err := util.ToRenderValues(chart, r.merged(), options, &capabilities)
	if err != nil {
		return nil, err
	}
	e := engine.Engine{Strict: true}
	return e.Render(chart, values)
}

func onlyComments(text string) bool {
	for line := range strings.Lines(text) {
		if l := strings.TrimSpace(line); l != "" && !strings.HasPrefix(l, "#") {
			return false
		}
	}
	return true
}

// kubernetesVersion is the version that the chart is rendered for and validated against: that of
// the module k8s.io/kubernetes, whose OpenAPI document has the schemas.
const kubernetesVersion = "v1.37.2"
