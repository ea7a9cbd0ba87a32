// Package badstores holds memory stores that are wrong in ways that have lost real
// conversations, so that the contract suite can show that it notices. Each is a
// correct store with one defect, and names the case that is there to catch it.
//
// They are anti-patterns kept on purpose: do not mend them.
package badstores

import (
	"context"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// Bad is a store with a defect.
type Bad struct {
	Name   string
	Defect string   // what it does wrong, as its owner would only find out later
	Caught string   // the case, as gate/name, that is there to catch it
	Also   []string // further cases that are there for this defect

	wrap func(h *memory.Handle) contract.Store // a handle of the bad store
	// per, if set, replaces wrap where all handles share something bad.
	per func() func(h *memory.Handle) contract.Store
	// disk, if set, replaces wrap where something survives a restart.
	disk func(s *memory.Server) (wrap func(h *memory.Handle) contract.Store, restart func(context.Context) error)
	// ByChance: the defect shows only if a process is killed at the right moment.
	ByChance bool
	// shared, if set, is the store itself, without its directory.
	shared *Shared
}

// All lists them.
func All() []Bad {
	return []Bad{
		{Name: "read-modify-write", Caught: "concurrency/many-handles", Also: []string{"concurrency/one-handle", "concurrency/first-turn"},
			Defect: "append reads the whole list, adds to it and writes it back", per: readModifyWrite},
		{Name: "shared-buffer", Caught: "isolation/same-instant", Also: []string{"concurrency/many-sessions"},
			Defect: "one object holds the current session, for all conversations", wrap: sharedBuffer},
		{Name: "process-memory", Caught: "restart/stop", Also: []string{"restart/kill"},
			Defect: "everything lives in the process", wrap: correct},
		{Name: "forgets-clears", Caught: "restart/cleared-stays-cleared",
			Defect: "only saves are written to disk, so that a restart brings back what was cleared", disk: forgets("clear", "trim", "delete", "pop")},
		{Name: "write-behind", Caught: "sequential/saved-means-saved",
			Defect: "save returns before it has written", wrap: writeBehind},
		{Name: "swallows-errors", Caught: "faults/load-cut", Also: []string{"faults/load-error-answer", "faults/flapping"},
			Defect: "a load that failed is an empty history", wrap: swallowsLoad},
		{Name: "false-success", Caught: "faults/save-cut-before", Also: []string{"faults/save-error-answer", "retry/request-lost"},
			Defect: "a save that failed is logged and reported as done", wrap: swallowsSave},
		{Name: "drops-ids", Caught: "retry/same-ids", Also: []string{"retry/reply-lost"},
			Defect: "ids are dropped, so that a retry doubles the turn", wrap: dropsIDs},
		{Name: "hidden-retry", Caught: "faults/hidden-retries",
			Defect: "the client library sends again by itself, without ids", wrap: hiddenRetry},
		{Name: "ttl-not-refreshed", Caught: "edges/ttl-refreshed",
			Defect: "only the first save sets the end of the session", per: refreshedIf(never)},
		{Name: "ttl-early", Caught: "edges/ttl-not-early",
			Defect: "the end of the session is rounded down", wrap: ttlBy(half)},
		{Name: "latin-1", Caught: "edges/latin1", Also: []string{"edges/unicode"},
			Defect: "text is stored as Latin-1, other letters become question marks", wrap: latin1},
		{Name: "trims-space", Caught: "edges/white-space",
			Defect: "white space at the ends is trimmed", wrap: trimsSpace},
		{Name: "loses-nul", Caught: "edges/control-bytes",
			Defect: "NUL bytes are dropped", wrap: losesNUL},
		{Name: "repairs-utf8", Caught: "edges/invalid-utf8", Also: []string{"edges/lone-surrogates"},
			Defect: "what is no valid UTF-8 is replaced", wrap: repairsUTF8},
		{Name: "normalises", Caught: "edges/not-normalised",
			Defect: "letters are composed before they are stored", wrap: normalises},
		{Name: "millisecond-order", Caught: "sequential/same-millisecond",
			Defect: "messages are sorted by their time in milliseconds", wrap: millisecondOrder},
		{Name: "loses-tool-calls", Caught: "sequential/tool-fields",
			Defect: "only role and content are stored", wrap: losesToolCalls},
		{Name: "one-by-one", Caught: "concurrency/turns-whole",
			Defect: "the messages of a turn are saved one after another", wrap: oneByOne},
		{Name: "stale-replica", Caught: "concurrency/linearizable", Also: []string{"concurrency/own-writes"},
			Defect: "loads are answered by a replica that lags behind", wrap: staleReplica},
		{Name: "check-then-act", Caught: "conflict/one-winner", Also: []string{"conflict/one-founder"},
			Defect: "the condition is checked first, and the append made later", wrap: checkThenAct},
		{Name: "folds-keys", Caught: "isolation/similar-keys",
			Defect: "session keys are compared without case and white space", wrap: keysBy(fold)},
		{Name: "pattern-clear", Caught: "isolation/clear-one",
			Defect: "clear takes the key as a pattern", wrap: patternClear},
		{Name: "reading-cache", Caught: "sequential/second-handle",
			Defect: "a handle caches the history that it has read", wrap: readingCache},
		{Name: "limit-1000", Caught: "edges/long-history",
			Defect: "loads stop after a thousand messages", wrap: limited(1000, 0, 0)},
		{Name: "dedups-content", Caught: "edges/same-text-twice",
			Defect: "a message whose text is there already is taken for a retry", wrap: dedupsContent},
		{Name: "forgets-pops", Caught: "restart/popped-stays-popped",
			Defect: "a pop is not written to disk, so that a restart undoes it", disk: forgets("pop")},
		{Name: "forgets-trims", Caught: "restart/trimmed-stays-trimmed",
			Defect: "a trim is not written to disk, so that a restart undoes it", disk: forgets("trim")},
		{Name: "forgets-deletes", Caught: "restart/deleted-stays-deleted",
			Defect: "a deletion is not written to disk, so that a restart undoes it", disk: forgets("delete")},
		{Name: "reencodes-arguments", Caught: "sequential/tool-numbers",
			Defect: "the arguments of tool calls are parsed and written again, and large numbers lose digits", wrap: reencodesArguments},
		{Name: "system-first", Caught: "sequential/later-system",
			Defect: "system messages are moved to the front", wrap: systemFirst},
		{Name: "splits-letters", Caught: "edges/long-letters",
			Defect: "text is stored in chunks of 64 KiB, and a letter between two of them is lost", wrap: splitsLetters},
		{Name: "ttl-300ms-early", Caught: "edges/ttl-not-early",
			Defect: "sessions end 300 ms before their time", wrap: ttlBy(early)},
		{Name: "ttl-late-refresh", Caught: "edges/ttl-refreshed-late",
			Defect: "a save in the last 300 ms of a session does not move its end", per: refreshedIf(beforeTheSweep)},
		{Name: "ttl-rare-refresh", Caught: "edges/ttl-refreshed-at-once",
			Defect: "a save within 300 ms of another one does not move the end", per: refreshedIf(nowAndThen)},
		{Name: "cuts-keys-300", Caught: "isolation/long-keys",
			Defect: "session keys are cut at 300 bytes", wrap: keysBy(cutAt300)},
		{Name: "cuts-keys-nul", Caught: "isolation/key-ends",
			Defect: "session keys end at the first NUL", wrap: keysBy(cutAtNUL)},
		{Name: "chomps-keys", Caught: "isolation/key-ends",
			Defect: "line ends at the end of a session key are dropped", wrap: keysBy(chomp)},
		{Name: "cleans-paths", Caught: "isolation/key-paths",
			Defect: "session keys are cleaned as paths", wrap: keysBy(cleanPath)},
		{Name: "folds-beyond-ascii", Caught: "isolation/key-case",
			Defect: "letters beyond ASCII are compared without case", wrap: keysBy(foldBeyondASCII)},
		{Name: "list-100", Caught: "sequential/long-list",
			Defect: "a list of sessions stops after the first page, of a hundred", wrap: limited(0, 0, 100)},
		{Name: "limit-2000", Caught: "edges/long-history",
			Defect: "loads stop after two thousand messages", wrap: limited(2000, 0, 0)},
		{Name: "turn-128", Caught: "edges/large-turn",
			Defect: "a turn is cut after 128 messages", wrap: limited(0, 128, 0)},
		{Name: "async-cache", Caught: "sequential/async-load",
			Defect: "asynchronous loads have a cache of their own", wrap: cachesAsync},
		{Name: "async-clear-later", Caught: "sequential/async-clear",
			Defect: "an asynchronous clear is reported as done when it has begun", wrap: clearsLater},
		{Name: "async-shared", Caught: "isolation/same-instant-async",
			Defect: "asynchronous loads keep the current session in one place", wrap: sharesAsync},
		{Name: "async-swallows-errors", Caught: "faults/async-load-cut", Also: []string{"faults/async-clear-cut"},
			Defect: "an asynchronous load or clear that failed reports no error", wrap: swallowsAsync(anyError)},
		{Name: "async-swallows-answers", Caught: "faults/async-load-cut", Also: []string{"faults/async-clear-cut"},
			Defect: "an error that the server answers to an asynchronous load or clear is dropped", wrap: swallowsAsync(anAnswer)},
		{Name: "unreadable-is-empty", Caught: "faults/unreadable-row",
			Defect: "a history with a row that cannot be read is empty", wrap: unreadable(none)},
		{Name: "skips-unreadable", Caught: "faults/unreadable-row",
			Defect: "rows that cannot be read are left out", wrap: unreadable(others)},
		{Name: "pool-false-save", Caught: "faults/pool-exhausted",
			Defect: "a save that gets no connection is logged and reported as done", wrap: withPool(true, false)},
		{Name: "pool-leaks", Caught: "faults/pool-exhausted",
			Defect: "a call that fails does not return its connection to the pool", wrap: withPool(false, true)},
		{Name: "orphaned-lock", Caught: "restart/blue-green",
			Defect: "a process that is killed leaves its lock behind", ByChance: true, shared: &Shared{Locks: true}},
		{Name: "process-buffer", Caught: "restart/blue-green",
			Defect: "saves are collected in the process, and lost with it", ByChance: true, shared: &Shared{Collects: true}},
		{Name: "keeps-slices", Caught: "isolation/caller-keeps-slice",
			Defect: "the caller's slices are stored and handed out without a copy", per: keepsSlices},
	}
}

// Target returns a new store with the defect.
func (b *Bad) Target() contract.Target {
	if b.shared != nil {
		return sharedTarget(b.Name, &Shared{Locks: b.shared.Locks, Collects: b.shared.Collects})
	}
	server := memory.New()
	t := server.Target()
	t.Name = b.Name
	wrap := b.wrap
	switch {
	case b.per != nil:
		wrap = b.per()
	case b.disk != nil:
		var restart func(context.Context) error
		wrap, restart = b.disk(server)
		t.Restarts = []contract.Restart{{Kind: contract.CanStop, Do: restart}}
	}
	t.Open = func(context.Context) (contract.Store, error) { return wrap(server.Open()), nil }
	t.Line = func(context.Context) (contract.Line, error) { return &line{server.Line(), wrap}, nil }
	return t
}

// line is a memory.Line whose handles are bad.
type line struct {
	*memory.Line
	wrap func(*memory.Handle) contract.Store
}

func (l *line) Open(context.Context) (contract.Store, error) { return l.wrap(l.Handle()), nil }

func correct(h *memory.Handle) contract.Store { return h }
