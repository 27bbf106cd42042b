package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	"sigs.k8s.io/yaml"
)

// The modules whose own files have the schemas. `make test` fetches them before; a test asks
// nobody.
const (
	kubernetesModule = "k8s.io/kubernetes@" + kubernetesVersion // api/openapi-spec/swagger.json
	kedaModule       = "github.com/kedacore/keda/v2@v2.21.0"    // config/crd/bases
	operatorModule   = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
)

type object = map[string]any

// moduleDir is where the Go command keeps a module.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(module))
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the schemas of %s are not on this machine: make chart-schemas fetches them", module)
		}
		t.Skipf("the schemas of %s are not on this machine: make chart-schemas fetches them", module)
	}
	return dir
}

// definitions are those of Kubernetes' OpenAPI document, made strict: an object has no other
// fields than its own.
func definitions(t *testing.T) object {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(moduleDir(t, kubernetesModule), "api", "openapi-spec", "swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Definitions map[string]object }
	if err := json.Unmarshal(b, &document); err != nil {
		t.Fatal(err)
	}
	all := object{}
	for name, d := range document.Definitions {
		all[name] = strict(d)
	}
	// A quantity may be written as a number (resource.Quantity, UnmarshalJSON).
	all["io.k8s.apimachinery.pkg.api.resource.Quantity"] = object{"type": []any{"string", "number"}}
	return all
}

// strict returns a schema in which no object has fields that are not in it.
func strict(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = strict(v[i])
		}
	case object:
		for key, of := range v {
			v[key] = strict(of)
		}
		if v["format"] == "int-or-string" || v["x-kubernetes-int-or-string"] == true {
			return object{"type": []any{"string", "integer"}}
		}
		if _, isSchema := v["type"].(string); isSchema || v["$ref"] != nil {
			delete(v, "format") // Go's: int32, byte
		}
		if props, ok := v["properties"].(object); ok && v["additionalProperties"] == nil && v["x-kubernetes-preserve-unknown-fields"] != true && len(props) > 0 {
			if _, named := v["type"].(string); named {
				v["additionalProperties"] = false
			}
		}
	}
	return v
}

// kinds are the schemas by kubeconform's names for their files: kind, group and version.
func kinds(t *testing.T) map[string]object {
	t.Helper()
	all := definitions(t)
	of := func(definition string) object {
		return object{"$ref": "#/definitions/" + definition, "definitions": all}
	}
	list := map[string]object{
		"statefulset-apps-v1":           of("io.k8s.api.apps.v1.StatefulSet"),
		"service-v1":                    of("io.k8s.api.core.v1.Service"),
		"serviceaccount-v1":             of("io.k8s.api.core.v1.ServiceAccount"),
		"configmap-v1":                  of("io.k8s.api.core.v1.ConfigMap"),
		"poddisruptionbudget-policy-v1": of("io.k8s.api.policy.v1.PodDisruptionBudget"),
		"networkpolicy-networking-v1":   of("io.k8s.api.networking.v1.NetworkPolicy"),
	}
	for name, file := range map[string]string{
		"scaledobject-keda-v1alpha1":          filepath.Join(moduleDir(t, kedaModule), "config/crd/bases/keda.sh_scaledobjects.yaml"),
		"triggerauthentication-keda-v1alpha1": filepath.Join(moduleDir(t, kedaModule), "config/crd/bases/keda.sh_triggerauthentications.yaml"),
		"servicemonitor-monitoring-v1":        filepath.Join(moduleDir(t, operatorModule), "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"),
		"prometheusrule-monitoring-v1":        filepath.Join(moduleDir(t, operatorModule), "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"),
	} {
		list[name] = ofCRD(t, file)
	}
	// Those of CloudNativePG 1.27 and agent-sandbox's v1beta1, whose modules the Go proxy does not
	// have, written by hand: what our examples use of them, and no more.
	metadata := object{"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
	text, number := object{"type": "string"}, object{"type": "integer", "minimum": 1}
	list["cluster-postgresql-v1"] = withDefinitions(all, closed(object{
		"apiVersion": text, "kind": text, "metadata": metadata,
		"spec": closed(object{
			"instances": number,
			"bootstrap": closed(object{"initdb": closed(object{"database": text, "owner": text})}),
			"storage":   closed(object{"size": text}),
			"resources": object{"$ref": "#/definitions/io.k8s.api.core.v1.ResourceRequirements"},
		}),
	}))
	list["sandboxtemplate-extensions-v1beta1"] = withDefinitions(all, closed(object{
		"apiVersion": text, "kind": text, "metadata": metadata,
		"spec": closed(object{
			"podTemplate":                closed(object{"spec": object{"$ref": "#/definitions/io.k8s.api.core.v1.PodSpec"}}),
			"networkPolicyManagement":    object{"enum": []any{"Managed", "Unmanaged"}},
			"envVarsInjectionPolicy":     object{"enum": []any{"Allowed", "Overrides", "Disallowed"}},
			"volumeClaimTemplatesPolicy": object{"enum": []any{"Allowed", "Overrides", "Disallowed"}},
			"networkPolicy": closed(object{
				"ingress": object{"type": "array", "items": object{"$ref": "#/definitions/io.k8s.api.networking.v1.NetworkPolicyIngressRule"}},
				"egress":  object{"type": "array", "items": object{"$ref": "#/definitions/io.k8s.api.networking.v1.NetworkPolicyEgressRule"}},
			}),
		}),
	}))
	return list
}

func closed(properties object) object {
	return object{"type": "object", "additionalProperties": false, "properties": properties}
}

func withDefinitions(all object, schema object) object {
	schema["definitions"] = all
	return schema
}

// ofCRD is the schema of a custom resource, of the last version that is served.
func ofCRD(t *testing.T, file string) object {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Served bool
				Schema struct {
					OpenAPIV3Schema object `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(b, &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			schema := v.Schema.OpenAPIV3Schema
			schema["properties"].(object)["metadata"] = object{"type": "object", "properties": object{}}
			return strict(schema).(object)
		}
	}
	t.Fatalf("%s: no version is served", file)
	return nil
}

// conforming returns a func that validates a document by kubeconform, strictly.
func conforming(t *testing.T) func(text string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, schema := range kinds(t) {
		b, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v, err := validator.New([]string{dir + "/{{ .ResourceKind }}{{ .KindSuffix }}.json"}, validator.Opts{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) []string {
		var faults []string
		for _, r := range v.Validate("manifest", io.NopCloser(strings.NewReader(text))) {
			if r.Status != validator.Valid && r.Status != validator.Empty {
				faults = append(faults, r.Err.Error())
			}
		}
		return faults
	}
}
