package redis

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// section is a part of INFO.
type section struct {
	name  string
	write func(ctx context.Context, b *strings.Builder)
	extra bool // only if asked for
}

// sections are what a user may see of them.
func (s *Server) sections(user *auth.User) []section {
	return []section{
		{name: "Server", write: s.infoServer},
		{name: "Clients", write: s.infoClients},
		{name: "Memory", write: s.infoMemory},
		{name: "Persistence", write: s.infoPersistence},
		{name: "Stats", write: s.infoStats},
		{name: "Replication", write: s.infoReplication},
		{name: "CPU", write: s.infoCPU},
		{name: "Modules", write: func(context.Context, *strings.Builder) {}},
		{name: "Commandstats", write: s.infoCommands, extra: true},
		{name: "Cluster", write: func(_ context.Context, b *strings.Builder) { line(b, "cluster_enabled", 0) }},
		{name: "Keyspace", write: func(ctx context.Context, b *strings.Builder) { s.infoKeyspace(ctx, b, user) }},
		{name: "Turnlog", write: s.infoTurnlog},
	}
}

func line(b *strings.Builder, name string, value any) { fmt.Fprintf(b, "%s:%v\r\n", name, value) }

// info is INFO [section …]. It answers without a leader, too: clients ask for it
// to find out whether the server is there. In a transaction it tells of the moment at
// which the reply to EXEC is written.
func info(c *conn, args [][]byte) command.Action {
	var wanted []string
	for _, a := range args[1:] {
		wanted = append(wanted, strings.ToLower(string(a)))
	}
	user := c.who.user
	if c.tx.Open() {
		return command.Reply(func(w *resp.Writer) { w.Verbatim("txt", c.srv.describe(c.srv.work, wanted, user)) })
	}
	return command.Alone(func(ctx context.Context) (command.Reply, error) {
		text := c.srv.describe(ctx, wanted, user)
		return func(w *resp.Writer) { w.Verbatim("txt", text) }, nil
	})
}

// describe writes the sections that are wanted, of what a user may see.
func (s *Server) describe(ctx context.Context, wanted []string, user *auth.User) string {
	standard := len(wanted) == 0 || slices.Contains(wanted, "default")
	all := slices.Contains(wanted, "all") || slices.Contains(wanted, "everything")
	var b strings.Builder
	for _, section := range s.sections(user) {
		if !all && !(standard && !section.extra) && !slices.Contains(wanted, strings.ToLower(section.name)) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + section.name + "\r\n")
		section.write(ctx, &b)
	}
	return b.String()
}

func (s *Server) port() string {
	if s.cfg.Listener == nil {
		return "0"
	}
	_, port, _ := net.SplitHostPort(s.cfg.Listener.Addr().String())
	return port
}

func (s *Server) infoServer(_ context.Context, b *strings.Builder) {
	up := int64(s.cfg.Now().Sub(s.started) / time.Second)
	line(b, "redis_version", redisVersion)
	line(b, "redis_mode", "standalone")
	line(b, "os", runtime.GOOS+" "+runtime.GOARCH)
	line(b, "arch_bits", strconv.IntSize)
	line(b, "process_id", os.Getpid())
	line(b, "run_id", s.runID)
	line(b, "tcp_port", s.port())
	line(b, "server_time_usec", s.cfg.Now().UnixMicro())
	line(b, "uptime_in_seconds", up)
	line(b, "uptime_in_days", up/86400)
}

func (s *Server) infoClients(_ context.Context, b *strings.Builder) {
	line(b, "connected_clients", s.conns.count())
	line(b, "maxclients", s.admission.Size())
	line(b, "blocked_clients", s.blocked.Load())
}

func (s *Server) infoMemory(_ context.Context, b *strings.Builder) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	line(b, "used_memory", m.HeapAlloc)
	line(b, "used_memory_human", fmt.Sprintf("%.2fM", float64(m.HeapAlloc)/(1<<20)))
	line(b, "used_memory_rss", m.Sys-m.HeapReleased)
	line(b, "maxmemory", 0)
	line(b, "maxmemory_policy", "noeviction")
	line(b, "mem_allocator", "go")
}

// infoPersistence says what is always so: nothing is loaded while connections are
// accepted, and every acknowledged write is on disk.
func (s *Server) infoPersistence(_ context.Context, b *strings.Builder) {
	line(b, "loading", 0)
	line(b, "async_loading", 0)
	line(b, "rdb_bgsave_in_progress", 0)
	line(b, "rdb_last_bgsave_status", "ok")
	line(b, "aof_enabled", 1)
	line(b, "aof_rewrite_in_progress", 0)
	line(b, "aof_last_write_status", "ok")
}

func (s *Server) infoStats(_ context.Context, b *strings.Builder) {
	line(b, "total_connections_received", s.stats.accepted.Load())
	line(b, "total_commands_processed", s.stats.calls())
	line(b, "total_net_input_bytes", s.wires.Received.Load())
	line(b, "total_net_output_bytes", s.wires.Sent.Load())
	line(b, "rejected_connections", s.stats.rejected.Load())
	line(b, "evicted_keys", 0)
	channels, patterns := s.hub.Sizes()
	line(b, "pubsub_channels", channels)
	line(b, "pubsub_patterns", patterns)
}

// infoReplication calls every node a master: each takes writes.
func (s *Server) infoReplication(_ context.Context, b *strings.Builder) {
	line(b, "role", "master")
	line(b, "connected_slaves", 0)
	line(b, "master_failover_state", "no-failover")
	line(b, "master_replid", s.runID)
	line(b, "master_repl_offset", 0)
}

// infoCPU tells of the whole process.
func (s *Server) infoCPU(_ context.Context, b *strings.Builder) {
	for _, of := range []struct {
		suffix string
		who    int
	}{{"", unix.RUSAGE_SELF}, {"_children", unix.RUSAGE_CHILDREN}} {
		var used unix.Rusage
		if unix.Getrusage(of.who, &used) != nil {
			continue
		}
		line(b, "used_cpu_sys"+of.suffix, fmt.Sprintf("%.6f", time.Duration(used.Stime.Nano()).Seconds()))
		line(b, "used_cpu_user"+of.suffix, fmt.Sprintf("%.6f", time.Duration(used.Utime.Nano()).Seconds()))
	}
}

func (s *Server) infoCommands(_ context.Context, b *strings.Builder) {
	for _, c := range s.Metrics().Commands {
		calls, usec := c.Durations.Count, uint64(c.Durations.Seconds*1e6)
		line(b, "cmdstat_"+c.Name, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=0,failed_calls=%d",
			calls, usec, float64(usec)/float64(calls), c.Errors))
	}
}

func (s *Server) infoKeyspace(ctx context.Context, b *strings.Builder, user *auth.User) {
	for _, db := range command.Numbered() {
		if !user.MayTouchAll(db, "") {
			continue
		}
		r, err := s.engine.Query(ctx, &turn.Count{Namespace: db}, turn.Consistency{Level: turn.Stale})
		if turn.Is(err, turn.Unavailable) {
			return // nor is any other namespace known here
		}
		if err == nil && r.Count > 0 {
			line(b, "db"+db, fmt.Sprintf("keys=%d,expires=0,avg_ttl=0", r.Count))
		}
	}
}

func (s *Server) infoTurnlog(_ context.Context, b *strings.Builder) {
	ok, reasons := s.engine.Ready()
	line(b, "turnlog_version", s.cfg.Version)
	line(b, "node_id", s.cfg.NodeID)
	line(b, "cluster_level", s.engine.Level())
	line(b, "ready", ok)
	line(b, "not_ready_because", strings.Join(reasons, "; "))
}
