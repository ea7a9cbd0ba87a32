package bench

import "fmt"

// The contestants of the standard table.
const (
	ViaLeader   = "turnlog, leader"
	ViaFollower = "turnlog, follower"
	RedisSync   = "redis, fsync always"
	RedisWait   = "redis + 2 replicas, WAIT 1"
	Etcd        = "etcd, 3 nodes"
)

// Goal is a ratio of throughputs that turnlog is meant to reach.
type Goal struct {
	Workload     string
	Clients      int
	Who, Against string
	AtLeast      float64
}

// Goals are those of the standard table.
func Goals() []Goal {
	return []Goal{
		{"append", 1, ViaLeader, RedisWait, 1.3},
		{"append", 16, ViaLeader, RedisWait, 1.5},
		{"append", 64, ViaLeader, RedisWait, 2},
		{"append", 256, ViaLeader, RedisWait, 2},
		{"append", 64, ViaLeader, RedisSync, 1},
		{"append", 256, ViaLeader, RedisSync, 1},
		{"append", 16, ViaLeader, Etcd, 5},
		{"append", 64, ViaLeader, Etcd, 5},
		{"append", 256, ViaLeader, Etcd, 5},
		{"read", 1, ViaLeader, RedisSync, 0.4},
		{"read", 64, ViaLeader, RedisSync, 0.6},
		{"read", 1, ViaFollower, RedisSync, 0.2},
		{"read", 64, ViaFollower, RedisSync, 0.3},
		{"chat", 16, ViaLeader, RedisSync, 1},
		{"chat", 64, ViaLeader, RedisSync, 1},
	}
}

// The processor time of all three nodes per 10,000 appends at 64 clients, in seconds.
const (
	processorClients = 64
	processorGoal    = 0.5
)

// Verdict is what became of a goal.
type Verdict struct {
	Goal     string  `json:"goal"`
	Wanted   float64 `json:"wanted"`
	Measured float64 `json:"measured"`
	Met      bool    `json:"met"`
}

func (v Verdict) String() string {
	if v.Met {
		return "met"
	}
	if v.Measured == 0 {
		return "was not measured"
	}
	return fmt.Sprintf("falls short by %.0f %%", 100*abs(v.Wanted-v.Measured)/v.Wanted)
}

func abs(f float64) float64 { return max(f, -f) }

// Judge compares what was measured with the goals; goals whose contest was not
// held are left out.
func Judge(all []*Series) []Verdict {
	var verdicts []Verdict
	for _, s := range all {
		for _, g := range Goals() {
			if g.Workload != s.Workload || g.Clients != s.Clients {
				continue
			}
			r := s.Ratio(g.Who, g.Against)
			if r == 0 {
				continue
			}
			verdicts = append(verdicts, Verdict{
				Goal: fmt.Sprintf("%s, %d clients: %s ≥ %.4g × %s", g.Workload, g.Clients, g.Who, g.AtLeast,
					g.Against),
				Wanted: g.AtLeast, Measured: r, Met: r >= g.AtLeast,
			})
		}
		if s.Workload == "append" && s.Clients == processorClients {
			used := s.Of(ViaLeader).CPU
			verdicts = append(verdicts, Verdict{
				Goal: fmt.Sprintf("append, %d clients: processor time of all nodes ≤ %.4g s per 10,000",
					processorClients, processorGoal),
				Wanted: processorGoal, Measured: used, Met: used > 0 && used <= processorGoal,
			})
		}
	}
	return verdicts
}
