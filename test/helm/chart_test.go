// Package helm tries the chart in deploy/helm: as helm renders it, as Kubernetes's types read it, and with the
// processes that it describes.
package helm

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files again")

const (
	chart       = "../../deploy/helm/turnlog"
	kubeVersion = "1.34.0" // helm renders for one, if it cannot ask a cluster
)

// insecure and secure are the two ways to run it.
var (
	insecure = []string{"--set", "insecure=true"}
	secure   = []string{"--set", "tls.secretName=client-tls", "--set", "users.secretName=users",
		"--set", "nodeTLS.secretName=node-tls", "--set", "clusterSecret.secretName=cluster", "--set", "learners=2",
		"--set", "settings.TURNLOG_MEMORY_BUDGET=1GiB"}
)

// helm runs helm, of the version in go.mod, without what this machine's user has set up for it.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool", "helm"}, args...)...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home,
		"KUBECONFIG="+filepath.Join(home, "none"))
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), errors.Join(err, errors.New(problems.String()))
	}
	return out.String(), nil
}

func render(t *testing.T, values ...string) string {
	t.Helper()
	out, err := helm(t, append([]string{"template", "memory", chart, "--namespace", "agents",
		"--kube-version", kubeVersion}, values...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// manifests are what Kubernetes is given.
type manifests struct {
	sets     map[string]*appsv1.StatefulSet
	services map[string]*corev1.Service
	budgets  map[string]*policyv1.PodDisruptionBudget
	accounts map[string]*corev1.ServiceAccount
}

// parse reads manifests as the types of Kubernetes's API: a field that these do not have fails.
func parse(t *testing.T, text string) manifests {
	t.Helper()
	m := manifests{map[string]*appsv1.StatefulSet{}, map[string]*corev1.Service{},
		map[string]*policyv1.PodDisruptionBudget{}, map[string]*corev1.ServiceAccount{}}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var kind struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
		}
		switch kind.APIVersion + " " + kind.Kind {
		case " ":
		case "apps/v1 StatefulSet":
			read(t, doc, m.sets, func(s *appsv1.StatefulSet) string { return s.Name })
		case "v1 Service":
			read(t, doc, m.services, func(s *corev1.Service) string { return s.Name })
		case "policy/v1 PodDisruptionBudget":
			read(t, doc, m.budgets, func(s *policyv1.PodDisruptionBudget) string { return s.Name })
		case "v1 ServiceAccount":
			read(t, doc, m.accounts, func(s *corev1.ServiceAccount) string { return s.Name })
		default:
			t.Errorf("%s %s is in the chart, and not in this test", kind.APIVersion, kind.Kind)
		}
	}
	return m
}

func read[T any](t *testing.T, doc string, into map[string]*T, name func(*T) string) {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
		t.Fatalf("%v:\n%s", err, doc)
	}
	if into[name(object)] != nil {
		t.Errorf("%s is there twice", name(object))
	}
	into[name(object)] = object
}

// What helm renders is what was looked at when it was last changed.
func TestRenderedManifests(t *testing.T) {
	for name, values := range map[string][]string{"insecure": insecure, "secure": secure} {
		got := render(t, values...)
		golden := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s.yaml differs from what helm renders: go test -update, and look at the difference", name)
		}
	}
}

func TestChartIsLinted(t *testing.T) {
	for _, values := range [][]string{insecure, secure} {
		out, err := helm(t, append([]string{"lint", "--strict", chart, "--kube-version", kubeVersion}, values...)...)
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// The chart is of the version that the repository is of.
func TestChartHasTheVersion(t *testing.T) {
	version, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ AppVersion string }
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSpace(string(version)); c.AppVersion != want {
		t.Errorf("appVersion is %s, the version %s", c.AppVersion, want)
	}
}

// What would make an open or a broken cluster is refused.
func TestUnsafeValuesAreRefused(t *testing.T) {
	for name, x := range map[string]struct {
		values []string
		says   string
	}{
		"nothing":          {nil, "set tls.secretName"},
		"users alone":      {[]string{"--set", "users.secretName=u"}, "set tls.secretName"},
		"four nodes":       {append([]string{"--set", "nodes=4"}, insecure...), "nodes"},
		"an unknown value": {append([]string{"--set", "replicas=3"}, insecure...), "replicas"},
		"a setting's own name": {append([]string{"--set", "settings.memory-budget=1GiB"}, insecure...),
			"memory-budget"},
	} {
		_, err := helm(t, append([]string{"template", "memory", chart, "--kube-version", kubeVersion}, x.values...)...)
		if err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Selectors select the pods that they are meant to, and the parts fit together.
func TestPartsFitTogether(t *testing.T) {
	m := parse(t, render(t, secure...))
	voters, learners := m.sets["memory-turnlog"], m.sets["memory-turnlog-learner"]
	if voters == nil || learners == nil || len(m.sets) != 2 ||
		*voters.Spec.Replicas != 3 || *learners.Spec.Replicas != 2 {
		t.Fatalf("the sets are %v", m.sets)
	}
	selects := func(selector map[string]string, s *appsv1.StatefulSet) bool {
		for k, v := range selector {
			if s.Spec.Template.Labels[k] != v {
				return false
			}
		}
		return true
	}
	for _, s := range m.sets {
		for _, other := range m.sets {
			if selects(s.Spec.Selector.MatchLabels, other) != (s == other) {
				t.Errorf("the selector of %s does not tell its pods from those of %s", s.Name, other.Name)
			}
		}
		if m.services[s.Spec.ServiceName] == nil || m.services[s.Spec.ServiceName].Spec.ClusterIP != "None" {
			t.Errorf("%s has no headless service", s.Name)
		}
		if m.accounts[s.Spec.Template.Spec.ServiceAccountName] == nil {
			t.Errorf("%s has no account", s.Name)
		}
		checkMounts(t, s)
	}
	for _, s := range m.services {
		if !selects(s.Spec.Selector, voters) || !selects(s.Spec.Selector, learners) {
			t.Errorf("service %s does not select all nodes", s.Name)
		}
		for _, p := range s.Spec.Ports {
			if !hasPort(voters, p.TargetPort.StrVal) {
				t.Errorf("service %s leads to port %s, which no container has", s.Name, p.TargetPort.StrVal)
			}
		}
	}
	budget := m.budgets["memory-turnlog"]
	if budget == nil || !selects(budget.Spec.Selector.MatchLabels, voters) ||
		selects(budget.Spec.Selector.MatchLabels, learners) || budget.Spec.MaxUnavailable.IntVal != 1 {
		t.Errorf("the disruption budget is %+v", budget)
	}
}

func hasPort(s *appsv1.StatefulSet, name string) bool {
	for _, p := range s.Spec.Template.Spec.Containers[0].Ports {
		if p.Name == name {
			return true
		}
	}
	return false
}

// checkMounts holds every path in a setting against what is mounted.
func checkMounts(t *testing.T, s *appsv1.StatefulSet) {
	t.Helper()
	volumes := map[string]bool{"data": true}
	for _, v := range s.Spec.Template.Spec.Volumes {
		volumes[v.Name] = true
	}
	c := s.Spec.Template.Spec.Containers[0]
	mounted := func(path string) bool {
		for _, m := range c.VolumeMounts {
			if strings.HasPrefix(path, m.MountPath+"/") && volumes[m.Name] {
				return true
			}
		}
		return false
	}
	for _, e := range c.Env {
		if strings.HasPrefix(e.Value, "/") && !mounted(e.Value) {
			t.Errorf("%s: %s=%s is nowhere mounted", s.Name, e.Name, e.Value)
		}
	}
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
