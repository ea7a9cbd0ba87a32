package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/turnlog/turnlog/internal/bench/target"
)

// etcdCluster is a cluster of three etcd nodes, with their defaults, that the
// benchmark started on this machine.
type etcdCluster struct {
	processes
	program string // that puts load on it
	addrs   []string
}

// etcdServer is looked up in PATH.
const etcdServer = "etcd"

// etcdQuota is how large etcd's database may become, in bytes: more than the 2 GB
// after which it refuses to write by default.
const etcdQuota = 8 << 30

// startEtcd starts the cluster, with its data in dir.
func startEtcd(ctx context.Context, program, dir string) (_ *etcdCluster, err error) {
	c := &etcdCluster{program: program}
	defer func() {
		if err != nil {
			c.Stop()
			err = fmt.Errorf("starting etcd: %w", err)
		}
	}()
	const nodes = 3
	addrs, err := c.ports.Addrs(2 * nodes)
	if err != nil {
		return nil, err
	}
	c.addrs = addrs[:nodes]
	var members []string
	for i, peer := range addrs[nodes:] {
		members = append(members, fmt.Sprintf("etcd-%d=http://%s", i+1, peer))
	}
	for i, addr := range c.addrs {
		name, peer, _ := strings.Cut(members[i], "=")
		err := c.start(dir, name, etcdServer, "--name", name, "--data-dir", filepath.Join(dir, name),
			"--listen-client-urls", "http://"+addr, "--advertise-client-urls", "http://"+addr,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(members, ","), "--quota-backend-bytes", fmt.Sprint(etcdQuota))
		if err != nil {
			return nil, err
		}
	}
	return c, c.until(ctx, func(ctx context.Context) error {
		for _, addr := range c.addrs {
			if _, err := etcdLeads(ctx, addr); err != nil {
				return err
			}
		}
		return nil
	})
}

// leader is the cluster as its leader's clients see it: requests to other nodes
// would take longer.
func (c *etcdCluster) leader(ctx context.Context) (target.Target, error) {
	for _, addr := range c.addrs {
		leads, err := etcdLeads(ctx, addr)
		if err != nil {
			return target.Target{}, err
		}
		if leads {
			return target.Target{Program: c.program, Addrs: []string{addr}, Processes: c.pids()}, nil
		}
	}
	return target.Target{}, errors.New("the etcd cluster has no leader at the moment")
}

// etcdLeads reports whether a node leads; that it knows of no leader is an error.
func etcdLeads(ctx context.Context, addr string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/v3/maintenance/status",
		strings.NewReader("{}"))
	if err != nil {
		return false, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	var status struct {
		Header struct {
			Member string `json:"member_id"`
		}
		Leader string
	}
	if err := json.NewDecoder(res.Body).Decode(&status); err != nil {
		return false, fmt.Errorf("status of etcd at %s (%s): %w", addr, res.Status, err)
	}
	if cmp.Or(status.Leader, "0") == "0" {
		return false, fmt.Errorf("etcd at %s knows of no leader (%s)", addr, res.Status)
	}
	return status.Header.Member == status.Leader, nil
}
