// Command chart prints the manifests of deploy/helm/browserd as `helm template` does, by helm's
// own engine, for those who have no helm:
//
//	go run ./chart -namespace agents -f ../deploy/examples/database.yaml | kubectl -n agents apply -f -
//
// Its tests lint the chart, and validate what it renders against Kubernetes' own schemas and
// against what a pod of browserd may never have. It asks no cluster and no registry.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// files collects -f.
type files []string

func (f *files) String() string     { return strings.Join(*f, ",") }
func (f *files) Set(s string) error { *f = append(*f, s); return nil }

func main() {
	var values files
	dir := flag.String("chart", "../deploy/helm/browserd", "the chart's directory")
	name := flag.String("name", "browserd", "the release's name")
	namespace := flag.String("namespace", "default", "the namespace that it is for")
	flag.Var(&values, "f", "a file with values; may be given again, and the last one counts")
	flag.Parse()
	release := release{name: *name, namespace: *namespace}
	for _, file := range values {
		v, err := readValues(file)
		exitOn(err)
		release.values = append(release.values, v)
	}
	manifests, err := release.render(*dir)
	exitOn(err)
	for _, m := range manifests {
		fmt.Printf("---\n# %s\n%s\n", m.file, strings.TrimSpace(m.text))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}
