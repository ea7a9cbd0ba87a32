// Package disk is a disk that fails as real disks do: a file system in this process, on top of an
// ordinary folder, that remembers what was not synced. It can lose that, return errors, be slow, or be
// full.
//
// It needs Linux, /dev/fuse and the right to mount.
package disk

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
)

// Op is an operation that can be made to fail.
type Op string

const (
	Read  Op = "read"
	Write Op = "write"
	Sync  Op = "sync"
)

// Faults are the faults of a disk. The zero value is a healthy disk.
type Faults struct {
	// SyncDelay is how much longer each sync takes.
	SyncDelay time.Duration
	// Fail makes the next operation of that kind, on a file whose path contains Path, return EIO. What
	// a failed sync was to write never reaches the disk, though it can be read back until the power is
	// cut.
	Fail Op
	Path string
	// Lies: syncs succeed at once, and nothing becomes durable by them.
	Lies bool
	// Flip makes the next read, of a file whose path contains Path, return a wrong bit.
	Flip bool
	// Short makes the next read, of a file whose path contains Path, end halfway, and all that
	// follow end there, as if the file did.
	Short bool
	// Full: nothing that takes space succeeds. Low: there is little left.
	Full, Low bool
}

const lowBytes = 16 << 20

// Set sets the faults of the disk.
func (d *Disk) Set(f Faults) { d.fault.Store(&state{Faults: f}) }

// Failed returns the path of the file on which an operation was made to fail, or of
// which too little or a wrong bit was read, since Set; "" if none was.
func (d *Disk) Failed() string {
	if path := d.fault.Load().failed.Load(); path != nil {
		return *path
	}
	return ""
}

func (d *Disk) isOff() bool {
	select {
	case <-d.off:
		return true
	default:
		return false
	}
}

// fails reports whether this operation has to, which is so once for each Set: one
// that begins before the next Set and ends after it counts for the former.
func (d *Disk) fails(op Op, path string) bool {
	f := d.fault.Load()
	return f.Fail == op && d.once(f, path)
}

// flips is fails for Faults.Flip.
func (d *Disk) flips(path string) bool {
	f := d.fault.Load()
	return f.Flip && d.once(f, path)
}

// shortened returns how much of n bytes that were read at off is passed on: see Faults.Short.
func (d *Disk) shortened(path string, off int64, n int) int {
	f := d.fault.Load()
	switch {
	case !f.Short:
		return n
	case n > 1 && d.once(f, path):
		f.end.Store(off + int64(n/2))
	case f.failed.Load() == nil || *f.failed.Load() != path:
		return n
	}
	return int(max(0, min(int64(n), f.end.Load()-off)))
}

func (d *Disk) once(f *state, path string) bool {
	return strings.Contains(path, f.Path) && f.failed.CompareAndSwap(nil, &path)
}

// Loss says how much of what was not synced a power cut destroys.
type Loss int

const (
	Everything Loss = iota
	// Some: each sector by itself, changes of folders from some moment on.
	Some
)

// faults are those of a Disk, which any request looks at.
type faults struct{ fault atomic.Pointer[state] }

// state is what has been wrong since a Set.
type state struct {
	Faults
	failed atomic.Pointer[string]
	end    atomic.Int64 // of what is read of the file that failed, with Short
}

// fate decides what a power cut does to each thing that was not synced.
type fate struct {
	loss   Loss
	random *rand.Rand
}

func newFate(loss Loss, seed uint64) fate {
	return fate{loss: loss, random: rand.New(rand.NewPCG(seed, 17))}
}

func (f fate) keeps() bool { return f.loss == Some && f.random.IntN(2) == 0 }
