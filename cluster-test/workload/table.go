package workload

import (
	"math"
	"slices"
)

// All returns the table of all workloads.
func All() []*Workload { return slices.Concat(growing(), shrinking(), special()) }

// growing are workloads of sessions from which nothing is removed.
func growing() []*Workload {
	return []*Workload{
		{Name: "append", About: "appends and reads, with and without ids, through every API",
			APIs: []string{HTTP, Native, Client, RESP}, Sessions: 4, Calls: 400, Next: appendOrRead},
		{Name: "pipeline",
			About: "up to 200 appends and reads of two lists at a time, on one connection, without waiting for answers",
			APIs:  []string{RESP}, Sessions: 4, Calls: 600, Pipeline: 200, Next: pipelined},
		{Name: "window",
			About: "appends that are repeated later, some before the session has 1,024 more messages and some after",
			APIs:  []string{HTTP, Native}, Sessions: 2, Calls: 1200, Next: repeated},
		{Name: "cas", About: "read, then append if nothing changed meanwhile",
			APIs: []string{HTTP, Native, Client}, Sessions: 3, Calls: 300, Next: conditional},
		{Name: "turns", About: "appends of many messages, small reads in between",
			APIs: []string{HTTP, Native, RESP}, Sessions: 3, Calls: 80, Next: manyMessages},
		{Name: "large", About: "appends and reads, a few of up to 8 MiB, which is the most that a message can have",
			APIs: []string{HTTP, Native}, Sessions: 1, Calls: 400, Next: large},
		{Name: "tail", About: "appends, and subscribers that must see each message once",
			APIs: []string{HTTP, Native}, Sessions: 2, Calls: 300, Tailers: 2, Next: shortAppend},
		{Name: "namespaces", About: "the same keys in three namespaces",
			APIs: []string{HTTP, Native, RESP}, Namespaces: []string{"0", "1", "tenant-a"},
			Sessions: 3, Calls: 200, Next: appendOrRead},
		{Name: "stale", About: "appends, and reads that may show the past, up to some age or any",
			APIs: []string{HTTP, Native}, Sessions: 3, Calls: 300, Next: staleReads},
		{Name: "ranges", About: "appends, reads by time, and reads that keep tool calls with their results",
			APIs: []string{HTTP, Native}, Sessions: 2, Calls: 200, Timed: true, Next: selected},
	}
}

// shrinking are workloads of sessions that lose messages, or all of them.
func shrinking() []*Workload {
	return []*Workload{
		{Name: "mixed",
			About: "append, pop, trim, replace, clear, delete and read in one session, also as a Redis list",
			APIs:  []string{HTTP, Native, RESP}, Sessions: 3, Calls: 40, Unknowns: 3, Removes: true, Next: mixed},
		{Name: "tail-trim", About: "subscribers of sessions from which messages are removed",
			APIs: []string{HTTP, Native}, Sessions: 2, Calls: 60, Unknowns: 3, Removes: true, Tailers: 2,
			Next: trimming},
		{Name: "tail-delete", About: "subscribers of sessions that are deleted, and begin again at once",
			APIs: []string{HTTP, Native}, Sessions: 2, Calls: 60, Unknowns: 3, Removes: true, Tailers: 4,
			Next: restarting},
		{Name: "queue",
			About: "a Redis list as a queue: pushes, and clients that block until there is something for them, at " +
				"either end",
			APIs: []string{RESP}, Sessions: 3, Calls: 60, Unknowns: 3, Removes: true, Next: queue},
		{Name: "ttl", About: "sessions that expire, renewed by appends", APIs: []string{HTTP, Native},
			Sessions: 4, Calls: 25, Unknowns: 3, TTLs: []int64{300, 1000, 2500}, Next: expiring},
		// So many that some are left alone for as long as they live.
		{Name: "ttl-long", About: "the same, with longer times", APIs: []string{HTTP, Native},
			Sessions: 200, Calls: 20, Unknowns: 3, TTLs: []int64{4000, 8000}, Next: expiring},
	}
}

// special are workloads that are not appends and reads of single sessions.
func special() []*Workload {
	return []*Workload{
		{Name: "publish",
			About: "up to 60 messages at a time, published at all nodes, and subscribers of their channels, by name " +
				"and by pattern",
			APIs: []string{RESP}, Sessions: 2, Calls: 2000, Pipeline: 60, Listeners: 6, Next: publish},
		{Name: "values",
			About: "lists, hashes, sets, sorted sets, streams and strings of Redis, by all that changes them",
			APIs:  []string{VALUES}, Sessions: 6, Calls: 40, Unknowns: 3, Next: command,
			Values: []string{"list", "hash", "set", "zset", "stream", "string"}},
		{Name: "forks",
			About: "sessions that are forked, described, given deadlines, deleted and erased, three at a time",
			APIs:  []string{VALUES}, Sessions: 3, Calls: 50, Unknowns: 3, Next: command, Values: []string{"session"}},
		{Name: "renames",
			About: "sessions that are renamed, also over one another, while they are written, with metadata and if " +
				"they exist, three at a time",
			APIs: []string{VALUES}, Sessions: 3, Calls: 50, Unknowns: 3, Next: command, Values: []string{"renamed"}},
		{Name: "edits", About: "messages that are edited and removed, by seq and by id, while appends are repeated",
			APIs: []string{VALUES}, Sessions: 3, Calls: 50, Unknowns: 3, Next: command, Values: []string{"edited"}},
		{Name: "labels", About: "sessions that get labels, change, are forked and deleted, and are listed by their " +
			"labels",
			APIs: []string{VALUES}, Sessions: 3, Calls: 50, Unknowns: 3, Next: command, Values: []string{"labelled"}},
		{Name: "sets", About: "sets that are combined into one another, and renamed, three at a time",
			APIs: []string{VALUES}, Sessions: 3, Calls: 50, Unknowns: 3, Next: command, Values: []string{"sets"}},
		{Name: "tx", About: "MULTI and EXEC over four keys that must agree, half of them under WATCH",
			APIs: []string{TX}, Sessions: 2, Calls: 200, Next: transaction},
		{Name: "whole",
			About: "transactions over two sessions and a hash that must agree, sent again by their ids, some on " +
				"condition of all three",
			APIs: []string{WHOLE}, Sessions: 2, Calls: 200, Next: wholeTransaction},
		{Name: "moves",
			About: "items that transactions put, move between three sessions by all steps there are, and rewrite, " +
				"sent again by their ids, also long after",
			APIs: []string{MOVES, MOVESHTTP}, Sessions: 3, Calls: 50, Unknowns: 3, Next: moving,
			Values: []string{"moved"}},
	}
}

// Pair is two workers that answer in one session: each reads it and appends on
// condition that nothing has changed since, so many rounds.
func Pair(rounds int) *Workload {
	return &Workload{Name: "pair", About: "two workers, one session, each append conditional",
		APIs: []string{HTTP, Native}, Sessions: 1, Calls: math.MaxInt, Rounds: rounds, Next: readThenAppend}
}

// ByName returns the workload of that name, nil if there is none.
func ByName(name string) *Workload {
	all := All()
	if i := slices.IndexFunc(all, func(w *Workload) bool { return w.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}
