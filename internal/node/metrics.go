package node

import (
	"errors"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/turnlog/turnlog/internal/auth/certs"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/histogram"
	"github.com/turnlog/turnlog/internal/server/redis"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/raftstore"
	"github.com/turnlog/turnlog/turn"
)

// registerProcess adds what Go's runtime and the system count.
func registerProcess(r *prometheus.Registry) error {
	return errors.Join(
		r.Register(collectors.NewGoCollector()),
		r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	)
}

// registerMetrics adds what the node and the Redis server count to what the HTTP server
// registers by itself.
func registerMetrics(r *prometheus.Registry, node *raftstore.Node, server *redis.Server, d *descriptors.Budget,
	keys secrets, version string) error {
	return errors.Join(
		r.Register(collector(func(out sink) { buildMetrics(out, version) })),
		r.Register(collector(func(out sink) { certificateMetrics(out, keys) })),
		r.Register(collector(func(out sink) { nodeMetrics(out, node.Stats()) })),
		r.Register(collector(func(out sink) { descriptorMetrics(out, d) })),
		r.Register(collector(func(out sink) { redisMetrics(out, server.Metrics()) })),
	)
}

// sink takes metrics.
type sink chan<- prometheus.Metric

func (s sink) counter(name, help string, v float64) {
	s <- prometheus.MustNewConstMetric(prometheus.NewDesc("turnlog_"+name, help, nil, nil), prometheus.CounterValue, v)
}

func (s sink) gauge(name, help string, v float64) {
	s <- prometheus.MustNewConstMetric(prometheus.NewDesc("turnlog_"+name, help, nil, nil), prometheus.GaugeValue, v)
}

func (s sink) histogram(d *prometheus.Desc, r histogram.Report, labels ...string) {
	s <- prometheus.MustNewConstHistogram(d, r.Count, r.Seconds, r.Buckets, labels...)
}

// collector is a function that writes metrics when they are asked for.
type collector func(sink)

// Describe announces nothing: what is written depends on what happened.
func (collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(ch chan<- prometheus.Metric) { c(ch) }

func buildMetrics(out sink, version string) {
	info := prometheus.NewDesc("turnlog_build_info", "1; the labels tell which program the node runs.",
		[]string{"version", "goversion"}, nil)
	out <- prometheus.MustNewConstMetric(info, prometheus.GaugeValue, 1, version, runtime.Version())
}

func certificateMetrics(out sink, s secrets) {
	expiry := prometheus.NewDesc("turnlog_certificate_expiry_timestamp_seconds",
		"Unix time when the certificate that the node shows expires.", []string{"shown_to"}, nil)
	for to, store := range map[string]*certs.Store{"clients": s.clients, "nodes": s.nodes} {
		if store != nil {
			out <- prometheus.MustNewConstMetric(expiry, prometheus.GaugeValue, unixSeconds(store.Expires()), to)
		}
	}
}

func traceMetrics(out sink, s trace.Stats) {
	out.counter("trace_spans_exported_total", "Spans that the collector of traces took.", float64(s.Exported))
	out.counter("trace_spans_dropped_total", "Spans dropped because too many waited for the collector.",
		float64(s.Dropped))
	out.counter("trace_spans_failed_total", "Spans that the collector did not take.", float64(s.Failed))
}

func nodeMetrics(out sink, s raftstore.Stats) {
	writeMetrics(out, s)
	readMetrics(out, s)
	storageMetrics(out, s)
	stateMetrics(out, s)
	clusterMetrics(out, s)
	leaderMetrics(out, s.Leader)
}

func writeMetrics(out sink, s raftstore.Stats) {
	out.counter("writes_total", "Writes that clients of this node requested.", float64(s.Calls.Submitted))
	out.counter("writes_overloaded_total", "Writes rejected because too many were in flight.",
		float64(s.Calls.Overloaded))
	out.counter("writes_resent_total",
		"Writes sent again, under the same tags, after an attempt failed or the leader changed.",
		float64(s.Calls.Retries))
	out.counter("writes_unknown_outcome_total", "Writes that failed with an unknown outcome.",
		float64(s.Calls.Unknown))
	out.counter("writes_unavailable_total", "Writes that failed for lack of a leader, and did not take place.",
		float64(s.Calls.Unavailable))
	out.gauge("writes_in_flight", "Writes that wait for their outcome.", float64(s.Calls.InFlight))
	out.counter("proposed_entries_total", "Log entries that this node proposed as the leader.",
		float64(s.Proposed.Entries))
	out.counter("proposed_writes_total", "Writes in the proposed entries.", float64(s.Proposed.Commands))
	out.counter("proposed_bytes_total", "Bytes of the proposed entries.", float64(s.Proposed.Bytes))
	out.counter("forwarded_writes_total", "Writes that this node sent to the leader.", float64(s.Forwarded.Calls))
	out.counter("forwarded_batches_total", "Batches in which this node sent writes to the leader.",
		float64(s.Forwarded.Batches))
	out.counter("forward_resets_total", "How often forwarding to the leader had to start again.",
		float64(s.Forwarded.Resets))
}

func readMetrics(out sink, s raftstore.Stats) {
	out.counter("read_index_rounds_total", "Rounds of messages that confirmed leadership for linearizable reads.",
		float64(s.Reads.Rounds))
	out.counter("read_index_reads_total", "Linearizable reads that shared these rounds.", float64(s.Reads.Served))
	out.counter("forwarded_reads_total", "Reads that this node sent to the leader.", float64(s.Reads.Forwarded))
	out.counter("block_reads_total", "Blocks of stored messages that reads needed.",
		float64(s.State.BlockReads))
	out.counter("block_cache_hits_total", "Block reads answered from memory.", float64(s.State.BlocksCached))
	held := prometheus.NewDesc("turnlog_state_lock_duration_seconds",
		"How long the state was locked at a time: exclusively for a change, shared for a query.",
		[]string{"for"}, nil)
	out.histogram(held, s.State.Changes, "change")
	out.histogram(held, s.State.Queries, "query")
}

func storageMetrics(out sink, s raftstore.Stats) {
	out.counter("snapshots_taken_total", "Snapshots taken.", float64(s.Snapshots.Taken))
	out.counter("snapshot_seconds_total", "Time spent taking snapshots, including the flush that each waits for.",
		s.Snapshots.Time.Seconds())
	out.gauge("snapshot_last_success_timestamp_seconds", "Unix time when the last snapshot was completed; 0: none yet.",
		unixSeconds(s.Snapshots.Ended))
	out.counter("flushes_total", "Flushes of the state to the state file.", float64(s.Flushes.Count))
	out.counter("flush_seconds_total", "Time spent flushing.", s.Flushes.Time.Seconds())
	out.counter("flush_bytes_total", "Bytes of changes flushed, as estimated in memory.", float64(s.Flushes.Bytes))
	out.gauge("flush_last_success_timestamp_seconds", "Unix time when the last flush was completed; 0: none yet.",
		unixSeconds(s.Flushes.Ended))
	out.histogram(prometheus.NewDesc("turnlog_log_append_duration_seconds",
		"Time of an append to the write-ahead log, its sync included.", nil, nil), s.Log.Appends)
	out.gauge("log_first_index", "First index in the write-ahead log.", float64(s.Log.First))
	out.gauge("log_last_index", "Last index in the write-ahead log.", float64(s.Log.Last))
	out.gauge("read_only", "1 if writes that need space are rejected, because disks are full here or on other nodes.",
		oneIf(s.Disk.ReadOnly))
	out.gauge("disk_below_reserve", "1 if this node's disk has less free space than the reserve.",
		oneIf(s.Disk.Short))
	out.gauge("disk_free_bytes", "Free space of this node's disk.", float64(s.Disk.Free))
}

func stateMetrics(out sink, s raftstore.Stats) {
	out.gauge("applied_index", "Log index up to which entries are applied.", float64(s.State.Applied))
	out.gauge("durable_index", "Log index up to which the state file includes the entries.", float64(s.State.Durable))
	out.gauge("cluster_time_seconds", "Cluster time of the last entry applied, as Unix time. Where it is less than on "+
		"the leader, the node is behind.", float64(s.State.Clock)/1e3)
	out.gauge("wall_clock_seconds", "The wall clock of this node's machine, as Unix time.", unixSeconds(time.Now()))
	out.gauge("keys", "Sessions, and Redis's values of other types, in all namespaces.", float64(s.State.Keys))
	out.gauge("state_damaged", "1 if the state is damaged, and was not repaired yet.", oneIf(s.State.Damaged))
}

func leaderMetrics(out sink, s raftstore.LeaderStats) {
	role := prometheus.NewDesc("turnlog_role", "1 for the role that the node has, 0 for the others.",
		[]string{"role"}, nil)
	for _, r := range raftstore.Roles() {
		out <- prometheus.MustNewConstMetric(role, prometheus.GaugeValue, oneIf(r == s.Role), r)
	}
	out.gauge("leader_known", "1 if the node knows which node leads.", oneIf(s.Known))
	out.gauge("raft_term", "Raft's term, as far as the node knows.", float64(s.Term))
	out.gauge("commit_index", "Log index up to which the node knows entries to be committed.", float64(s.Committed))
	out.gauge("voters", "Members that count for a majority, as far as the node knows.", float64(s.Voters))
	out.gauge("learners", "Members without a vote, as far as the node knows.", float64(s.Learners))
	zone := prometheus.NewDesc("turnlog_zone_info", "1; the label tells where the node is, by its setting zone.",
		[]string{"zone"}, nil)
	out <- prometheus.MustNewConstMetric(zone, prometheus.GaugeValue, 1, s.Zone)
	out.gauge("leader_preference", "How much the node is preferred as the leader; 0: not at all.",
		float64(s.Preference))
	out.gauge("other_members", "Members of the cluster besides the node.", float64(s.Others))
	out.gauge("other_members_connected", "Members that the node's requests reach, besides itself.",
		float64(s.Connected))
}

func clusterMetrics(out sink, s raftstore.Stats) {
	out.gauge("cluster_level", "The cluster's level, as far as this node has applied it.", float64(s.Level))
	out.gauge("supported_cluster_level", "The highest cluster level that this node's version supports.",
		float64(turn.NewestLevel))
	out.counter("leader_changes_total", "Changes of the leader that this node noticed.", float64(s.Leader.Changes))
	out.counter("leadership_transfers_total", "How often this node transferred leadership.",
		float64(s.Leader.Transfers))
	out.counter("ticks_total", "Log entries that this node proposed as an idle leader, so that keys expire.",
		float64(s.Leader.Ticks))
	out.counter("snapshots_installed_total", "Snapshots received from a leader and installed.",
		float64(s.Snapshots.Installed))
	out.counter("state_repairs_total", "How often a damaged state was replaced by another node's.",
		float64(s.State.Repairs))
	out.counter("publish_dropped_total",
		"Published messages not sent to another node, because it did not answer earlier ones.",
		float64(s.BroadcastsDropped))
}

func descriptorMetrics(out sink, d *descriptors.Budget) {
	out.gauge("descriptors_limit", "File descriptors that the process may have open.", float64(d.Limit()))
	out.gauge("descriptors_reserved", "File descriptors reserved for log, state and other nodes.",
		float64(d.Reserved()))
	out.gauge("descriptors_clients", "File descriptors in use by client connections.", float64(d.Taken()))
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

func redisMetrics(out sink, m redis.Metrics) {
	out.gauge("resp_connections", "Open Redis connections.", float64(m.Connections))
	out.counter("resp_connections_total", "Redis connections accepted.", float64(m.Accepted))
	out.counter("resp_connections_rejected_total", "Redis connections rejected because too many were open.",
		float64(m.Rejected))
	out.counter("resp_received_bytes_total", "Bytes received from Redis clients.", float64(m.BytesReceived))
	out.counter("resp_sent_bytes_total", "Bytes sent to Redis clients.", float64(m.BytesSent))
	out.gauge("resp_reply_memory_bytes", "Memory of Redis replies that are not written yet.", float64(m.ReplyBytes))
	out.gauge("resp_receive_memory_bytes", "Memory of large Redis requests being received.", float64(m.ReceiveBytes))
	out.counter("resp_unknown_commands_total", "Redis requests for unknown commands.", float64(m.UnknownCommands))
	labels := []string{"command"}
	errors := prometheus.NewDesc("turnlog_resp_command_errors_total", "Redis commands that failed with an error reply.",
		labels, nil)
	seconds := prometheus.NewDesc("turnlog_resp_command_duration_seconds",
		"Time from reading a command to writing its reply.", labels, nil)
	for _, c := range m.Commands {
		out <- prometheus.MustNewConstMetric(errors, prometheus.CounterValue, float64(c.Errors), c.Name)
		out.histogram(seconds, c.Durations, c.Name)
	}
}
