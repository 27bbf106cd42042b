// Package cluster installs deploy/helm/browserd on a real control plane and watches what becomes
// of it: etcd, kube-apiserver, kube-controller-manager and kube-scheduler, each built from the
// source of the version that tools/chart names, with helm's own program as who installs. `make
// kube` builds them and runs the tests; they are no part of CI, because that takes half an hour
// and some gigabytes the first time.
//
// It shows what an API server and the controllers decide: that each field of each template is
// one, which pods Pod Security lets in, what the service account may do, in which order pods
// begin and are replaced, which evictions are refused, which addresses the Services have, which
// upgrades are accepted and what an uninstallation leaves.
//
// It does not show that anything of browserd runs. The nodes are kwok's: no kubelet, no runtime,
// no network. A pod is ready there because kwok says so, at once; its image is not pulled, its
// probes are not asked, preStop is not called and terminationGracePeriodSeconds not waited for,
// the seccomp profile and hostUsers are stored and not applied, its volumes are bound and not
// mounted, a secret that does not exist is missed by nobody. No NetworkPolicy is enforced, and no
// packet goes through a Service. KEDA and the Prometheus operator are there as the kinds of
// their resources only: nothing scales and nothing scrapes. docker, e2e and tools/compose run
// the daemon itself.
package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	chartDir    = "../../deploy/helm/browserd"
	examplesDir = "../../deploy/examples"
)

// One release's life: three pods in order, an eviction at a time, a rolling update from the last
// pod to the first, upgrades, and what remains behind it.
func TestALife(t *testing.T) {
	c := start(t)
	ns := c.namespace(t, "agents", "restricted")
	began := time.Now()
	order := c.watchPods(t, ns)
	c.helm(t, "install", "browserd", chartDir, "-n", ns, "-f", example("database.yaml"))
	order.until(t, "three pods are ready", func(p podsNow) bool { return p.ready() == 3 })
	t.Logf("three pods were ready %s behind helm install", time.Since(began).Round(100*time.Millisecond))
	if want := []string{"browserd-0", "browserd-1", "browserd-2"}; !slices.Equal(order.created, want) {
		t.Errorf("the pods began in the order %v, want %v", order.created, want)
	}
	c.until(t, "the StatefulSet counts three", func() (string, bool) {
		s := c.set(t, ns).Status
		return fmt.Sprintf("%+v", s), s.ReadyReplicas == 3 && s.UpdatedReplicas == 3 && s.CurrentRevision == s.UpdateRevision
	})

	t.Run("admitted", func(t *testing.T) { admitted(t, c, ns) })
	t.Run("services", func(t *testing.T) { services(t, c, ns, "browserd-0", "browserd-1", "browserd-2") })
	t.Run("rights", func(t *testing.T) { rights(t, c, ns) })
	t.Run("evictions", func(t *testing.T) { evictions(t, c, ns) })
	t.Run("rolling update", func(t *testing.T) { rolls(t, c, ns) })

	t.Run("upgrades", func(t *testing.T) {
		// Another configuration is another checksum: all pods begin again with it.
		r := c.watchPods(t, ns)
		c.helm(t, "upgrade", "browserd", chartDir, "-n", ns, "-f", example("database.yaml"), "--set", "image.tag=0.2.0", "--set", "config.session.max=30")
		r.replaced(t, "browserd-2", "browserd-1", "browserd-0")
		m, err := c.client.CoreV1().ConfigMaps(ns).Get(t.Context(), "browserd", metav1.GetOptions{})
		if err != nil || !strings.Contains(m.Data["browserd.yaml"], "max: 30") {
			t.Errorf("the configuration is %v, %v", m.Data, err)
		}
		// More nodes, and fewer: the last ones go.
		for _, n := range []int{5, 2, 3} {
			r := c.watchPods(t, ns)
			c.helm(t, "upgrade", "browserd", chartDir, "-n", ns, "-f", example("database.yaml"), "--set", "image.tag=0.2.0", "--set", "config.session.max=30", "--set", fmt.Sprint("replicas=", n))
			r.until(t, fmt.Sprint(n, " pods are ready"), func(p podsNow) bool { return len(p) == n && p.ready() == n })
			for _, gone := range r.deleted {
				if gone < fmt.Sprint("browserd-", n) {
					t.Errorf("at %d replicas %s was removed", n, gone)
				}
			}
		}
	})

	t.Run("uninstall", func(t *testing.T) { leaves(t, c, ns) })
}

// admitted shows that the pods are there under the level restricted, each with the claim and
// without the token of a service account, and that a privileged one is refused there.
func admitted(t *testing.T, c *control, ns string) {
	nodes := map[string]bool{}
	for _, p := range c.pods(t, ns) {
		nodes[p.Spec.NodeName] = true
		for _, v := range p.Spec.Volumes {
			if v.Projected != nil {
				t.Errorf("%s: volume %s was added: %+v", p.Name, v.Name, v.Projected)
			}
			if v.Name == "state" && (v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != "state-"+p.Name) {
				t.Errorf("%s: state is %+v", p.Name, v.VolumeSource)
			}
		}
	}
	t.Logf("the pods are on %d of %d nodes", len(nodes), nodeCount)
	privileged := c.pods(t, ns)[0].Spec
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "privileged"}, Spec: *privileged.DeepCopy()}
	pod.Spec.NodeName = ""
	if _, err := c.client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatalf("a copy of browserd-0 is refused: %v", err)
	}
	yes := true
	pod.Spec.Containers[0].SecurityContext.Privileged, pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = &yes, &yes
	_, err := c.client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `violates PodSecurity "restricted:latest": privileged`) {
		t.Errorf("a privileged pod: %v", err)
	}
	// Without automountServiceAccountToken: false a pod gets a token here: who admits works.
	plain := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Spec: *privileged.DeepCopy()}
	plain.Spec.NodeName, plain.Spec.AutomountServiceAccountToken, plain.Spec.ServiceAccountName, plain.Spec.DeprecatedServiceAccount = "", nil, "default", ""
	made, err := c.client.CoreV1().Pods(ns).Create(t.Context(), plain, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(made.Spec.Volumes, func(v corev1.Volume) bool { return v.Projected != nil }) {
		t.Error("a pod that does not refuse the token gets none")
	}
}

// services shows that both Services have the addresses of all pods, the headless one by name.
func services(t *testing.T, c *control, ns string, pods ...string) {
	ports := map[string][]string{"browserd": {"http 9333"}, "browserd-nodes": {"fleet 9334", "http 9333"}}
	for service, want := range ports {
		c.endpoints(t, ns, service, pods...)
		if got := c.ports(t, ns, service); !slices.Equal(got, want) {
			t.Errorf("%s has the ports %v, want %v", service, got, want)
		}
	}
	for service, headless := range map[string]bool{"browserd": false, "browserd-nodes": true} {
		s, err := c.client.CoreV1().Services(ns).Get(t.Context(), service, metav1.GetOptions{})
		if err != nil || (s.Spec.ClusterIP == corev1.ClusterIPNone) != headless {
			t.Errorf("%s: %+v, %v", service, s.Spec, err)
		}
	}
	for _, p := range c.pods(t, ns) { // by which the headless Service's DNS names it, and the nodes each other
		if p.Spec.Hostname != p.Name || p.Spec.Subdomain != "browserd-nodes" {
			t.Errorf("%s is %s.%s", p.Name, p.Spec.Hostname, p.Spec.Subdomain)
		}
	}
}

// rights shows that the service account may do what any account may, and nothing else, whether
// it is asked about or tries with a token of its own.
func rights(t *testing.T, c *control, ns string) {
	as := c.as(t, "system:serviceaccount:"+ns+":browserd", "system:serviceaccounts", "system:serviceaccounts:"+ns, "system:authenticated")
	admin := c.client
	for _, a := range []authorizationv1.ResourceAttributes{
		{Verb: "list", Resource: "pods"}, {Verb: "get", Resource: "pods", Name: "browserd-0"}, {Verb: "create", Resource: "pods"},
		{Verb: "create", Resource: "pods", Subresource: "exec"}, {Verb: "create", Resource: "pods", Subresource: "eviction"},
		{Verb: "list", Resource: "secrets"}, {Verb: "get", Resource: "secrets", Name: "browserd"}, {Verb: "get", Resource: "configmaps", Name: "browserd"},
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Name: "browserd"}, {Verb: "impersonate", Resource: "users"},
		{Verb: "update", Group: "apps", Resource: "statefulsets", Name: "browserd"}, {Verb: "update", Group: "apps", Resource: "statefulsets", Subresource: "scale", Name: "browserd"},
		{Verb: "list", Resource: "nodes"}, {Verb: "list", Resource: "namespaces"}, {Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
	} {
		a.Namespace = ns
		ask := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &a}}
		if review, err := as.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), ask, metav1.CreateOptions{}); err != nil || review.Status.Allowed {
			t.Errorf("it may %s %s/%s: %+v, %v", a.Verb, a.Resource, a.Subresource, review, err)
		}
		if review, err := admin.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), ask, metav1.CreateOptions{}); err != nil || !review.Status.Allowed {
			t.Errorf("an administrator may not %s %s/%s: %+v, %v", a.Verb, a.Resource, a.Subresource, review, err)
		}
	}
	// What else there is, such as asking about oneself, is every service account's.
	other := c.as(t, "system:serviceaccount:"+ns+":default", "system:serviceaccounts", "system:serviceaccounts:"+ns, "system:authenticated")
	may, anyMay := rulesOf(t, as, ns), rulesOf(t, other, ns)
	t.Logf("it may what any service account may: %v", may)
	if !slices.Equal(may, anyMay) {
		t.Errorf("it may %v, and any other %v", may, anyMay)
	}
	own := c.withToken(t, ns, "browserd")
	if _, err := own.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("with a token of its own it lists pods: %v", err)
	}
	if _, err := own.CoreV1().Secrets(ns).Get(t.Context(), "browserd", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("with a token of its own it reads the secret: %v", err)
	}
}

func rulesOf(t *testing.T, client *kubernetes.Clientset, ns string) []string {
	t.Helper()
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: ns}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range review.Status.ResourceRules {
		all = append(all, fmt.Sprint(r.Verbs, r.Resources))
	}
	for _, r := range review.Status.NonResourceRules {
		all = append(all, fmt.Sprint(r.Verbs, r.NonResourceURLs))
	}
	slices.Sort(all)
	return all
}

// evictions shows that the budget lets one pod go and refuses the next until that one is back,
// and that a pod that is not ready may go whatever the others are. A pod that is not ready is
// no client's, and still the other nodes'.
func evictions(t *testing.T, c *control, ns string) {
	c.allowed(t, ns, 1)
	c.scheduler.pause(t) // no machine has room for what comes instead
	r := c.watchPods(t, ns)
	if err := c.evict(t, ns, "browserd-2"); err != nil {
		t.Fatalf("the first eviction: %v", err)
	}
	r.until(t, "browserd-2 waits for a machine", func(p podsNow) bool { return p.waits("browserd-2") })
	c.allowed(t, ns, 0)
	err := c.evict(t, ns, "browserd-1")
	if !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "disruption budget") {
		t.Errorf("the second eviction: %v", err)
	}
	t.Logf("the second eviction was refused: %v", err)
	c.scheduler.resume(t)
	r.until(t, "three pods are ready again", func(p podsNow) bool { return p.ready() == 3 })
	if !slices.Equal(r.deleted, []string{"browserd-2"}) {
		t.Errorf("%v were removed, want browserd-2", r.deleted)
	}
	c.allowed(t, ns, 1)

	unready := []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	if _, err := c.client.CoreV1().Pods(ns).Patch(t.Context(), "browserd-1", types.StrategicMergePatchType, unready, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	c.allowed(t, ns, 0)
	c.endpoints(t, ns, "browserd", "browserd-0", "browserd-2")
	c.endpoints(t, ns, "browserd-nodes", "browserd-0", "browserd-1", "browserd-2")
	r = c.watchPods(t, ns)
	if err := c.evict(t, ns, "browserd-0"); !apierrors.IsTooManyRequests(err) {
		t.Errorf("an eviction beside a pod that is not ready: %v", err)
	}
	if err := c.evict(t, ns, "browserd-1"); err != nil {
		t.Errorf("the eviction of a pod that is not ready: %v", err)
	}
	r.until(t, "three pods are ready again", func(p podsNow) bool { return p.ready() == 3 })
	if !slices.Equal(r.deleted, []string{"browserd-1"}) {
		t.Errorf("%v were removed, want browserd-1", r.deleted)
	}
	c.allowed(t, ns, 1)
}

// rolls shows that another image replaces the pods from the last to the first, and that the next
// one stays until the one before it is ready.
func rolls(t *testing.T, c *control, ns string) {
	before := c.uids(t, ns)
	c.scheduler.pause(t)
	r := c.watchPods(t, ns)
	c.helm(t, "upgrade", "browserd", chartDir, "-n", ns, "-f", example("database.yaml"), "--set", "image.tag=0.2.0")
	r.until(t, "browserd-2 waits for a machine", func(p podsNow) bool { return p.waits("browserd-2") })
	c.allowed(t, ns, 0) // the controllers have seen it
	if now := c.uids(t, ns); now["browserd-0"] != before["browserd-0"] || now["browserd-1"] != before["browserd-1"] {
		t.Error("a pod was replaced while the one before it was not ready")
	}
	c.scheduler.resume(t)
	r.replaced(t, "browserd-2", "browserd-1", "browserd-0")
	for _, p := range c.pods(t, ns) {
		if p.Spec.Containers[0].Image != "registry.example/browserd:0.2.0" {
			t.Errorf("%s has the image %s", p.Name, p.Spec.Containers[0].Image)
		}
	}
}

// leaves shows that helm uninstall removes all that the chart made but the claims of the nodes.
func leaves(t *testing.T, c *control, ns string) {
	made := c.inventory(t, ns)
	for _, want := range []string{"statefulsets browserd", "services browserd", "services browserd-nodes", "configmaps browserd", "serviceaccounts browserd", "poddisruptionbudgets browserd", "networkpolicies browserd"} {
		if !slices.Contains(made, want) {
			t.Errorf("before it there is no %s: %v", want, made)
		}
	}
	c.helm(t, "uninstall", "browserd", "-n", ns)
	want := []string{ // who installs makes the secret, and every namespace has kube-root-ca.crt and default
		"configmaps kube-root-ca.crt",
		"persistentvolumeclaims state-browserd-0", "persistentvolumeclaims state-browserd-1", "persistentvolumeclaims state-browserd-2",
		"persistentvolumeclaims state-browserd-3", "persistentvolumeclaims state-browserd-4",
		"secrets browserd", "serviceaccounts default",
	}
	c.until(t, "only the claims are left", func() (string, bool) {
		left := c.inventory(t, ns)
		return strings.Join(left, "\n"), slices.Equal(left, want)
	})
}

// The number of nodes that an autoscaler chose outlives upgrades, until it is turned off.
func TestTheNumberOfNodesIsKedas(t *testing.T) {
	c := start(t)
	ns := c.namespace(t, "scaled", "restricted")
	on := []string{"browserd", chartDir, "-n", ns, "-f", example("cloudnativepg.yaml")}
	c.helm(t, append([]string{"install"}, on...)...)
	c.scale(t, ns, 3)
	r := c.watchPods(t, ns)
	r.until(t, "three pods are ready", func(p podsNow) bool { return len(p) == 3 && p.ready() == 3 })
	r = c.watchPods(t, ns)
	c.helm(t, append(append([]string{"upgrade"}, on...), "--set", "config.session.max=30")...)
	r.replaced(t, "browserd-2", "browserd-1", "browserd-0")
	if n := *c.set(t, ns).Spec.Replicas; n != 3 {
		t.Errorf("an upgrade made %d nodes of 3", n)
	}
	c.scale(t, ns, 2)
	c.helm(t, append([]string{"upgrade"}, on...)...)
	if n := *c.set(t, ns).Spec.Replicas; n != 2 {
		t.Errorf("the next upgrade made %d nodes of 2", n)
	}
	// To take the number back is said by name.
	off := append(append([]string{"upgrade"}, on...), "--set", "autoscaling.enabled=false")
	if out, err := c.tryHelm(t, off...); err == nil || !strings.Contains(out, `conflict with "autoscaler"`) {
		t.Errorf("turning autoscaling off: %v: %s", err, out)
	}
	c.helm(t, append(off, "--force-conflicts")...)
	if n := *c.set(t, ns).Spec.Replicas; n != 3 {
		t.Errorf("without autoscaling there are %d nodes, want replicas' 3", n)
	}
}

// What turns autoscaling on in a running fleet keeps its nodes.
func TestAutoscalingIsTurnedOn(t *testing.T) {
	c := start(t)
	ns := c.namespace(t, "turned-on", "restricted")
	c.helm(t, "install", "browserd", chartDir, "-n", ns, "-f", example("database.yaml"))
	r := c.watchPods(t, ns)
	r.until(t, "three pods are ready", func(p podsNow) bool { return len(p) == 3 && p.ready() == 3 })
	c.helm(t, "upgrade", "browserd", chartDir, "-n", ns, "-f", example("database.yaml"), "--set", "autoscaling.enabled=true")
	if n := *c.set(t, ns).Spec.Replicas; n != 3 {
		t.Errorf("it made %d nodes of 3", n)
	}
}

// One node without a database becomes a fleet by an upgrade, without helm as with it.
func TestFromOneToThree(t *testing.T) {
	c := start(t)
	ns := c.namespace(t, "one", "restricted")
	c.helm(t, "install", "browserd", chartDir, "-n", ns, "-f", example("single.yaml"))
	r := c.watchPods(t, ns)
	r.until(t, "one pod is ready", func(p podsNow) bool { return len(p) == 1 && p.ready() == 1 })
	c.endpoints(t, ns, "browserd", "browserd-0")
	if left := c.inventory(t, ns); slices.Contains(left, "poddisruptionbudgets browserd") {
		t.Errorf("one node has a budget: %v", left)
	}
	c.helm(t, "upgrade", "browserd", chartDir, "-n", ns, "-f", example("database.yaml"))
	r.until(t, "three pods are ready", func(p podsNow) bool { return len(p) == 3 && p.ready() == 3 })
	services(t, c, ns, "browserd-0", "browserd-1", "browserd-2")
	c.allowed(t, ns, 1)
}

// The chart with a user namespace asks for the level privileged, as docs/fleet.md says: the
// others refuse its pods. Where it is let in, the API server keeps hostUsers.
func TestUserNamespace(t *testing.T) {
	c := start(t)
	ns := c.namespace(t, "users", "privileged")
	c.helm(t, "install", "browserd", chartDir, "-n", ns, "-f", example("database.yaml"), "-f", example("user-namespace.yaml"))
	r := c.watchPods(t, ns)
	r.until(t, "three pods are ready", func(p podsNow) bool { return len(p) == 3 && p.ready() == 3 })
	spec := c.pods(t, ns)[0].Spec
	if spec.HostUsers == nil || *spec.HostUsers {
		t.Errorf("hostUsers is %v", spec.HostUsers)
	}
	for _, level := range []string{"baseline", "restricted"} {
		other := c.namespace(t, "users-"+level, level)
		c.helm(t, "install", "browserd", chartDir, "-n", other, "-f", example("database.yaml"), "-f", example("user-namespace.yaml"))
		c.until(t, "the StatefulSet says that its pod is refused", func() (string, bool) {
			events, err := c.client.CoreV1().Events(other).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, e := range events.Items {
				all = append(all, e.Message)
			}
			return strings.Join(all, "\n"), strings.Contains(strings.Join(all, "\n"), `violates PodSecurity "`+level+`:latest": seccompProfile`)
		})
	}
}

// The API server accepts, to the last field, what tools/chart prints for each example, and with
// all that is off by default. The kinds of KEDA and of the Prometheus operator are theirs.
func TestWithoutHelm(t *testing.T) {
	c := start(t)
	ns := c.namespace(t, "applied", "restricted")
	more := filepath.Join(t.TempDir(), "more.yaml")
	if err := os.WriteFile(more, []byte("serviceMonitor: {enabled: true}\nautoscaling: {enabled: true}\nnetworkPolicy: {ipv6: true}\npersistence: {enabled: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, values := range [][]string{
		{example("cloudnativepg.yaml")}, {example("database.yaml"), example("user-namespace.yaml")}, {example("database.yaml"), more}, {example("database.yaml")}, {example("single.yaml")},
	} {
		for _, o := range c.rendered(t, ns, values...) {
			kinds[o.GetKind()] = true
			if err := c.apply(t, ns, o, metav1.DryRunAll); err != nil {
				t.Errorf("%v, %s %s: %v", values, o.GetKind(), o.GetName(), err)
			}
		}
	}
	if len(kinds) != 10 {
		t.Errorf("%d kinds were applied: %v", len(kinds), kinds)
	}
	for _, o := range c.rendered(t, ns, example("single.yaml")) {
		if err := c.apply(t, ns, o); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	r := c.watchPods(t, ns)
	r.until(t, "one pod is ready", func(p podsNow) bool { return len(p) == 1 && p.ready() == 1 })
	// A pod for a hostile tenant is one that a namespace of the level restricted lets in.
	pod := c.sandbox(t)
	if _, err := c.client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Errorf("the pod of sandbox-template.yaml: %v", err)
	}
}

// A wrong field in a template is refused, by helm as by the API server itself.
func TestWrongFields(t *testing.T) {
	c := start(t)
	ns := c.namespace(t, "wrong", "restricted")
	for i, w := range []struct{ file, from, to, says string }{
		{"statefulset.yaml", "podManagementPolicy:", "podManagement:", "podManagement"},
		{"statefulset.yaml", "enableServiceLinks: false", "serviceLinks: false", "serviceLinks"},
		{"statefulset.yaml", "revisionHistoryLimit: 5", "revisionHistoryLimit: five", "revisionHistoryLimit"},
		{"statefulset.yaml", "whenDeleted: Retain", "whenDeleted: Keep", "whenDeleted"},
		{"statefulset.yaml", "path: /readyz\n              port: http", "path: /readyz\n              port: a-name-that-is-too-long", "port"},
		{"service.yaml", "publishNotReadyAddresses: true", "publishUnreadyAddresses: true", "publishUnreadyAddresses"},
		{"poddisruptionbudget.yaml", "unhealthyPodEvictionPolicy: AlwaysAllow", "unhealthyPodEvictionPolicy: Always", "unhealthyPodEvictionPolicy"},
		{"networkpolicy.yaml", "policyTypes:", "types:", "types"},
	} {
		chart := filepath.Join(t.TempDir(), "browserd")
		if err := os.CopyFS(chart, os.DirFS(chartDir)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(chart, "templates", w.file)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wrong := strings.Replace(string(b), w.from, w.to, 1)
		if wrong == string(b) {
			t.Errorf("%s: no %q to change", w.file, w.from)
			continue
		}
		if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := c.tryHelm(t, "install", fmt.Sprint("browserd-", i), chart, "-n", ns, "-f", example("database.yaml"))
		if err == nil || !strings.Contains(out, w.says) {
			t.Errorf("%s with %q: helm says %v: %s", w.file, w.to, err, out)
		}
	}
	// Where helm does not look first, the API server refuses.
	var refused error
	for _, o := range c.rendered(t, ns, example("database.yaml")) {
		if o.GetKind() == "StatefulSet" {
			o.Object["spec"].(map[string]any)["podManagement"] = "Parallel"
			refused = c.apply(t, ns, o)
		}
	}
	if refused == nil || !strings.Contains(refused.Error(), "podManagement") {
		t.Errorf("the API server says %v", refused)
	}
}

func example(name string) string { return filepath.Join(examplesDir, name) }

// set is the StatefulSet of a namespace.
func (c *control) set(t *testing.T, ns string) *appsv1.StatefulSet {
	t.Helper()
	s, err := c.client.AppsV1().StatefulSets(ns).Get(t.Context(), "browserd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
