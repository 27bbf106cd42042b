package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// neverRendered are kinds that the chart has no use for: rights in the cluster, and secrets,
// which would be in the release's history.
var neverRendered = []string{"Secret", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "DaemonSet"}

// violations returns what of a pod is against our policy: a pod of browserd is not privileged,
// not root, has no token of the cluster and no part of the machine, and has limits.
func violations(pod corev1.PodSpec) []string {
	var faults []string
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	no := func(b *bool) bool { return b != nil && !*b }
	yes := func(b *bool) bool { return b != nil && *b }
	fault(!no(pod.AutomountServiceAccountToken), "a token of the cluster is mounted")
	fault(!no(pod.EnableServiceLinks), "variables of other services are set")
	fault(pod.HostNetwork || pod.HostPID || pod.HostIPC, "a namespace of the machine is used")
	s := pod.SecurityContext
	if s == nil {
		return append(faults, "there is no security context")
	}
	fault(!yes(s.RunAsNonRoot) || s.RunAsUser == nil || *s.RunAsUser == 0, "it may run as root")
	switch p := s.SeccompProfile; {
	case p == nil:
		fault(true, "there is no seccomp profile")
	case p.Type == corev1.SeccompProfileTypeUnconfined:
		fault(!no(pod.HostUsers), "it has no seccomp profile, and no user namespace of its own")
	}
	for _, v := range pod.Volumes {
		fault(v.HostPath != nil, "volume %s is a part of the machine", v.Name)
		fault(v.EmptyDir != nil && v.EmptyDir.SizeLimit == nil, "volume %s has no limit", v.Name)
		if v.Projected != nil {
			for _, source := range v.Projected.Sources {
				fault(source.ServiceAccountToken != nil, "volume %s has a token of the cluster", v.Name)
			}
		}
	}
	fault(len(pod.EphemeralContainers) > 0, "it has ephemeral containers")
	fault(len(pod.Containers) == 0, "it has no container")
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		fault(strings.HasSuffix(c.Image, ":latest") || !strings.ContainsAny(c.Image, ":@"), "%s: the image %s has no version", c.Name, c.Image)
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			limit, request := c.Resources.Limits[name], c.Resources.Requests[name]
			fault(limit.IsZero(), "%s: %s has no limit", c.Name, name)
			fault(request.IsZero(), "%s: no %s is requested", c.Name, name)
		}
		s := c.SecurityContext
		if s == nil {
			fault(true, "%s: there is no security context", c.Name)
			continue
		}
		fault(yes(s.Privileged), "%s: it is privileged", c.Name)
		fault(!no(s.AllowPrivilegeEscalation), "%s: it may gain privileges", c.Name)
		fault(!yes(s.ReadOnlyRootFilesystem), "%s: it may write to its image", c.Name)
		fault(s.RunAsUser != nil && *s.RunAsUser == 0 || s.RunAsNonRoot != nil && !*s.RunAsNonRoot, "%s: it may run as root", c.Name)
		fault(s.SeccompProfile != nil, "%s: it has a seccomp profile of its own", c.Name)
		fault(s.ProcMount != nil, "%s: it sees more of /proc", c.Name)
		fault(s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0, "%s: it has capabilities", c.Name)
		for _, e := range c.Env {
			secret := strings.Contains(e.Name, "TOKEN") || strings.Contains(e.Name, "KEY") || strings.Contains(e.Name, "DSN")
			fault(secret && (e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil), "%s: %s comes from no secret", c.Name, e.Name)
		}
	}
	return faults
}

// podOf returns the pod that a manifest makes, if it makes any.
func podOf(t *testing.T, o object) (corev1.PodSpec, bool) {
	t.Helper()
	spec, _ := o["spec"].(object)
	for _, key := range []string{"template", "podTemplate"} {
		if template, ok := spec[key].(object); ok {
			var pod corev1.PodSpec
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template["spec"].(object), &pod); err != nil {
				t.Fatal(err)
			}
			return pod, true
		}
	}
	return corev1.PodSpec{}, false
}

func parse(t *testing.T, text string) object {
	t.Helper()
	o := object{}
	if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return o
}

// No pod of the chart, whichever example it is rendered for, nor that of the SandboxTemplate, is
// privileged, runs as root, mounts a token or lacks a limit; the chart makes no rights and no
// secrets.
func TestPods(t *testing.T) {
	for name, manifests := range everything(t) {
		pods := 0
		for _, m := range manifests {
			o := parse(t, m.text)
			if slices.Contains(neverRendered, o["kind"].(string)) {
				t.Errorf("%s: a %s is rendered", name, o["kind"])
			}
			if o["kind"] == "ServiceAccount" && o["automountServiceAccountToken"] != false {
				t.Errorf("%s: the service account's token is mounted", name)
			}
			if pod, ok := podOf(t, o); ok {
				pods++
				for _, fault := range violations(pod) {
					t.Errorf("%s: %s", name, fault)
				}
			}
		}
		if pods != 1 && name != "cloudnativepg-cluster.yaml" {
			t.Errorf("%s: %d pods are rendered, want 1", name, pods)
		}
	}
}

// Each check of the policy finds its fault.
func TestThePolicyFindsFaults(t *testing.T) {
	var sound object
	for _, m := range rendered(t, "database.yaml") {
		if o := parse(t, m.text); o["kind"] == "StatefulSet" {
			sound = o
		}
	}
	for _, c := range []struct {
		set   string // a path below the pod's spec; container is the first one
		to    any    // nil: it is removed
		fault string
	}{
		{"container.securityContext.privileged", true, "it is privileged"},
		{"container.securityContext.allowPrivilegeEscalation", true, "it may gain privileges"},
		{"container.securityContext.allowPrivilegeEscalation", nil, "it may gain privileges"},
		{"container.securityContext.readOnlyRootFilesystem", false, "it may write to its image"},
		{"container.securityContext.capabilities.add", []any{"SYS_ADMIN"}, "it has capabilities"},
		{"container.securityContext.capabilities.drop", []any{"NET_RAW"}, "it has capabilities"},
		{"container.securityContext.runAsUser", int64(0), "browserd: it may run as root"},
		{"container.securityContext.runAsNonRoot", false, "browserd: it may run as root"},
		{"container.securityContext.seccompProfile", object{"type": "Unconfined"}, "a seccomp profile of its own"},
		{"container.securityContext.procMount", "Unmasked", "it sees more of /proc"},
		{"container.securityContext", nil, "browserd: there is no security context"},
		{"container.resources.limits.cpu", nil, "cpu has no limit"},
		{"container.resources.limits.memory", nil, "memory has no limit"},
		{"container.resources.limits.ephemeral-storage", nil, "ephemeral-storage has no limit"},
		{"container.resources.requests", nil, "no memory is requested"},
		{"container.image", "browserd", "has no version"},
		{"container.image", "registry.example/browserd:latest", "has no version"},
		{"container.env", []any{object{"name": "BROWSERD_TOKEN", "value": "in the clear"}}, "BROWSERD_TOKEN comes from no secret"},
		{"securityContext.runAsNonRoot", nil, "it may run as root"},
		{"securityContext.runAsUser", int64(0), "it may run as root"},
		{"securityContext.seccompProfile", nil, "there is no seccomp profile"},
		{"securityContext.seccompProfile", object{"type": "Unconfined"}, "no user namespace of its own"},
		{"securityContext", nil, "there is no security context"},
		{"automountServiceAccountToken", true, "a token of the cluster is mounted"},
		{"automountServiceAccountToken", nil, "a token of the cluster is mounted"},
		{"enableServiceLinks", nil, "variables of other services are set"},
		{"hostNetwork", true, "a namespace of the machine is used"},
		{"hostPID", true, "a namespace of the machine is used"},
		{"hostIPC", true, "a namespace of the machine is used"},
		{"volumes", []any{object{"name": "docker", "hostPath": object{"path": "/run"}}}, "volume docker is a part of the machine"},
		{"volumes", []any{object{"name": "tmp", "emptyDir": object{}}}, "volume tmp has no limit"},
		{"volumes", []any{object{"name": "t", "projected": object{"sources": []any{object{"serviceAccountToken": object{"path": "t"}}}}}}, "volume t has a token"},
		{"initContainers", []any{object{"name": "init", "image": "init:1"}}, "init: there is no security context"},
		{"ephemeralContainers", []any{object{"name": "debug", "image": "debug:1"}}, "ephemeral containers"},
		{"containers", nil, "it has no container"},
	} {
		faulty := runtime.DeepCopyJSON(jsonTypes(sound).(object))
		at := faulty["spec"].(object)["template"].(object)["spec"].(object)
		path := strings.Split(c.set, ".")
		if path[0] == "container" {
			at, path = at["containers"].([]any)[0].(object), path[1:]
		}
		for _, step := range path[:len(path)-1] {
			at = at[step].(object)
		}
		if last := path[len(path)-1]; c.to == nil {
			delete(at, last)
		} else {
			at[last] = c.to
		}
		pod, _ := podOf(t, faulty)
		if found := violations(pod); !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, c.fault) }) {
			t.Errorf("%s set to %v: found %q, want %q", c.set, c.to, found, c.fault)
		}
	}
}

// jsonTypes returns v with the types that runtime.DeepCopyJSON takes.
func jsonTypes(v any) any {
	switch v := v.(type) {
	case object:
		for key := range v {
			v[key] = jsonTypes(v[key])
		}
	case []any:
		for i := range v {
			v[i] = jsonTypes(v[i])
		}
	case float64:
		return int64(v)
	}
	return v
}
