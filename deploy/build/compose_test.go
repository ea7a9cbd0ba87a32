package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestCompose: Compose's own parser takes the file, and its three services, with its settings and its names, are a
// cluster.
func TestCompose(t *testing.T) {
	require(t)
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{WorkingDir: "../compose",
		ConfigFiles: types.ToConfigFiles([]string{"../compose/compose.yaml"}),
		Environment: types.Mapping{"TURNLOG_VERSION": "v1.0.0"}})
	if err != nil {
		t.Fatal(err)
	}
	names := project.ServiceNames()
	slices.Sort(names)
	hosts := "127.0.0.1 localhost\n"
	for i, name := range names {
		hosts += fmt.Sprintf("10.99.0.%d %s\n", i+1, name)
	}
	img, file := image(t)
	net := newNetwork(t)
	var nodes []*container
	for i, name := range names {
		service := project.Services[name]
		if service.Image != "turnlog:v1.0.0" {
			t.Errorf("%s: image %s", name, service.Image)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s, which is without users, is published at %q", name, port.HostIP)
			}
		}
		var env []string
		for key, value := range service.Environment {
			env = append(env, key+"="+*value)
		}
		nodes = append(nodes, startContainer(t, img, net, fmt.Sprintf("10.99.0.%d", i+1), env, hosts))
	}
	if len(nodes) != 3 {
		t.Fatalf("services %q", names)
	}
	check := strings.Join(file.Config.Healthcheck.Test[1:], " ")
	for _, c := range nodes {
		until(t, "the health check succeeds", func() bool { _, err := c.exec(check); return err == nil })
	}
	const all = " --timeout 30s --addr n1:7379,n2:7379,n3:7379"
	if out, err := nodes[0].exec("/turnlog append chat hello" + all); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	nodes[0].kill()
	if out, err := nodes[1].exec("/turnlog read chat" + all); err != nil || !strings.Contains(out, "hello") {
		t.Errorf("after n1 was killed: %v: %s", err, out)
	}
}
