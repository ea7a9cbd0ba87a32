package main

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/server/redis"
	"github.com/turnlog/turnlog/raftstore"
	"github.com/turnlog/turnlog/turn"
)

// registerMetrics adds what the node, the Redis server and Go's runtime count to
// what the HTTP server registers by itself.
func registerMetrics(r *prometheus.Registry, node *raftstore.Node, server *redis.Server, d *descriptors.Budget) error {
	return errors.Join(
		r.Register(collectors.NewGoCollector()),
		r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
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

// collector is a function that writes metrics when they are asked for.
type collector func(sink)

// Describe announces nothing: what is written depends on what happened.
func (collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(ch chan<- prometheus.Metric) { c(ch) }

func nodeMetrics(out sink, s raftstore.Stats) {
	out.counter("calls_total", "Writes that this node was asked for.", float64(s.Calls))
	out.counter("calls_overloaded_total", "Writes that were refused because too many were in flight.",
		float64(s.CallsOverloaded))
	out.counter("calls_retried_total", "Writes that were sent again after a change of leader.", float64(s.CallsRetried))
	out.counter("calls_unknown_total", "Writes whose outcome could not be told.", float64(s.OutcomesUnknown))
	out.counter("calls_unavailable_total", "Writes that failed for lack of a leader.", float64(s.OutcomesUnavailable))
	out.counter("broadcasts_dropped_total",
		"Messages to another node that were dropped because it leaves them unanswered.", float64(s.BroadcastsDropped))
	out.gauge("calls_under_way", "Writes that wait for their outcome.", float64(s.CallsUnderWay))
	out.counter("entries_proposed_total", "Log entries proposed as the leader.", float64(s.Entries))
	out.counter("commands_proposed_total", "Writes in these entries.", float64(s.Commands))
	out.counter("entry_bytes_proposed_total", "Bytes of these entries.", float64(s.EntryBytes))
	out.counter("calls_forwarded_total", "Writes that were sent to the leader.", float64(s.Forwarded))
	out.counter("forward_batches_total", "Batches in which they were sent.", float64(s.ForwardBatches))
	out.counter("forward_resets_total", "Times at which forwarding had to begin again.", float64(s.ForwardResets))
	out.counter("read_rounds_total", "Rounds in which leadership was confirmed for reads.", float64(s.ReadRounds))
	out.counter("reads_confirmed_total", "Linearizable reads that these rounds served.", float64(s.ReadsServed))
	out.counter("queries_forwarded_total", "Queries that were sent to the leader.", float64(s.QueriesForwarded))
	out.counter("leader_changes_total", "Changes of leader that this node saw.", float64(s.LeaderChanges))
	out.counter("leadership_transfers_total", "Times at which this node handed leadership over.", float64(s.Transfers))
	out.counter("ticks_total", "Entries that this node proposed to let time pass.", float64(s.Ticks))
	out.counter("snapshots_taken_total", "Snapshots taken.", float64(s.SnapshotsTaken))
	out.counter("snapshot_seconds_total", "Time that these took, with the flush that each waits for.",
		s.SnapshotTime.Seconds())
	out.gauge("snapshot_last_end_timestamp_seconds", "When the last one was complete, in Unix time; 0: none was taken.",
		unixSeconds(s.SnapshotEnded))
	out.counter("flushes_total", "Flushes of the state to the state file.", float64(s.Flushes))
	out.counter("flush_seconds_total", "Time that these took.", s.FlushTime.Seconds())
	out.counter("flush_bytes_total", "Bytes of changes in them, as estimated in memory.", float64(s.FlushBytes))
	out.gauge("flush_last_end_timestamp_seconds", "When the last one was complete, in Unix time; 0: there was none.",
		unixSeconds(s.FlushEnded))
	out.counter("block_reads_total", "Blocks of messages that were needed to answer, beside the most recent changes.",
		float64(s.BlockReads))
	out.counter("block_cache_hits_total", "Of these, those that were in memory.", float64(s.BlocksCached))
	held := prometheus.NewDesc("turnlog_state_lock_seconds",
		"How long the state was locked at a time: against everything else for a change, against changes for a query.",
		[]string{"for"}, nil)
	out <- prometheus.MustNewConstHistogram(held, s.StateChanges.Count, s.StateChanges.Seconds,
		s.StateChanges.Buckets, "change")
	out <- prometheus.MustNewConstHistogram(held, s.StateQueries.Count, s.StateQueries.Seconds,
		s.StateQueries.Buckets, "query")
	out.counter("snapshots_installed_total", "Snapshots received from the leader.", float64(s.SnapshotsInstalled))
	out.counter("state_repairs_total", "Times that a damaged state was replaced by another node's.",
		float64(s.StateRepairs))
	out.counter("log_appends_total", "Synced appends to the log.", float64(s.LogAppends))
	out.counter("log_append_seconds_total", "Time that these took.", s.LogAppendTime.Seconds())
	out.gauge("applied_index", "Log index up to which the state machine has applied.", float64(s.Applied))
	out.gauge("durable_index", "Log index up to which the state is in the state file.", float64(s.Durable))
	out.gauge("log_first_index", "First index of the log.", float64(s.FirstIndex))
	out.gauge("log_last_index", "Last index of the log.", float64(s.LastIndex))
	out.gauge("cluster_level", "The cluster's level, as far as this node has applied it.", float64(s.Level))
	out.gauge("known_cluster_level", "The highest level that this node's version knows.", float64(turn.NewestLevel))
	out.gauge("read_only", "1 if writes that need space are rejected, for want of disk space on this node or others.",
		oneIf(s.ReadOnly))
	out.gauge("disk_short", "1 if this node's disk has less space than is kept in reserve.", oneIf(s.ShortOfSpace))
	out.gauge("disk_free_bytes", "Free space of this node's disk.", float64(s.FreeBytes))
}

func descriptorMetrics(out sink, d *descriptors.Budget) {
	out.gauge("descriptors_limit", "How many open files the process may have.", float64(d.Limit()))
	out.gauge("descriptors_reserved", "Of these, those that are kept for log, state and other nodes.",
		float64(d.Reserved()))
	out.gauge("descriptors_clients", "Of the others, those that connections of clients take.", float64(d.Taken()))
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
	out.gauge("resp_connections", "Open connections.", float64(m.Connections))
	out.counter("resp_connections_total", "Connections accepted.", float64(m.Accepted))
	out.counter("resp_connections_rejected_total", "Connections refused because too many were open.",
		float64(m.Rejected))
	out.counter("resp_received_bytes_total", "Bytes received.", float64(m.BytesReceived))
	out.counter("resp_sent_bytes_total", "Bytes sent.", float64(m.BytesSent))
	out.gauge("resp_receive_memory_bytes", "Memory held by large requests being received.", float64(m.ReceiveBytes))
	out.counter("resp_unknown_commands_total", "Requests for commands that do not exist.", float64(m.UnknownCommands))
	labels := []string{"command"}
	errors := prometheus.NewDesc("turnlog_resp_command_errors_total", "Commands answered with an error.", labels, nil)
	seconds := prometheus.NewDesc("turnlog_resp_command_seconds", "Time from reading a command to writing its reply.",
		labels, nil)
	for _, c := range m.Commands {
		out <- prometheus.MustNewConstMetric(errors, prometheus.CounterValue, float64(c.Errors), c.Name)
		buckets := make(map[float64]uint64, len(m.DurationBounds))
		sum := uint64(0)
		for i, bound := range m.DurationBounds {
			sum += c.Durations[i]
			buckets[bound] = sum
		}
		out <- prometheus.MustNewConstHistogram(seconds, c.Calls, c.Seconds, buckets, c.Name)
	}
}
