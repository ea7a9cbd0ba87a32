package badstores

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// wholeDefects are what comes apart of changes that belong together.
var wholeDefects = []Bad{
	{Name: "half-transactions", Caught: "conflict/transaction-refused",
		Defect: "the changes of a transaction before one that is refused stay", build: eachHandle(stepByStep(0))},
	{Name: "unlocked-transactions", Caught: "conflict/transactions-at-once",
		Defect: "the changes of a transaction are made one after another", build: eachHandle(stepByStep(hop))},
	{Name: "forgets-transactions", Caught: "conflict/transaction-retried",
		Defect: "a transaction that is sent again takes place again", build: allHandles(forgetsTransactions)},
	{Name: "loses-fields", Caught: "conflict/transaction",
		Defect: "transactions change sessions alone, and no state", build: eachHandle(losesFields)},
	{Name: "overwrites-state", Caught: "sequential/state",
		Defect: "the state under a key is written whole", build: eachHandle(overwritesState)},
	{Name: "small-state", Caught: "sequential/large-state",
		Defect: "a field of a state is cut after 16 KiB", build: eachHandle(smallState)},
	{Name: "overwrites-metadata", Caught: "sequential/metadata",
		Defect: "metadata that comes with a turn replaces what there was", build: allHandles(overwritesMetadata)},
	{Name: "makes-sessions", Caught: "sequential/must-exist",
		Defect: "a turn for a session that must exist makes one", build: eachHandle(makesSessions)},
	{Name: "two-reads", Caught: "concurrency/metadata-of-the-moment",
		Defect: "metadata is read after the messages", build: eachHandle(twoReads)},
}

// stepwise makes the changes of a transaction one by one, and waits in between.
type stepwise struct {
	*memory.Handle
	pause time.Duration
}

func stepByStep(pause time.Duration) wrapper {
	return func(h *memory.Handle) contract.Store { return stepwise{h, pause} }
}

func (s stepwise) Transact(ctx context.Context, id string, changes ...contract.Change) error {
	for i, c := range changes {
		if err := s.Handle.Transact(ctx, fmt.Sprint(id, "-", i), c); err != nil {
			return err
		}
		time.Sleep(s.pause)
	}
	return nil
}

// unaware takes every transaction for a new one.
type unaware struct {
	*memory.Handle
	sent *atomic.Uint64
}

func forgetsTransactions() wrapper {
	sent := new(atomic.Uint64)
	return func(h *memory.Handle) contract.Store { return unaware{h, sent} }
}

func (s unaware) Transact(ctx context.Context, id string, changes ...contract.Change) error {
	return s.Handle.Transact(ctx, fmt.Sprint(id, "-", s.sent.Add(1)), changes...)
}

// sessionsOnly leaves states out of transactions.
type sessionsOnly struct{ *memory.Handle }

func losesFields(h *memory.Handle) contract.Store { return sessionsOnly{h} }

func (s sessionsOnly) Transact(ctx context.Context, id string, changes ...contract.Change) error {
	return s.Handle.Transact(ctx, id, slices.DeleteFunc(slices.Clone(changes),
		func(c contract.Change) bool { return len(c.Fields) > 0 })...)
}

// wholeState writes states whole.
type wholeState struct{ *memory.Handle }

func overwritesState(h *memory.Handle) contract.Store { return wholeState{h} }

func (s wholeState) SetState(ctx context.Context, key string, fields map[string]string) error {
	if err := s.Delete(ctx, key); err != nil {
		return err
	}
	return s.Handle.SetState(ctx, key, fields)
}

// narrow keeps the fields of states where metadata has room.
type narrow struct{ *memory.Handle }

func smallState(h *memory.Handle) contract.Store { return narrow{h} }

func (s narrow) SetState(ctx context.Context, key string, fields map[string]string) error {
	cut := maps.Clone(fields)
	for name, value := range cut {
		cut[name] = value[:min(len(value), 16<<10)]
	}
	return s.Handle.SetState(ctx, key, cut)
}

// replacing shows of the metadata only what came last.
type replacing struct {
	*memory.Handle
	last *sync.Map // metadata by session
}

func overwritesMetadata() wrapper {
	last := new(sync.Map)
	return func(h *memory.Handle) contract.Store { return replacing{h, last} }
}

func (s replacing) AddWith(ctx context.Context, session string, metadata map[string]string, mustExist bool,
	turn ...contract.Message) error {
	s.last.Store(session, metadata)
	return s.Handle.AddWith(ctx, session, metadata, mustExist, turn...)
}

func (s replacing) LoadWith(ctx context.Context, session string) ([]contract.Message, map[string]string, error) {
	ms, _, err := s.Handle.LoadWith(ctx, session)
	metadata, _ := s.last.Load(session)
	last, _ := metadata.(map[string]string)
	return ms, last, err
}

// eager makes the session that must exist.
type eager struct{ *memory.Handle }

func makesSessions(h *memory.Handle) contract.Store { return eager{h} }

func (s eager) AddWith(ctx context.Context, session string, metadata map[string]string, _ bool,
	turn ...contract.Message) error {
	return s.Handle.AddWith(ctx, session, metadata, false, turn...)
}

// twice reads messages and metadata one after the other.
type twice struct{ *memory.Handle }

func twoReads(h *memory.Handle) contract.Store { return twice{h} }

func (s twice) LoadWith(ctx context.Context, session string) ([]contract.Message, map[string]string, error) {
	ms, err := s.Load(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	time.Sleep(hop)
	_, metadata, err := s.Handle.LoadWith(ctx, session)
	return ms, metadata, err
}
