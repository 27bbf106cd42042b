package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// secretKeys are the keys of the configuration that docs/configuration.md marks as secrets, which
// package config writes from the tags of its structs; of a list the list's own.
func secretKeys(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z_.]+)(\[\]\.[a-z_]+)? \| [^|]*, a secret \|`).FindAllStringSubmatch(string(b), -1) {
		keys = append(keys, row[1])
	}
	for _, key := range []string{"auth.tokens", "fleet.dsn", "telemetry.otlp_headers"} {
		if !slices.Contains(keys, key) {
			t.Fatalf("docs/configuration.md marks %v as secrets, and not %s", keys, key)
		}
	}
	return keys
}

// Every secret of the configuration is refused in config, however it is written there, and the
// answer names a value of the chart's that takes it.
func TestSecretsAreRefusedInConfig(t *testing.T) {
	own := map[string]string{"auth.tokens": "auth.existingSecret", "state.key": "state.existingSecret", "fleet.dsn": "database.existingSecret"}
	for _, key := range secretKeys(t) {
		use := own[key]
		if use == "" {
			use = fmt.Sprintf("extraEnvFrom, with the variable BROWSERD_%s", strings.ToUpper(strings.ReplaceAll(key, ".", "__")))
		}
		want := fmt.Sprintf("config.%s: is a secret, and config becomes a ConfigMap: use %s", key, use)
		section, name, _ := strings.Cut(key, ".")
		for _, config := range []map[string]any{{section: map[string]any{name: "in the clear"}}, {key: "in the clear"}} {
			_, err := releaseOf(t, []string{"database.yaml"}, map[string]any{"config": config}).render(chartDir)
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v: %v, want %q", config, err, want)
			}
		}
	}
}

// extraEnvFrom names secrets, whose keys are variables of the pod. What the chart sets itself
// counts before them: it is in env.
func TestExtraEnvFrom(t *testing.T) {
	for _, m := range render(t, []string{"database.yaml"}, map[string]any{"extraEnvFrom": []any{"browserd-more", "collector"}}) {
		pod, ok := podOf(t, parse(t, m.text))
		if !ok {
			continue
		}
		var names []string
		for _, from := range pod.Containers[0].EnvFrom {
			if from.SecretRef == nil || from.ConfigMapRef != nil || from.Prefix != "" {
				t.Fatalf("%+v is not a secret", from)
			}
			names = append(names, from.SecretRef.Name)
		}
		if !slices.Equal(names, []string{"browserd-more", "collector"}) {
			t.Errorf("the pod's variables come from %q", names)
		}
		return
	}
	t.Error("there is no pod")
}

// Each piece of docs/fleet.md that is marked as values is such for the chart.
func TestValuesOfTheDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	faults := conforming(t)
	pieces := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(b), -1)
	if len(pieces) == 0 {
		t.Error("docs/fleet.md has no values")
	}
	for _, piece := range pieces {
		for _, m := range render(t, []string{"database.yaml"}, parse(t, piece[1])) {
			for _, fault := range faults(m.text) {
				t.Errorf("%s%s: %s", piece[1], m.file, fault)
			}
		}
	}
}
