package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/bench/target"
)

// Servers are a redis-server, perhaps with replicas, that the benchmark started on
// this machine.
type Servers struct {
	processes
	resp []string // addresses for clients, of the master first
}

// StartRedis starts a redis-server that syncs its log before it answers, and
// replicas that do the same. Neither snapshots nor rewrites of the log disturb it.
func StartRedis(ctx context.Context, binary, dir string, replicas int) (_ *Servers, err error) {
	s := &Servers{}
	if s.resp, err = s.ports.Addrs(1 + replicas); err != nil {
		s.Stop()
		return nil, err
	}
	for i, addr := range s.resp {
		_, port, _ := strings.Cut(addr, ":")
		name := fmt.Sprintf("redis-%s", port)
		args := []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--appendonly", "yes",
			"--appendfsync", "always",
			"--appenddirname", name, "--dbfilename", name + ".rdb", "--save", "", "--auto-aof-rewrite-percentage", "0"}
		if i > 0 {
			_, master, _ := strings.Cut(s.resp[0], ":")
			args = append(args, "--replicaof", "127.0.0.1 "+master)
		}
		if err := s.start(dir, name, binary, args...); err != nil {
			s.Stop()
			return nil, err
		}
	}
	if err := s.until(ctx, s.replicated); err != nil {
		s.Stop()
		return nil, fmt.Errorf("starting redis-server: %w", err)
	}
	return s, nil
}

// replicated says nil when all replicas have all that the master has.
func (s *Servers) replicated(ctx context.Context) error {
	conn, err := dialCommands(ctx, s.resp[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	v, err := conn.ask("CONFIG", "GET", "appendfsync")
	if err != nil {
		return err
	}
	if len(v.Elems) != 2 || string(v.Elems[1].Str) != "always" {
		return errors.New("redis-server does not sync its log")
	}
	if _, err := conn.ask("SET", "ready?", "yes"); err != nil {
		return err
	}
	replicas := len(s.resp) - 1
	if v, err = conn.ask("WAIT", strconv.Itoa(replicas), "1000"); err == nil && v.Int < int64(replicas) {
		err = fmt.Errorf("%d of %d replicas have all data", v.Int, replicas)
	}
	return err
}

// Master is a redis-server as its clients see it, which wait for so many replicas.
func (s *Servers) Master(replicas int) target.Target {
	return target.Target{Protocol: target.Redis, Addrs: s.resp[:1], Replicas: replicas, Processes: s.pids()}
}
