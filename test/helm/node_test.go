package helm

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// pods are the processes that a chart describes, on this machine: each has the arguments and the environment of its
// container. Of these, only what a machine cannot have is changed: the ports, which pods have on addresses of their
// own, and the directories that are mounted.
type pods struct {
	t      *testing.T
	binary string
	dir    string
	byName map[string]*pod
}

type pod struct {
	name      string
	user      *corev1.PodSecurityContext
	container corev1.Container
	ports     map[string]string // of this machine, by the number that the container has
	cmd       *exec.Cmd
	output    bytes.Buffer
}

// run starts the pods of sets, with the secrets in dir/secrets.
func run(t *testing.T, binary, dir string, sets ...*appsv1.StatefulSet) *pods {
	t.Helper()
	p := &pods{t: t, binary: binary, dir: dir, byName: map[string]*pod{}}
	for _, s := range sets {
		for i := range *s.Spec.Replicas {
			name := fmt.Sprintf("%s-%d", s.Name, i)
			spec := s.Spec.Template.Spec
			p.byName[name] = &pod{name: name, user: spec.SecurityContext, container: spec.Containers[0],
				ports: map[string]string{"7379": reserve(t), "7380": reserve(t), "7381": reserve(t)}}
		}
	}
	for _, n := range p.byName {
		p.start(n)
		t.Cleanup(func() {
			if n.cmd.ProcessState == nil {
				_ = n.cmd.Process.Kill()
				_ = n.cmd.Wait()
			}
			if t.Failed() {
				t.Logf("%s:\n%s", n.name, n.output.String())
			}
		})
	}
	return p
}

// reserve returns a port for a process that listens on it later, maybe several times. Until the test has ended, no
// other test of turnlog gets it, since it is held as internal/ports does, by a UDP socket of the same number. No
// outgoing connection gets it either: it lies below those that systems give to them.
func reserve(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(10_000 + rand.IntN(22_000))
		addr := "127.0.0.1:" + port
		held, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			held.Close()
			continue
		}
		t.Cleanup(func() { held.Close() })
		return port
	}
	t.Fatal("no free port was found")
	return ""
}

// environment is that of a container, as Kubernetes expands it.
func (p *pods) environment(n *pod) []string {
	env := []string{"HOME=" + p.dir}
	var dials []string
	for _, o := range p.byName {
		dials = append(dials, p.domain(o)+":7381=127.0.0.1:"+o.ports["7381"])
	}
	for _, e := range n.container.Env {
		value := strings.ReplaceAll(e.Value, "$(POD_NAME)", n.name)
		switch {
		case e.Name == "POD_NAME":
			value = n.name
		case e.Name == "TURNLOG_DATA_DIR":
			value = filepath.Join(p.dir, n.name, value)
		case strings.HasPrefix(value, "/secrets/"):
			value = filepath.Join(p.dir, value)
		case strings.HasPrefix(value, ":"):
			value = "127.0.0.1:" + n.ports[value[1:]]
		case e.Name == "TURNLOG_RESP_ADVERTISE" || e.Name == "TURNLOG_HTTP_ADVERTISE":
			_, port, _ := net.SplitHostPort(value)
			value = "127.0.0.1:" + n.ports[port]
		case e.Name == "TURNLOG_ADDR":
			value = p.addrs()
		}
		env = append(env, e.Name+"="+value)
	}
	return append(env, "TURNLOG_DIAL_MAP="+strings.Join(dials, ","))
}

func (p *pods) addrs() string {
	var addrs []string
	for _, o := range p.byName {
		addrs = append(addrs, "127.0.0.1:"+o.ports["7379"])
	}
	return strings.Join(addrs, ",")
}

// domain is a pod's name in the headless service, as its container tells it to others.
func (p *pods) domain(n *pod) string {
	for _, e := range n.container.Env {
		if e.Name == "TURNLOG_RAFT_ADVERTISE" {
			host, _, _ := net.SplitHostPort(strings.ReplaceAll(e.Value, "$(POD_NAME)", n.name))
			return host
		}
	}
	p.t.Fatalf("%s tells no address", n.name)
	return ""
}

func (p *pods) start(n *pod) {
	p.t.Helper()
	n.cmd = exec.Command(p.binary, n.container.Args...)
	n.cmd.Env, n.cmd.Stdout, n.cmd.Stderr, n.cmd.Dir = p.environment(n), &n.output, &n.output, p.dir
	if os.Getuid() == 0 {
		p.asItsUser(n)
	}
	if err := n.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// asItsUser has a pod run as the user that the chart names, with a volume of its own, and secrets as the kubelet mounts
// them.
func (p *pods) asItsUser(n *pod) {
	p.t.Helper()
	uid, gid := int(*n.user.RunAsUser), int(*n.user.RunAsGroup)
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	volume := filepath.Join(p.dir, n.name)
	err := errors.Join(os.Chmod(filepath.Dir(p.binary), 0o755), os.Chmod(filepath.Dir(filepath.Dir(p.binary)), 0o755),
		os.Chmod(filepath.Dir(p.dir), 0o755), os.Chmod(p.dir, 0o755), os.MkdirAll(volume, 0o700),
		os.Chown(volume, uid, gid))
	if err == nil {
		err = filepath.WalkDir(filepath.Join(p.dir, "secrets"), func(path string, d os.DirEntry, err error) error {
			switch {
			case errors.Is(err, os.ErrNotExist): // it runs without secrets
				return nil
			case err != nil:
				return err
			case d.IsDir():
				return os.Chmod(path, 0o755)
			}
			return errors.Join(os.Chown(path, 0, int(*n.user.FSGroup)), os.Chmod(path, 0o440))
		})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// restart is what a rolling update does to one pod.
func (p *pods) restart(n *pod) {
	p.t.Helper()
	if err := errors.Join(n.cmd.Process.Signal(syscall.SIGTERM), n.cmd.Wait()); err != nil {
		p.t.Fatalf("%s: %v", n.name, err)
	}
	p.start(n)
	p.ready(n)
}

// ready waits for what the kubelet waits for.
func (p *pods) ready(n *pod) {
	p.t.Helper()
	p.until(n.name+" is ready", func() bool {
		return p.probe(n, n.container.StartupProbe) && p.probe(n, n.container.LivenessProbe) &&
			p.probe(n, n.container.ReadinessProbe)
	})
}

// probe asks as the kubelet does, which trusts any certificate.
func (p *pods) probe(n *pod, probe *corev1.Probe) bool {
	var port string
	for _, c := range n.container.Ports {
		if c.Name == probe.HTTPGet.Port.StrVal {
			port = n.ports[fmt.Sprint(c.ContainerPort)]
		}
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	res, err := client.Get(strings.ToLower(string(probe.HTTPGet.Scheme)) + "://127.0.0.1:" + port + probe.HTTPGet.Path)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (p *pods) until(what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("in a minute: not %s", what)
		}
	}
}

// exec runs a command in a pod, as kubectl exec does.
func (p *pods) exec(n *pod, secret string, args ...string) (string, error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.binary, args...)
	cmd.Env = p.environment(n)
	if secret != "" {
		cmd.Env = append(cmd.Env, "TURNLOG_USER=ops", "TURNLOG_PASSWORD="+secret)
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// build builds turnlog.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "turnlog")
	out, err := exec.Command("go", "-C", "../..", "build", "-o", binary, "./cmd/turnlog").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", args, err, problems.String())
	}
	return strings.TrimSpace(string(out))
}

// The pods of the chart, with users and certificates, become a cluster, whose learners join as the notes say, and go on
// while they are restarted one by one.
func TestPodsAreACluster(t *testing.T) {
	binary, dir := build(t), t.TempDir()
	m := parse(t, render(t, secure...))
	voters, learners := m.sets["memory-turnlog"], m.sets["memory-turnlog-learner"]
	secret := secrets(t, binary, dir, voters, learners)
	p := run(t, binary, dir, voters, learners)
	first := p.byName["memory-turnlog-0"]
	for i := range *voters.Spec.Replicas {
		p.ready(p.byName[fmt.Sprintf("memory-turnlog-%d", i)])
	}
	if out, err := p.exec(first, secret, "append", "chat", "hello"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i := range *learners.Spec.Replicas {
		n := p.byName[fmt.Sprintf("memory-turnlog-learner-%d", i)]
		if p.probe(n, n.container.ReadinessProbe) {
			t.Errorf("%s is ready before it is a member", n.name)
		}
		p.until(n.name+" is a learner", func() (done bool) { // an election meanwhile is no reason to fail
			out, err := p.exec(first, secret, "cluster", "join", n.name, p.domain(n)+":7381", "--learner")
			if err != nil && !strings.Contains(out, "UNAVAILABLE") && !strings.Contains(out, "UNKNOWN_OUTCOME") &&
				!strings.Contains(out, "EXISTS") {
				t.Fatalf("%v: %s", err, out)
			}
			return err == nil || strings.Contains(out, "EXISTS")
		})
		p.ready(n)
	}
	for _, n := range p.byName {
		p.restart(n)
		if out, err := p.exec(n, secret, "read", "chat", "--raw"); err != nil || out != "hello" {
			t.Fatalf("%s: %v: %s", n.name, err, out)
		}
	}
	p.until("healthy", func() bool {
		out, err := p.exec(first, secret, "cluster", "health")
		return err == nil && strings.HasPrefix(out, "healthy: 5 nodes, 2 of them learners")
	})
	if out, err := p.exec(first, "", "read", "chat"); err == nil {
		t.Errorf("without a user: %s", out)
	}
}

// secrets makes what the four secrets of the chart hold, by turnlog's own commands, and returns the secret of a user.
func secrets(t *testing.T, binary, dir string, sets ...*appsv1.StatefulSet) string {
	t.Helper()
	for _, name := range []string{"tls", "node-tls", "users", "cluster"} {
		if err := os.MkdirAll(filepath.Join(dir, "secrets", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "secrets", "cluster", "cluster.secret")
	if err := os.WriteFile(file, []byte(strings.Repeat("a test's ", 8)), 0o600); err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1", "*.memory-turnlog-nodes.agents.svc.cluster.local"}
	for _, s := range sets {
		for i := range *s.Spec.Replicas {
			hosts = append(hosts, fmt.Sprintf("%s-%d", s.Name, i))
		}
	}
	command(t, dir, binary, "cert", "ca")
	args := []string{"cert", "node", "all"}
	for _, h := range hosts {
		args = append(args, "--host", h)
	}
	command(t, dir, binary, args...)
	for _, name := range []string{"tls", "node-tls"} {
		for to, from := range map[string]string{"tls.crt": "all.crt", "tls.key": "all.key", "ca.crt": "ca.crt"} {
			err := copyFile(filepath.Join(dir, "secrets", name, to), filepath.Join(dir, "certs", from))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return command(t, dir, binary, "user", "add", "ops", "--right", "admin", "--allow-namespace", "*",
		"--file", filepath.Join(dir, "secrets", "users", "users.yaml"))
}

// A port that is promised to a pod is promised to no other, and no connection takes it before the pod listens on it.
func TestPortsOfPods(t *testing.T) {
	given := map[string]bool{}
	for range 400 {
		port := reserve(t)
		if given[port] {
			t.Errorf("%s is promised twice", port)
		}
		given[port] = true
		if n, err := strconv.Atoi(port); err != nil || n >= 32_768 {
			t.Errorf("%s may become the port of an outgoing connection", port)
		}
	}
}

// Without users and certificates the pods are a cluster, too.
func TestPodsWithoutUsers(t *testing.T) {
	m := parse(t, render(t, insecure...))
	p := run(t, build(t), t.TempDir(), m.sets["memory-turnlog"])
	for _, n := range p.byName {
		p.ready(n)
	}
	first := p.byName["memory-turnlog-0"]
	if out, err := p.exec(first, "", "append", "chat", "hello"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.until("healthy", func() bool {
		out, err := p.exec(first, "", "cluster", "health")
		return err == nil && strings.HasPrefix(out, "healthy: 3 nodes")
	})
}
