package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// podsNow are the pods of a namespace by name.
type podsNow map[string]*corev1.Pod

func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func (p podsNow) ready() (n int) {
	for _, pod := range p {
		if isReady(pod) {
			n++
		}
	}
	return n
}

// waits reports whether a pod is there that has no machine.
func (p podsNow) waits(name string) bool {
	return p[name] != nil && p[name].DeletionTimestamp == nil && p[name].Spec.NodeName == ""
}

func (p podsNow) String() string {
	var all []string
	for name, pod := range p {
		all = append(all, fmt.Sprintf("%s: ready %v, on %q, %s", name, isReady(pod), pod.Spec.NodeName, pod.Status.Phase))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// record is all that becomes of the pods of a namespace from a moment on: no change is missed,
// and they come in the order in which the API server made them.
type record struct {
	watch            watch.Interface
	pods, first      podsNow
	created, deleted []string // in order
	fewest           int      // pods that were ready at a time
}

func (c *control) watchPods(t *testing.T, ns string) *record {
	t.Helper()
	list, err := c.client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := &record{pods: podsNow{}, first: podsNow{}}
	for i := range list.Items {
		r.pods[list.Items[i].Name], r.first[list.Items[i].Name] = &list.Items[i], &list.Items[i]
	}
	r.fewest = r.pods.ready()
	seconds := int64((3 * patience).Seconds())
	if r.watch, err = c.client.CoreV1().Pods(ns).Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: &seconds}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.watch.Stop)
	return r
}

// until reads what happens until a condition holds.
func (r *record) until(t *testing.T, what string, holds func(podsNow) bool) {
	t.Helper()
	late := time.After(patience)
	for !holds(r.pods) {
		select {
		case e, open := <-r.watch.ResultChan():
			pod, ok := e.Object.(*corev1.Pod)
			if !open || !ok {
				t.Fatalf("%s: the watch ended: %+v", what, e)
			}
			switch e.Type {
			case watch.Added:
				r.created = append(r.created, pod.Name)
				r.pods[pod.Name] = pod
			case watch.Modified:
				r.pods[pod.Name] = pod
			case watch.Deleted:
				r.deleted = append(r.deleted, pod.Name)
				delete(r.pods, pod.Name)
			}
			r.fewest = min(r.fewest, r.pods.ready())
		case <-late:
			t.Fatalf("%s: not within %s: %v", what, patience, r.pods)
		}
	}
}

// replaced waits until all pods are others and ready, and holds them to an order, one at a time.
func (r *record) replaced(t *testing.T, order ...string) {
	t.Helper()
	r.until(t, "all pods are replaced", func(now podsNow) bool {
		for _, name := range order {
			if now[name] == nil || now[name].UID == r.first[name].UID {
				return false
			}
		}
		return now.ready() == len(order)
	})
	if !slices.Equal(r.deleted, order) {
		t.Errorf("the pods were replaced in the order %v, want %v", r.deleted, order)
	}
	if r.fewest != len(order)-1 {
		t.Errorf("%d of %d pods were ready at the worst moment, want all but one", r.fewest, len(order))
	}
}

func (c *control) pods(t *testing.T, ns string) []corev1.Pod {
	t.Helper()
	list, err := c.client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		t.Fatalf("%s has no pods", ns)
	}
	return list.Items
}

func (c *control) uids(t *testing.T, ns string) map[string]types.UID {
	t.Helper()
	all := map[string]types.UID{}
	for _, p := range c.pods(t, ns) {
		all[p.Name] = p.UID
	}
	return all
}

func (c *control) evict(t *testing.T, ns, pod string) error {
	t.Helper()
	return c.client.PolicyV1().Evictions(ns).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: ns}})
}

// allowed waits until the budget allows so many evictions.
func (c *control) allowed(t *testing.T, ns string, n int32) {
	t.Helper()
	c.until(t, fmt.Sprint("the budget allows ", n), func() (string, bool) {
		b, err := c.client.PolicyV1().PodDisruptionBudgets(ns).Get(t.Context(), "browserd", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := b.Status
		return fmt.Sprintf("%+v", s), s.ObservedGeneration == b.Generation && s.ExpectedPods == 3 && s.DisruptionsAllowed == n && len(s.DisruptedPods) == 0
	})
}

func (c *control) slices(t *testing.T, ns, service string) []discoveryv1.EndpointSlice {
	t.Helper()
	list, err := c.client.DiscoveryV1().EndpointSlices(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + service})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// endpoints waits until these pods, each with the address that it has, are who answers a Service.
func (c *control) endpoints(t *testing.T, ns, service string, pods ...string) {
	t.Helper()
	c.until(t, fmt.Sprintf("%s has %v", service, pods), func() (string, bool) {
		addresses := map[string]string{}
		for _, p := range c.pods(t, ns) {
			addresses[p.Name] = p.Status.PodIP
		}
		var ready, is []string
		for _, s := range c.slices(t, ns, service) {
			for _, e := range s.Endpoints {
				is = append(is, fmt.Sprintf("%s at %v: %+v", e.TargetRef.Name, e.Addresses, e.Conditions))
				if e.Conditions.Ready != nil && *e.Conditions.Ready && len(e.Addresses) == 1 && e.Addresses[0] != "" && e.Addresses[0] == addresses[e.TargetRef.Name] {
					ready = append(ready, e.TargetRef.Name)
				}
			}
		}
		slices.Sort(ready)
		return strings.Join(is, "; "), slices.Equal(ready, pods)
	})
}

// ports are those of a Service's endpoints, sorted.
func (c *control) ports(t *testing.T, ns, service string) []string {
	t.Helper()
	var all []string
	for _, s := range c.slices(t, ns, service) {
		for _, p := range s.Ports {
			all = append(all, fmt.Sprint(*p.Name, " ", *p.Port))
		}
	}
	slices.Sort(all)
	return all
}

// scale sets the number of pods as an autoscaler does.
func (c *control) scale(t *testing.T, ns string, n int32) {
	t.Helper()
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "browserd", Namespace: ns}, Spec: autoscalingv1.ScaleSpec{Replicas: n}}
	if _, err := c.client.AppsV1().StatefulSets(ns).UpdateScale(t.Context(), "browserd", s, metav1.UpdateOptions{FieldManager: "autoscaler"}); err != nil {
		t.Fatal(err)
	}
}

// as is a client that an administrator makes of another user.
func (c *control) as(t *testing.T, user string, groups ...string) *kubernetes.Clientset {
	t.Helper()
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// withToken is a client with a token of a service account.
func (c *control) withToken(t *testing.T, ns, account string) *kubernetes.Clientset {
	t.Helper()
	token, err := c.client.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = token.Status.Token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	who, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if want := "system:serviceaccount:" + ns + ":" + account; err != nil || who.Status.UserInfo.Username != want {
		t.Fatalf("the token is %v's, %v", who, err)
	}
	return client
}

// inventory is what of a namespace somebody made, or made be made: each kind that it can have but
// what the controllers keep for themselves.
func (c *control) inventory(t *testing.T, ns string) []string {
	t.Helper()
	lists, err := c.client.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range lists {
		for _, r := range l.APIResources {
			if !slices.Contains(r.Verbs, "list") || r.Kind == "Event" {
				continue
			}
			gv, err := schema.ParseGroupVersion(l.GroupVersion)
			if err != nil {
				t.Fatal(err)
			}
			list, err := c.dynamic.Resource(gv.WithResource(r.Name)).Namespace(ns).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("%s: %v", r.Name, err)
			}
			for _, o := range list.Items {
				all = append(all, r.Name+" "+o.GetName())
			}
		}
	}
	slices.Sort(all)
	return all
}
