package fsm

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/turn"
)

// Config configures a Machine. Only Dir is required.
type Config struct {
	Dir string // must exist; the state is kept in Dir/state.db
	// FlushBytes bounds the changes, in approximate bytes of memory, that are collected before they are
	// flushed to the store. Default 32 MiB. Each flush begins at a random point in the last third
	// before that bound, so that the nodes of a cluster, which all apply the same entries, do not flush
	// at the same time: while one is busy with its disk, a majority is not. While a flush runs, the
	// same amount may be collected again; after that, Apply waits. The changes of the previous flush
	// are kept, too, for reads.
	FlushBytes int
	// FlushInterval bounds how long a change waits for its flush. Default 1 minute.
	FlushInterval time.Duration
	// WindowBytes bounds the memory of the id windows. Default 32 MiB.
	WindowBytes int
	// MappedBytes bounds how much of the state file may stay in the process's page tables, where it
	// counts as resident memory. Default 64 MiB.
	MappedBytes int
	// CacheBytes bounds the memory of blocks of messages that were read recently.
	// Default 16 MiB; negative: none are kept.
	CacheBytes int
	// BlockFileBytes is the size at which a file of messages is full. To be emptied on a full disk, it needs room for
	// up to three quarters of that. Default 64 MiB.
	BlockFileBytes int64
	// ReadBytes bounds the payload of one answer; in transactions
	// the default does. Default turn.Limits.ReadBytes.
	ReadBytes int
	Logger    *slog.Logger // default: slog.Default()
	// OnFlush, if set, is called after each flush with its statistics.
	OnFlush func(FlushStats)
	// OnDamage, if set, is called when stored data is found to be damaged, once until the state is
	// replaced. It must neither block nor call the Machine. The owner must then replace the state. If
	// OnDamage is not set, damage that halts the machine ends it.
	OnDamage func(error)
	// Damaged, if set, is damage that is already known: the machine opens halted.
	Damaged error
	Rand    func() float64 // in [0, 1); default: math/rand/v2

	disk store.Disk // default: the operating system's
}

func (c Config) withDefaults() Config {
	if c.FlushBytes <= 0 {
		c.FlushBytes = 32 << 20
	}
	if c.FlushInterval <= 0 {
		c.FlushInterval = time.Minute
	}
	if c.WindowBytes <= 0 {
		c.WindowBytes = 32 << 20
	}
	if c.MappedBytes <= 0 {
		c.MappedBytes = 64 << 20
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = 16 << 20
	}
	if c.ReadBytes <= 0 {
		c.ReadBytes = turn.DefaultLimits().ReadBytes
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.disk == nil {
		c.disk = store.OSDisk{OS: vfs.OS{EarlyWriteback: true}}
	}
	return c
}
