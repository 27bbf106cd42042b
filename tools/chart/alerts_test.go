package main

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
)

const alertsFile = "../../deploy/observability/alerts.yaml"

// The chart's copy of the alerts, without which helm could not read them, is the file of
// deploy/observability.
func TestTheChartHasTheAlerts(t *testing.T) {
	want, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(chartDir + "/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s/files/alerts.yaml is not %s: copy it", chartDir, alertsFile)
	}
}

// With serviceMonitor the chart makes a PrometheusRule of the alerts, for the job that the
// ServiceMonitor gives: the value of a label of the Service that it selects.
func TestAlertsAreForTheJob(t *testing.T) {
	b, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"browserd", "shop-browser"} {
		all := map[string]object{}
		for _, m := range render(t, []string{"database.yaml"}, map[string]any{"nameOverride": name, "serviceMonitor": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}}}) {
			o := parse(t, m.text)
			labels := o["metadata"].(object)["labels"].(object)
			if kind := o["kind"].(string); kind != "Service" || labels["app.kubernetes.io/component"] == "nodes" {
				all[kind] = o
			}
		}
		monitor, rule := all["ServiceMonitor"], all["PrometheusRule"]
		if rule == nil {
			t.Fatal("there is no PrometheusRule")
		}
		label, _ := monitor["spec"].(object)["jobLabel"].(string)
		job, _ := all["Service"]["metadata"].(object)["labels"].(object)[label].(string)
		if job != name {
			t.Errorf("the label %q of the Service makes the job %q, want %s", label, job, name)
		}
		if !strings.Contains(string(b), `{job="browserd"}`) {
			t.Fatalf("%s names no job", alertsFile)
		}
		if want := parse(t, strings.ReplaceAll(string(b), `job="browserd"`, `job="`+job+`"`)); !reflect.DeepEqual(rule["spec"], want) {
			t.Errorf("got %v\nwant %v", rule["spec"], want)
		}
		if got := rule["metadata"].(object)["labels"].(object)["release"]; got != "prometheus" {
			t.Errorf("the label release of the PrometheusRule, by which Prometheus selects it, is %v", got)
		}
	}
}
