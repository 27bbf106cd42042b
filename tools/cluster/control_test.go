package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

const (
	nodeCount = 3
	patience  = 3 * time.Minute // for any condition: the machine may be busy
)

// control is a control plane on loopback, with nodes of kwok's, for all tests of the package.
type control struct {
	dir, kubeconfig string
	config          *rest.Config
	client          *kubernetes.Clientset
	dynamic         *dynamic.DynamicClient
	scheduler       *program
	programs        []*program
	volumes         int
}

var (
	plane     *control
	planeErr  error
	planeOnce sync.Once
)

func TestMain(m *testing.M) {
	code := m.Run()
	if plane != nil {
		plane.stop()
	}
	os.Exit(code)
}

// start returns the control plane, which the first test that asks for it starts.
func start(t *testing.T) *control {
	t.Helper()
	if os.Getenv("KUBE") != "1" {
		t.Skip("KUBE is not 1: `make kube` builds a control plane and installs the chart on it")
	}
	planeOnce.Do(func() {
		began := time.Now()
		plane, planeErr = newControl()
		if planeErr == nil {
			v, err := plane.client.Discovery().ServerVersion()
			t.Logf("kube-apiserver %v answers and has %d nodes, %s after the start (%v)", v, nodeCount, time.Since(began).Round(time.Second), err)
		}
	})
	if planeErr != nil {
		t.Fatal(planeErr)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", plane.warnings(), plane.logs())
		}
	})
	return plane
}

// program is one of the processes.
type program struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
}

// bin is a program that make kube builds.
func bin(name string) string { return filepath.Join(os.Getenv("KUBE_BIN"), name) }

func (c *control) run(name string, args ...string) (*program, error) {
	p := &program{name: name, log: filepath.Join(c.dir, name+".log"), done: make(chan struct{})}
	f, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p.cmd = exec.Command(bin(name), args...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = f, f, c.dir
	p.cmd.Env = []string{"HOME=" + c.dir, "TMPDIR=" + c.dir, "PATH=" + os.Getenv("PATH")}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // where the tests are killed
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: make kube builds it", err)
	}
	c.programs = append(c.programs, p)
	go func() { defer close(p.done); _ = p.cmd.Wait() }()
	return p, nil
}

// pause stops the program as it stands.
func (p *program) pause(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) })
}

func (p *program) resume(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// stop ends all, the last one first, and removes what they wrote.
func (c *control) stop() {
	for i := len(c.programs) - 1; i >= 0; i-- {
		_ = c.programs[i].cmd.Process.Kill()
		<-c.programs[i].done
	}
	_ = os.RemoveAll(c.dir)
}

// warnings are the events that say what went wrong, the last ones.
func (c *control) warnings() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list, err := c.client.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, e := range list.Items {
		all = append(all, fmt.Sprintf("%s %s %s: %s", e.Namespace, e.InvolvedObject.Name, e.Reason, e.Message))
	}
	return strings.Join(all[max(0, len(all)-20):], "\n")
}

// logs are the last lines of each program.
func (c *control) logs() string {
	var all strings.Builder
	for _, p := range c.programs {
		b, _ := os.ReadFile(p.log)
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		fmt.Fprintf(&all, "== %s\n%.4000s\n", p.name, strings.Join(lines[max(0, len(lines)-8):], "\n"))
	}
	return all.String()
}

func newControl() (*control, error) {
	dir, err := os.MkdirTemp("", "browserd-kube-")
	if err != nil {
		return nil, err
	}
	c := &control{dir: dir, kubeconfig: filepath.Join(dir, "admin.kubeconfig")}
	if err := c.begin(); err != nil {
		err = fmt.Errorf("%w\n%s", err, c.logs())
		c.stop()
		return nil, err
	}
	return c, nil
}

// begin starts the programs one after the other, each at ports and in directories of its own.
func (c *control) begin() error {
	dir := c.dir
	ports, err := freePorts(6)
	if err != nil {
		return err
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	key := filepath.Join(dir, "accounts.key")
	if err := writeKey(key); err != nil {
		return err
	}
	// Who comes with which token; the groups and names are those that RBAC knows of its own.
	users := map[string]string{"admin": "admin,admin,1,system:masters", "kube-controller-manager": "kube-controller-manager,system:kube-controller-manager,2", "kube-scheduler": "kube-scheduler,system:kube-scheduler,3"}
	var tokens strings.Builder
	for name, rest := range users {
		token := rand.Text()
		fmt.Fprintln(&tokens, token+strings.TrimPrefix(","+rest, ","+name))
		if err := c.writeKubeconfig(name, "https://"+at(2), token); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(tokens.String()), 0o600); err != nil {
		return err
	}

	if _, err := c.run("etcd", "--name=one", "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=http://"+at(0), "--advertise-client-urls=http://"+at(0),
		"--listen-peer-urls=http://"+at(1), "--initial-advertise-peer-urls=http://"+at(1), "--initial-cluster=one=http://"+at(1)); err != nil {
		return err
	}
	certificates := filepath.Join(dir, "apiserver")
	if _, err := c.run("kube-apiserver", "--etcd-servers=http://"+at(0), "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", ports[2]), "--cert-dir="+certificates,
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16", "--anonymous-auth=false",
		"--authorization-mode=Node,RBAC", "--token-auth-file="+filepath.Join(dir, "tokens.csv"), "--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key, "--service-account-signing-key-file="+key); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.connect(ctx); err != nil {
		return err
	}
	common := func(name string, port int) []string {
		return []string{"--kubeconfig=" + filepath.Join(dir, name+".kubeconfig"), "--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", port), "--cert-dir=" + filepath.Join(dir, name)}
	}
	if _, err := c.run("kube-controller-manager", append(common("kube-controller-manager", ports[3]), "--use-service-account-credentials", "--controllers=*,-kube-apiserver-serving-clustertrustbundle-publisher-controller",
		"--service-account-private-key-file="+key, "--root-ca-file="+filepath.Join(certificates, "apiserver.crt"))...); err != nil {
		return err
	}
	if c.scheduler, err = c.run("kube-scheduler", common("kube-scheduler", ports[4])...); err != nil {
		return err
	}
	if _, err := c.run("kwok", "--kubeconfig="+c.kubeconfig, "--config="+bin("stages.yaml"), "--manage-all-nodes", "--cidr=10.244.0.0/16", "--node-ip=192.0.2.2", "--server-address="+at(5), "--node-lease-duration-seconds=40"); err != nil {
		return err
	}
	return c.furnish(ctx)
}

// ended says which program is not there any more.
func (c *control) ended() error {
	for _, p := range c.programs {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %v", p.name, p.cmd.ProcessState)
		default:
		}
	}
	return nil
}

// connect waits until the API server says that it is ready.
func (c *control) connect(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := c.ended(); err != nil {
			return false, err
		}
		config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
		if err != nil { // there is no certificate yet
			last = err
			return false, nil
		}
		config.QPS, config.Burst, config.WarningHandler = 200, 400, rest.NoWarnings{}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			last = err
			return false, nil
		}
		if _, last = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); last != nil {
			return false, nil
		}
		c.config, c.client = config, client
		c.dynamic, err = dynamic.NewForConfig(config)
		return err == nil, err
	})
	return errors.Join(err, last)
}

// furnish gives the cluster what a cluster has: nodes, a storage class that is the default one, a
// runtime class, and the kinds of KEDA and of the Prometheus operator.
func (c *control) furnish(ctx context.Context) error {
	objects := []string{
		"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}\nprovisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer",
		"apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata",
	}
	for i := range nodeCount {
		objects = append(objects, fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: node-%[1]d, labels: {kubernetes.io/hostname: node-%[1]d, kubernetes.io/os: linux, kubernetes.io/arch: amd64}}\nstatus: {allocatable: %[2]s, capacity: %[2]s}", i, "{cpu: 32, memory: 128Gi, ephemeral-storage: 200Gi, pods: 110}"))
	}
	for _, file := range []string{"config/crd/bases/keda.sh_scaledobjects.yaml", "config/crd/bases/keda.sh_triggerauthentications.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml", "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"} {
		constant := "kedaModule"
		if strings.HasPrefix(file, "example") {
			constant = "operatorModule"
		}
		dir, err := moduleOf(ctx, constant)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		objects = append(objects, string(b))
	}
	for _, text := range objects {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			return err
		}
		if _, err := c.dynamic.Resource(resourceOf(&o)).Create(ctx, &o, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	var missing string
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := c.ended(); err != nil {
			return false, err
		}
		missing = ""
		crds, err := c.dynamic.Resource(crdResource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, o := range crds.Items {
			if !condition(o.Object, "Established") {
				missing = o.GetName()
			}
		}
		nodes, err := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, o := range nodes.Items {
			if taints, _, _ := unstructured.NestedSlice(o.Object, "spec", "taints"); !condition(o.Object, "Ready") || len(taints) > 0 {
				missing = o.GetName()
			}
		}
		return missing == "", nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s is not ready", err, missing)
	}
	return nil
}

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// resourceOf is by which name the API server knows the kind of o.
func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	kind := o.GroupVersionKind()
	name := strings.ToLower(kind.Kind) + "s"
	if strings.HasSuffix(kind.Kind, "y") {
		name = strings.TrimSuffix(name, "ys") + "ies"
	} else if strings.HasSuffix(kind.Kind, "ss") {
		name = strings.TrimSuffix(name, "s") + "es"
	}
	return kind.GroupVersion().WithResource(name)
}

func condition(o map[string]any, name string) bool {
	all, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, of := range all {
		if m, ok := of.(map[string]any); ok && m["type"] == name {
			return m["status"] == "True"
		}
	}
	return false
}

// moduleOf is where the Go command keeps the module that a constant of tools/chart names.
func moduleOf(ctx context.Context, constant string) (string, error) {
	b, err := os.ReadFile("../chart/schemas_test.go")
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(constant + ` *= "([^"]+)"`).FindSubmatch(b)
	if m == nil {
		return "", fmt.Errorf("tools/chart has no %s", constant)
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
	return filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(string(m[1]))), err
}

// namespace makes one of a level of Pod Security, with the secret of the examples and volumes
// that its pods may claim.
func (c *control) namespace(t *testing.T, name, level string) string {
	t.Helper()
	labels := map[string]string{"pod-security.kubernetes.io/enforce": level, "pod-security.kubernetes.io/enforce-version": "latest"}
	if _, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "browserd"}, StringData: map[string]string{"token": rand.Text(), "state-key": rand.Text(), "dsn": "postgres://browserd:" + rand.Text() + "@db.example/browserd"}}
	if _, err := c.client.CoreV1().Secrets(name).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until(t, "the namespace has its own service account", func() (string, bool) {
		_, err := c.client.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return fmt.Sprint(err), err == nil
	})
	for range 6 {
		c.volumes++
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("volume-", c.volumes)}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: "standard", PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
		}}
		if _, err := c.client.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// helm runs helm, which has to succeed.
func (c *control) helm(t *testing.T, args ...string) {
	t.Helper()
	if out, err := c.tryHelm(t, args...); err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (c *control) tryHelm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin("helm"), args...)
	cmd.Env = []string{"HOME=" + c.dir, "KUBECONFIG=" + c.kubeconfig, "TMPDIR=" + c.dir, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// rendered are the documents that tools/chart prints, as docs/fleet.md says for who has no helm.
func (c *control) rendered(t *testing.T, ns string, values ...string) []*unstructured.Unstructured {
	t.Helper()
	args := []string{"run", "./chart", "-namespace", ns}
	for _, file := range values {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", path)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	var all []*unstructured.Unstructured
	for _, text := range regexp.MustCompile(`(?m)^---\s*$`).Split(string(out), -1) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// apply has the API server take o, and refuse a field that it does not know.
func (c *control) apply(t *testing.T, ns string, o *unstructured.Unstructured, dryRun ...string) error {
	t.Helper()
	b, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.dynamic.Resource(resourceOf(o)).Namespace(ns).Patch(t.Context(), o.GetName(), "application/apply-patch+yaml", b,
		metav1.PatchOptions{FieldManager: "test", FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun})
	return err
}

// sandbox is the pod that deploy/examples/sandbox-template.yaml describes.
func (c *control) sandbox(t *testing.T) *corev1.Pod {
	t.Helper()
	b, err := os.ReadFile(example("sandbox-template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Spec struct{ PodTemplate struct{ Spec corev1.PodSpec } }
	}
	if err := yaml.Unmarshal(b, &template); err != nil {
		t.Fatal(err)
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}, Spec: template.Spec.PodTemplate.Spec}
}

// until waits for a condition, and says what was there instead if it does not come.
func (c *control) until(t *testing.T, what string, holds func() (is string, ok bool)) {
	t.Helper()
	var is string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (ok bool, err error) {
		if err := c.ended(); err != nil {
			return false, err
		}
		is, ok = holds()
		return ok, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; it is %s", what, err, is)
	}
}

func (c *control) writeKubeconfig(name, server, token string) error {
	k := clientcmdapi.NewConfig()
	k.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: filepath.Join(c.dir, "apiserver", "apiserver.crt")}
	k.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	k.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	k.CurrentContext = "x"
	return clientcmd.WriteToFile(*k, filepath.Join(c.dir, name+".kubeconfig"))
}

func writeKey(file string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600)
}

// freePorts are ports of loopback that nobody listened on when it was called.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
