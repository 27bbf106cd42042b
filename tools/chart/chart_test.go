package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	corev1 "k8s.io/api/core/v1"
)

const (
	chartDir    = "../../deploy/helm/browserd"
	examplesDir = "../../deploy/examples"
)

// allOn are values with which the chart renders all that it can.
var allOn = map[string]any{
	"autoscaling":    map[string]any{"enabled": true, "prometheus": "http://prometheus.monitoring.svc:9090"},
	"serviceMonitor": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}},
	"networkPolicy":  map[string]any{"ipv6": true, "extraEgress": []any{map[string]any{"to": []any{map[string]any{"ipBlock": map[string]any{"cidr": "198.51.100.7/32"}}}, "ports": []any{map[string]any{"port": 3128}}}}},
	"image":          map[string]any{"digest": "sha256:" + strings.Repeat("0", 64), "pullSecrets": []any{"registry"}},
	"persistence":    map[string]any{"enabled": false},
	"allowedHosts":   []any{"browserd.example"},
	"podLabels":      map[string]any{"team": "agents"}, "podAnnotations": map[string]any{"note": "yes"},
	"nodeSelector": map[string]any{"kubernetes.io/arch": "amd64"}, "tolerations": []any{map[string]any{"operator": "Exists"}},
	"affinity":          map[string]any{"podAntiAffinity": map[string]any{}},
	"extraEnvFrom":      []any{"browserd-more"},
	"priorityClassName": "high", "runtimeClassName": "kata",
}

// rendered is the chart for files of deploy/examples.
func rendered(t *testing.T, examples ...string) []manifest {
	t.Helper()
	return render(t, examples, nil)
}

func render(t *testing.T, examples []string, more map[string]any) []manifest {
	t.Helper()
	manifests, err := releaseOf(t, examples, more).render(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func releaseOf(t *testing.T, examples []string, more map[string]any) release {
	t.Helper()
	r := release{name: "browserd", namespace: "agents"}
	for _, file := range examples {
		v, err := readValues(filepath.Join(examplesDir, file))
		if err != nil {
			t.Fatal(err)
		}
		r.values = append(r.values, v)
	}
	if more != nil {
		r.values = append(r.values, more)
	}
	return r
}

// everything is the chart for each example, and the manifests among the examples, by their names.
func everything(t *testing.T) map[string][]manifest {
	t.Helper()
	all := map[string][]manifest{
		"database.yaml":       rendered(t, "database.yaml"),
		"cloudnativepg.yaml":  rendered(t, "cloudnativepg.yaml"),
		"single.yaml":         rendered(t, "single.yaml"),
		"user-namespace.yaml": rendered(t, "database.yaml", "user-namespace.yaml"),
		"all on":              render(t, []string{"database.yaml"}, allOn),
	}
	files, err := os.ReadDir(examplesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if all[f.Name()] != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join(examplesDir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte("\nkind: ")) {
			t.Errorf("deploy/examples/%s is neither a manifest nor tried with the chart", f.Name())
		}
		all[f.Name()] = []manifest{{f.Name(), string(b)}}
	}
	return all
}

// helm lint finds nothing to say.
func TestLint(t *testing.T) {
	for _, example := range []string{"database.yaml", "cloudnativepg.yaml", "single.yaml"} {
		result := lint.RunAll(chartDir, releaseOf(t, []string{example}, nil).merged(), "agents")
		for _, m := range result.Messages {
			if m.Severity > support.InfoSev { // an icon is recommended
				t.Errorf("%s: %v", example, m)
			}
		}
	}
}

// All that is rendered is what Kubernetes, KEDA and the Prometheus operator accept, to the last
// field.
func TestManifestsConform(t *testing.T) {
	faults := conforming(t)
	kinds := map[string]bool{}
	for name, manifests := range everything(t) {
		for _, m := range manifests {
			kinds[parse(t, m.text)["kind"].(string)] = true
			for _, fault := range faults(m.text) {
				t.Errorf("%s, %s: %s", name, m.file, fault)
			}
		}
	}
	if len(kinds) != 12 {
		t.Errorf("%d kinds are rendered: %v", len(kinds), kinds)
	}
}

// The schemas find a field that does not exist, a value of another type, and one that is missing.
func TestTheSchemasFindFaults(t *testing.T) {
	faults := conforming(t)
	all := map[string]string{}
	for _, manifests := range everything(t) {
		for _, m := range manifests {
			all[parse(t, m.text)["kind"].(string)] = m.text
		}
	}
	for _, c := range []struct{ kind, from, to, fault string }{
		{"StatefulSet", "serviceName:", "servicename:", "servicename"},
		{"StatefulSet", "    spec:\n      serviceAccountName", "    spec:\n      runAsRoot: true\n      serviceAccountName", "runAsRoot"},
		{"StatefulSet", "revisionHistoryLimit: 5", "revisionHistoryLimit: five", "revisionHistoryLimit"},
		{"StatefulSet", "        - name: browserd\n          image", "        - image", "name"},
		{"StatefulSet", "drop: [ALL]", "drop: ALL", "drop"},
		{"Service", "publishNotReadyAddresses: true", "publishNotReadyAddresses: \"yes\"", "publishNotReadyAddresses"},
		{"ServiceAccount", "automountServiceAccountToken: false", "automountServiceAccountToken: 0", "automountServiceAccountToken"},
		{"ConfigMap", "data:", "content:", "content"},
		{"PodDisruptionBudget", "maxUnavailable: 1", "maxUnavailable: [1]", "maxUnavailable"},
		{"NetworkPolicy", "policyTypes:", "types:", "types"},
		{"ScaledObject", "maxReplicaCount: 10", "maxReplicas: 10", "maxReplicas"},
		{"ScaledObject", "behavior: currentReplicasIfHigher", "behavior: stay", "behavior"},
		{"TriggerAuthentication", "parameter: token", "params: token", "params"},
		{"ServiceMonitor", "interval: 30s", "interval: often", "interval"},
		{"PrometheusRule", "for: 1m", "for: a minute", "for"},
		{"Cluster", "instances: 3", "instances: three", "instances"},
		{"SandboxTemplate", "networkPolicyManagement: Managed", "networkPolicyManagement: None", "networkPolicyManagement"},
		{"SandboxTemplate", "runtimeClassName: kata", "runtimeClass: kata", "runtimeClass"},
	} {
		text := strings.Replace(all[c.kind], c.from, c.to, 1)
		if text == all[c.kind] {
			t.Errorf("%s: no %q to change in\n%s", c.kind, c.from, text)
			continue
		}
		if found := faults(text); !strings.Contains(strings.Join(found, "\n"), c.fault) {
			t.Errorf("%s with %q: found %q", c.kind, c.to, found)
		}
	}
}

// values.schema.json and the templates refuse what cannot work, with a sentence.
func TestValuesAreRefused(t *testing.T) {
	for _, c := range []struct {
		values map[string]any
		says   string
	}{
		{map[string]any{"replica": 3}, "replica"},
		{map[string]any{"replicas": 0}, "replicas"},
		{map[string]any{"sandbox": map[string]any{"mode": "off"}}, "sandbox/mode"},
		{map[string]any{"auth": map[string]any{"token": "0123456789abcdef"}}, "token"},
		{map[string]any{"resources": map[string]any{"limits": map[string]any{"memory": nil}}}, "memory"},
		{map[string]any{"image": map[string]any{"digest": "sha256:1234"}}, "digest"},
		{map[string]any{"database": map[string]any{"existingSecret": ""}}, "nodes without a database cannot be a fleet"},
		{map[string]any{"config": map[string]any{"policy": map[string]any{"upstream_proxy": "http://u:p@proxy.example:3128"}}}, "config: has an address with a password, and becomes a ConfigMap: use extraEnvFrom"},
		{map[string]any{"extraEnvFrom": []any{map[string]any{"secretRef": map[string]any{"name": "a"}}}}, "extraEnvFrom/0"},
		{map[string]any{"config": map[string]any{"server": map[string]any{"listen": ":80"}}}, "config.server.listen: the chart sets it"},
		{map[string]any{"config": map[string]any{"server": map[string]any{"allowed_hosts": []any{"a"}}}}, "add to allowedHosts"},
	} {
		_, err := releaseOf(t, []string{"database.yaml"}, c.values).render(chartDir)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.values, err, c.says)
		}
	}
}

// The pod's environment and the ConfigMap are a configuration that the program accepts, and what
// preStop calls is a command of it.
func TestTheProgramAcceptsTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "browserd")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // building takes long the first time
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/browserd")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, example := range []string{"database.yaml", "single.yaml"} {
		var pod corev1.PodSpec
		env := []string{}
		for _, m := range render(t, []string{example}, map[string]any{"config": map[string]any{"policy": map[string]any{"allow_hosts": []any{"app.example:8443"}}}}) {
			switch o := parse(t, m.text); o["kind"] {
			case "StatefulSet":
				pod, _ = podOf(t, o)
			case "ConfigMap":
				file := filepath.Join(dir, "browserd.yaml")
				if err := os.WriteFile(file, []byte(o["data"].(object)["browserd.yaml"].(string)), 0o600); err != nil {
					t.Fatal(err)
				}
				env = append(env, "BROWSERD_CONFIG="+file)
			}
		}
		fill := strings.NewReplacer("$(POD_NAME)", "browserd-0", "$(POD_IP)", "192.0.2.7")
		secrets := map[string]string{"token": "0123456789abcdef0123", "state-key": "a key of sixteen and more", "dsn": "postgres://browserd:secret@192.0.2.10/browserd"}
		for _, e := range pod.Containers[0].Env {
			value := e.Value
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				value = secrets[e.ValueFrom.SecretKeyRef.Key]
			}
			switch e.Name {
			case "BROWSERD_CONFIG":
				if value != "/etc/browserd/browserd.yaml" {
					t.Errorf("%s=%s", e.Name, value)
				}
			case "HOME", "XDG_STATE_HOME":
				env = append(env, e.Name+"="+dir)
			default:
				env = append(env, e.Name+"="+fill.Replace(value))
			}
		}
		cmd := exec.CommandContext(ctx, program, "config")
		cmd.Env, cmd.Dir = env, dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", example, err, out)
		}
		for _, line := range []string{"app.example:8443", "browserd.agents.svc.cluster.local", "192.0.2.7", "0.0.0.0:9333"} {
			if !bytes.Contains(out, []byte(line)) {
				t.Errorf("%s: the configuration has no %s:\n%s", example, line, out)
			}
		}
		if example == "single.yaml" {
			if pod.Containers[0].Lifecycle != nil {
				t.Errorf("%s: a daemon that serves alone cannot drain", example)
			}
			continue
		}
		if !bytes.Contains(out, []byte("browserd-0.browserd-nodes.agents.svc:9334")) {
			t.Errorf("the other nodes do not know where the node is:\n%s", out)
		}
		drain := exec.CommandContext(ctx, program, pod.Containers[0].Lifecycle.PreStop.Exec.Command[1:]...)
		drain.Env, drain.Dir = env, dir
		out, err = drain.CombinedOutput()
		if exit := drain.ProcessState.ExitCode(); err == nil || exit == 2 || bytes.Contains(out, []byte("unknown")) {
			t.Errorf("preStop: exit code %d, want one that says that no daemon runs:\n%s", exit, out)
		}
	}
}

// What the manifests call each other is what they are called.
func TestNamesMeet(t *testing.T) {
	all := map[string]object{}
	for _, m := range rendered(t, "cloudnativepg.yaml") {
		o := parse(t, m.text)
		name := o["metadata"].(object)["name"].(string)
		all[o["kind"].(string)+" "+name] = o
	}
	set := all["StatefulSet browserd"]["spec"].(object)
	pod, _ := podOf(t, all["StatefulSet browserd"])
	labels := set["template"].(object)["metadata"].(object)["labels"].(object)
	selects := func(of string, selector any) {
		t.Helper()
		if len(selector.(object)) == 0 {
			t.Errorf("%s selects everything", of)
		}
		for key, value := range selector.(object) {
			if labels[key] != value {
				t.Errorf("%s selects pods with %s: %v, and ours have %v", of, key, value, labels[key])
			}
		}
	}
	selects("the StatefulSet", set["selector"].(object)["matchLabels"])
	for _, kind := range []string{"Service browserd", "Service browserd-nodes"} {
		selects(kind, all[kind]["spec"].(object)["selector"])
	}
	selects("the PodDisruptionBudget", all["PodDisruptionBudget browserd"]["spec"].(object)["selector"].(object)["matchLabels"])
	selects("the NetworkPolicy", all["NetworkPolicy browserd"]["spec"].(object)["podSelector"].(object)["matchLabels"])
	if all["Service "+set["serviceName"].(string)] == nil || all["ServiceAccount "+pod.ServiceAccountName] == nil {
		t.Errorf("no Service %v, or no ServiceAccount %s", set["serviceName"], pod.ServiceAccountName)
	}
	if target := all["ScaledObject browserd"]["spec"].(object)["scaleTargetRef"].(object); all[target["kind"].(string)+" "+target["name"].(string)] == nil {
		t.Errorf("KEDA scales %v", target)
	}
	if _, set := set["replicas"]; set {
		t.Error("an upgrade would set the number of nodes that KEDA chose")
	}
	ports := []string{}
	for _, p := range pod.Containers[0].Ports {
		ports = append(ports, p.Name)
	}
	for _, rule := range all["NetworkPolicy browserd"]["spec"].(object)["ingress"].([]any) {
		for _, p := range rule.(object)["ports"].([]any) {
			if !slices.Contains(ports, p.(object)["port"].(string)) {
				t.Errorf("the NetworkPolicy opens %v, and the pod has %v", p, ports)
			}
		}
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		known := m.Name == "state" // a claim of the StatefulSet
		for _, v := range pod.Volumes {
			known = known || v.Name == m.Name
		}
		if !known {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
}

// What helm says behind an installation warns of a collector that the NetworkPolicy keeps from
// the nodes, and of nothing where there is none or it is let through.
func TestNotesOfACollector(t *testing.T) {
	const warning = "networkPolicy.extraEgress"
	traces := map[string]any{"telemetry": map[string]any{"otlp_endpoint": "http://collector.monitoring.svc:4318/v1/traces"}}
	for _, c := range []struct {
		values map[string]any
		warns  bool
	}{
		{nil, false},
		{map[string]any{"config": traces}, true},
		{map[string]any{"config": traces, "networkPolicy": map[string]any{"enabled": false}}, false},
		{map[string]any{"config": traces, "networkPolicy": allOn["networkPolicy"]}, false},
	} {
		files, err := releaseOf(t, []string{"database.yaml"}, c.values).templates(chartDir)
		if err != nil {
			t.Fatal(err)
		}
		notes := files["browserd/templates/NOTES.txt"]
		if notes == "" || strings.Contains(notes, warning) != c.warns {
			t.Errorf("%v: warns should be %v:\n%s", c.values, c.warns, notes)
		}
	}
}
