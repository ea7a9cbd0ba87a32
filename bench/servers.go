package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
)

// Servers are stores that the benchmark started on this machine.
type Servers struct {
	processes []*process
	resp      []string // addresses for clients, of the node or master first
}

// Stop ends them.
func (s *Servers) Stop() {
	for _, p := range s.processes {
		p.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, p := range s.processes {
		p.stop()
	}
}

// Processes returns the process ids.
func (s *Servers) Processes() []int {
	var ids []int
	for _, p := range s.processes {
		ids = append(ids, p.cmd.Process.Pid)
	}
	return ids
}

// StartTurnlog starts a cluster of turnlog with its data in dir. flags are
// further flags for each node.
func StartTurnlog(ctx context.Context, binary, dir string, nodes int, flags ...string) (_ *Servers, err error) {
	addrs, err := freePorts(3 * nodes)
	if err != nil {
		return nil, err
	}
	s := &Servers{resp: addrs[:nodes]}
	http, raft := addrs[nodes:2*nodes], addrs[2*nodes:]
	var cluster []string
	for i := range nodes {
		cluster = append(cluster, fmt.Sprintf("n%d=%s", i+1, raft[i]))
	}
	for i := range nodes {
		id := fmt.Sprintf("n%d", i+1)
		args := append([]string{"serve", "--node-id", id, "--data-dir", filepath.Join(dir, id), "--resp-addr", s.resp[i],
			"--http-addr", http[i], "--raft-addr", raft[i], "--initial-cluster", strings.Join(cluster, ",")}, flags...)
		p, err := startProcess(dir, id, binary, args...)
		if err != nil {
			s.Stop()
			return nil, err
		}
		s.processes = append(s.processes, p)
	}
	err = until(ctx, s.processes, func(ctx context.Context) error {
		for _, addr := range s.resp {
			if _, err := ask(ctx, addr, "TURN.INFO", "ready?"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("starting turnlog: %w", err)
	}
	return s, nil
}

// Leader is a turnlog cluster as its leader's clients see it.
func (s *Servers) Leader(ctx context.Context) (Target, error) { return s.member(ctx, true) }

// Follower is a turnlog cluster as clients of another node see it.
func (s *Servers) Follower(ctx context.Context) (Target, error) { return s.member(ctx, false) }

func (s *Servers) member(ctx context.Context, leader bool) (Target, error) {
	v, err := ask(ctx, s.resp[0], "TURN.CLUSTER")
	if err != nil {
		return Target{}, err
	}
	var c struct {
		Nodes []struct{ Role, RESPAddr string }
	}
	if err := json.Unmarshal(v.Str, &c); err != nil {
		return Target{}, fmt.Errorf("TURN.CLUSTER: %w", err)
	}
	for _, n := range c.Nodes {
		if (n.Role == "leader") == leader {
			return Target{Protocol: Turnlog, Addrs: []string{n.RESPAddr}, Processes: s.Processes()}, nil
		}
	}
	return Target{}, errors.New("the turnlog cluster has no leader at the moment")
}

// StartRedis starts a redis-server that syncs its log before it answers, and
// replicas that do the same. Neither snapshots nor rewrites of the log disturb it.
func StartRedis(ctx context.Context, binary, dir string, replicas int) (_ *Servers, err error) {
	s := &Servers{}
	if s.resp, err = freePorts(1 + replicas); err != nil {
		return nil, err
	}
	for i, addr := range s.resp {
		_, port, _ := strings.Cut(addr, ":")
		name := fmt.Sprintf("redis-%s", port)
		args := []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--appendonly", "yes", "--appendfsync", "always",
			"--appenddirname", name, "--dbfilename", name + ".rdb", "--save", "", "--auto-aof-rewrite-percentage", "0"}
		if i > 0 {
			_, master, _ := strings.Cut(s.resp[0], ":")
			args = append(args, "--replicaof", "127.0.0.1 "+master)
		}
		p, err := startProcess(dir, name, binary, args...)
		if err != nil {
			s.Stop()
			return nil, err
		}
		s.processes = append(s.processes, p)
	}
	if err := until(ctx, s.processes, s.replicated); err != nil {
		s.Stop()
		return nil, fmt.Errorf("starting redis-server: %w", err)
	}
	return s, nil
}

// replicated says nil when all replicas have all data.
func (s *Servers) replicated(ctx context.Context) error {
	if _, err := ask(ctx, s.resp[0], "SET", "ready?", "yes"); err != nil {
		return err
	}
	replicas := len(s.resp) - 1
	v, err := ask(ctx, s.resp[0], "CONFIG", "GET", "appendfsync")
	if err != nil {
		return err
	}
	if len(v.Elems) != 2 || string(v.Elems[1].Str) != "always" {
		return errors.New("redis-server does not sync its log")
	}
	conn, err := ask(ctx, s.resp[0], "INFO", "replication")
	if err != nil {
		return err
	}
	if n := strings.Count(string(conn.Str), "state=online"); n < replicas {
		return fmt.Errorf("%d of %d replicas are online", n, replicas)
	}
	return nil
}

// Master is a redis-server as its clients see it, which wait for so many replicas.
func (s *Servers) Master(replicas int) Target {
	return Target{Protocol: Redis, Addrs: s.resp[:1], Replicas: replicas, Processes: s.Processes()}
}
