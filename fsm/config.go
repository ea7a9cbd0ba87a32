package fsm

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/turn"
)

// Config is what a Machine needs. Only Dir is required.
type Config struct {
	Dir string // must exist; the state is kept in Dir/state.db
	// FlushBytes is how much change, roughly in bytes of memory, is gathered at most
	// before it is flushed to the store. Default 32 MiB. Each flush begins somewhere
	// in the last third before, so that the nodes of a cluster, which all apply
	// the same, do not keep flushing at the same time: while one is busy with its
	// disk, a majority is not. While a flush is under
	// way as much again may gather; then Apply waits. As much again is kept of the
	// flush before, for reads.
	FlushBytes int
	// FlushInterval bounds how long a change waits for its flush. Default 1 minute.
	FlushInterval time.Duration
	// WindowBytes bounds the memory of the id windows. Default 32 MiB.
	WindowBytes int
	// MappedBytes is how much of the state file may stay in the process's page
	// tables, where it counts as resident memory. Default 64 MiB.
	MappedBytes int
	// CacheBytes bounds the memory of blocks of messages that were read recently.
	// Default 16 MiB; negative: none are kept.
	CacheBytes int
	// ReadBytes bounds the payload of one answer; in transactions
	// the default does. Default turn.Limits.ReadBytes.
	ReadBytes int
	Logger    *slog.Logger // default: slog.Default()
	// OnFlush, if set, is called after each flush with what it took.
	OnFlush func(FlushStats)
	// OnDamage, if set, is called when stored data is found to be damaged, once until it
	// is replaced. It must not wait, nor call the Machine. The owner must then
	// replace the state. If it is not set, damage that halts the machine ends it.
	OnDamage func(error)
	// Damaged, if set, is damage that is known from before: the machine opens halted.
	Damaged error
	Rand    func() float64 // in [0, 1); default: math/rand/v2

	disk           store.Disk // default: the operating system's
	blockFileBytes int64      // default: that of blockfile
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
