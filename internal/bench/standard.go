package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// Standard is the comparison with redis-server on this machine: three nodes of
// turnlog, a redis-server that syncs, one with two replicas that all sync, and
// perhaps three nodes of etcd.
type Standard struct {
	Turnlog string // path of the turnlog binary
	Redis   string // path of redis-server; default: looked up
	Etcd    string // path of the program that puts load on etcd, see Perform; "": without etcd
	Dir     string // for the data of all servers; removed at the end; default: a temporary one
	Clients []int
	Rounds  int
	Config  Config // Clients is not used
	Flags   []string
	Profile bool // where the nodes spend processor time, in runs of their own
	// Begin is told of each run, Done of each contest; either may be nil. Say is
	// told what else is being done.
	Begin func(c *Contest, round int, contestant string, live *generator.Live)
	Done  func(*Series)
	Say   func(what string)
}

// Run starts the servers, fills them, holds all contests, and stops the servers.
func (b *Standard) Run(ctx context.Context) (all []*Series, profiles []*Profile, err error) {
	if b.Redis == "" {
		if b.Redis, err = exec.LookPath("redis-server"); err != nil {
			return nil, nil, fmt.Errorf("redis-server is needed to compare with: %w", err)
		}
	}
	dir, err := os.MkdirTemp(b.Dir, "turnlog-bench-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	b.Say("starting three nodes of turnlog, a redis-server, and another one with two replicas")
	cluster, err := StartTurnlog(ctx, b.Turnlog, dir, 3, b.Flags...)
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Close()
	single, err := StartRedis(ctx, b.Redis, dir, 0)
	if err != nil {
		return nil, nil, err
	}
	defer single.Stop()
	replicated, err := StartRedis(ctx, b.Redis, dir, 2)
	if err != nil {
		return nil, nil, err
	}
	defer replicated.Stop()
	who := map[string]Contestant{
		ViaLeader:   {ViaLeader, cluster.Leader},
		ViaFollower: {ViaFollower, cluster.Follower},
		RedisSync:   {RedisSync, func(context.Context) (target.Target, error) { return single.Master(0), nil }},
		RedisWait:   {RedisWait, func(context.Context) (target.Target, error) { return replicated.Master(1), nil }},
	}
	if b.Etcd != "" {
		b.Say("starting three nodes of etcd")
		etcd, err := startEtcd(ctx, b.Etcd, dir)
		if err != nil {
			return nil, nil, err
		}
		defer etcd.Stop()
		who[Etcd] = Contestant{Etcd, etcd.leader}
	}
	s := stage{b, who}
	if err := s.fill(ctx); err != nil {
		return nil, nil, err
	}
	if err := replicated.until(ctx, replicated.replicated); err != nil {
		return nil, nil, err
	}
	if all, err = s.contests(ctx); err == nil && b.Profile {
		profiles, err = s.profiles(ctx)
	}
	return all, profiles, err
}

// stage is a Standard whose servers run.
type stage struct {
	*Standard
	who map[string]Contestant // those that take part, by name
}

// fill gives every session as many messages as a read asks for.
func (s stage) fill(ctx context.Context) error {
	for _, name := range []string{ViaLeader, RedisSync, RedisWait, Etcd} {
		who, here := s.who[name]
		if !here {
			continue
		}
		t, err := who.Target(ctx)
		if err != nil {
			return err
		}
		t.Name = name
		s.Say(fmt.Sprintf("filling %d sessions: %s", s.Config.Sessions, name))
		cfg := s.Config
		cfg.Clients = 16
		if err := Fill(ctx, t, cfg, cfg.Last, new(generator.Live)); err != nil {
			return err
		}
	}
	return nil
}

func (s stage) contests(ctx context.Context) ([]*Series, error) {
	var all []*Series
	for _, row := range []struct {
		workload string
		names    []string
	}{
		{"append", []string{ViaLeader, ViaFollower, RedisSync, RedisWait, Etcd}},
		{"read", []string{ViaLeader, ViaFollower, RedisSync, Etcd}},
		{"chat", []string{ViaLeader, RedisSync, RedisWait}},
		{"tail", []string{ViaLeader, ViaFollower}},
	} {
		w, err := FindWorkload(row.workload)
		if err != nil {
			return all, err
		}
		for _, n := range s.Clients {
			c := &Contest{Workload: w, Config: s.Config, Rounds: s.Rounds, Begin: s.Begin}
			c.Config.Clients = n
			for _, name := range row.names {
				if who, here := s.who[name]; here {
					c.Contestants = append(c.Contestants, who)
				}
			}
			series, err := c.Hold(ctx)
			if err != nil {
				return all, fmt.Errorf("%s with %d clients: %w", row.workload, n, err)
			}
			all = append(all, series)
			if s.Done != nil {
				s.Done(series)
			}
		}
	}
	return all, nil
}

// profileRuns is how many times as long as a run a profile takes: samples are rare.
const profileRuns = 2

// profiles profiles the nodes while appends and reads go through the leader. These
// runs are not part of the contests, which they would disturb.
func (s stage) profiles(ctx context.Context) ([]*Profile, error) {
	var all []*Profile
	for _, name := range []string{"append", "read"} {
		w, err := FindWorkload(name)
		if err != nil {
			return nil, err
		}
		for _, n := range s.Clients {
			t, err := s.who[ViaLeader].Target(ctx)
			if err != nil {
				return nil, err
			}
			s.Say(fmt.Sprintf("profiling %s with %d clients", name, n))
			cfg := s.Config
			cfg.Clients = n
			cfg.Duration *= profileRuns
			p, err := Profiled(ctx, t, w, cfg, new(generator.Live))
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// Versions names the stores that turnlog was compared with, after Run.
func (b *Standard) Versions() string {
	programs := []string{b.Redis}
	if b.Etcd != "" {
		programs = append(programs, etcdServer)
	}
	for i, name := range programs {
		text, err := exec.Command(name, "--version").Output()
		if first, _, _ := strings.Cut(string(text), "\n"); err == nil {
			programs[i] = first
		}
	}
	return strings.Join(programs, "; ")
}

// Estimate estimates how long the contests take.
func (b *Standard) Estimate() time.Duration {
	runs := 4 + 3 + 3 + 2
	if b.Etcd != "" {
		runs += 2
	}
	n := runs * b.Rounds
	if b.Profile {
		n += 2 * profileRuns
	}
	return time.Duration(n*len(b.Clients)) * (b.Config.Duration + b.Config.WarmUp)
}
