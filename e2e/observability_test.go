package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
)

// Each metric that the alerts and the dashboard of deploy/observability name is one of the
// daemon's, with the labels that they ask for.
func TestAlertsAndDashboardNameMetrics(t *testing.T) {
	aboutOneProcess(t, "its metrics")
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	newAgent(t, d).open(demoServer(t))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(browserd|process|go)_[a-z_]+`)
	label := regexp.MustCompile(`by \(([a-z_, ]+)\)`)
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join(root, "deploy", "observability", file))
		if err != nil {
			t.Fatal(err)
		}
		expressions := regexp.MustCompile(`(?m)"?expr"?: (.*)$`).FindAllStringSubmatch(string(text), -1)
		if len(expressions) < 8 {
			t.Errorf("%s: %d expressions", file, len(expressions))
		}
		for _, e := range expressions {
			for _, name := range named.FindAllString(e[1], -1) {
				if !regexp.MustCompile(`(?m)^` + name + `[ {]`).Match(metrics) {
					t.Errorf("%s: no metric %s: %s", file, name, e[1])
				}
			}
			for _, by := range label.FindAllStringSubmatch(e[1], -1) {
				for name := range strings.SplitSeq(by[1], ", ") {
					if name != "instance" && !strings.Contains(string(metrics), name+`="`) {
						t.Errorf("%s: no label %s: %s", file, name, e[1])
					}
				}
			}
		}
	}
	var dashboard struct{ Panels []struct{ Title string } }
	if b, err := os.ReadFile(filepath.Join(root, "deploy", "observability", "dashboard.json")); err != nil {
		t.Error(err)
	} else if err := json.Unmarshal(b, &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Errorf("the dashboard: %v, %d panels", err, len(dashboard.Panels))
	}
}

// Prometheus' own tool accepts the alerts.
func TestAlertsAreRules(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		untested.Skip(t, "the alerts are not checked: promtool is not installed (Debian's package prometheus)")
	}
	root, err := testdaemon.Root()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(root, "deploy", "observability", "alerts.yaml")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
