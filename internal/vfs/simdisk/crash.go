package simdisk

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Change is one of the changes to a file or a folder that are not durable.
type Change struct {
	At     int   // its place among them, in the order in which they were made, from 0
	Write  int   // of a file: the unsynced write that it is a part of, from 0
	Sector int64 // of a file: the sector that it changes, or the last one of its new size
}

// Policy decides which of the unsynced changes to a file or a folder a power cut lets through.
type Policy struct {
	Name string
	keep func(n int, r *rand.Rand) func(Change) bool
}

// The policies. Sectors are the unit, so Prefix, Suffix and Subset tear writes.
var (
	LoseAll = Policy{"lose all", func(int, *rand.Rand) func(Change) bool {
		return func(Change) bool { return false }
	}}
	KeepAll = Policy{"keep all", func(int, *rand.Rand) func(Change) bool {
		return func(Change) bool { return true }
	}}
	KeepPrefix = Policy{"keep prefix", func(n int, r *rand.Rand) func(Change) bool {
		k := r.IntN(n + 1)
		return func(c Change) bool { return c.At < k }
	}}
	KeepSuffix = Policy{"keep suffix", func(n int, r *rand.Rand) func(Change) bool {
		k := r.IntN(n + 1)
		return func(c Change) bool { return c.At >= k }
	}}
	KeepSubset = Policy{"keep subset", func(_ int, r *rand.Rand) func(Change) bool {
		return func(Change) bool { return r.IntN(2) == 0 }
	}}
	KeepMost = Policy{"keep all but one", func(n int, r *rand.Rand) func(Change) bool {
		lost := r.IntN(n + 1)
		return func(c Change) bool { return c.At != lost }
	}}
)

// Choose is a policy that keeps the changes for which keep is true.
func Choose(name string, keep func(Change) bool) Policy {
	return Policy{name, func(int, *rand.Rand) func(Change) bool { return keep }}
}

// Policies returns all policies but Choose.
func Policies() []Policy {
	return []Policy{LoseAll, KeepAll, KeepPrefix, KeepSuffix, KeepSubset, KeepMost}
}

// Crash returns the disk as it is found after a power cut at this moment. d itself goes on unharmed.
func (d *Disk) Crash(p Policy, r *rand.Rand) *Disk {
	return d.copy(func(n *inode) *inode { return n.crash(p, r) },
		func(_ string, f *folder, copies func(*inode) *inode) *folder { return f.crash(p, r, copies) })
}

// CrashFolders is the half of Crash that concerns the names of files, with a policy for each folder. The files keep
// their unsynced changes, about which a Crash of the returned disk decides.
func (d *Disk) CrashFolders(policy func(dir string) Policy, r *rand.Rand) *Disk {
	return d.copy((*inode).clone,
		func(dir string, f *folder, copies func(*inode) *inode) *folder {
			return f.crash(policy(dir), r, copies)
		})
}

// Kill returns the disk as the next process finds it after this one died: nothing is lost yet, but what was not synced
// still can be. Locks are free. d itself goes on unharmed.
func (d *Disk) Kill() *Disk {
	return d.copy((*inode).clone,
		func(_ string, f *folder, copies func(*inode) *inode) *folder { return f.clone(copies) })
}

func (n *inode) crash(p Policy, r *rand.Rand) *inode {
	after := n.durable.clone()
	keep := p.keep(len(n.pending), r)
	for i, c := range n.pending {
		if keep(Change{i, c.write, c.sector()}) {
			c.apply(&after)
		}
	}
	return &inode{seen: after, durable: after.clone()}
}

func (n *inode) clone() *inode {
	return &inode{seen: n.seen.clone(), durable: n.durable.clone(), pending: slices.Clone(n.pending), writes: n.writes}
}

func (f *folder) crash(p Policy, r *rand.Rand, copies func(*inode) *inode) *folder {
	after := maps.Clone(f.durable)
	keep := p.keep(len(f.pending), r)
	for i, c := range f.pending {
		if keep(Change{At: i}) {
			c.apply(after)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		after[name] = copies(after[name])
	}
	return &folder{seen: after, durable: maps.Clone(after)}
}

func (f *folder) clone(copies func(*inode) *inode) *folder {
	after := newFolder()
	for _, name := range slices.Sorted(maps.Keys(f.durable)) {
		after.durable[name] = copies(f.durable[name])
	}
	for _, name := range slices.Sorted(maps.Keys(f.seen)) {
		after.seen[name] = copies(f.seen[name])
	}
	for _, c := range f.pending {
		if c.inode != nil {
			c.inode = copies(c.inode)
		}
		after.pending = append(after.pending, c)
	}
	return after
}

// copy makes another disk out of copies of the inodes and folders; each inode is copied once. Everything is visited in
// a fixed order, so that a seed means the same each time.
func (d *Disk) copy(node func(*inode) *inode, dir func(string, *folder, func(*inode) *inode) *folder) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	made := map[*inode]*inode{}
	copies := func(n *inode) *inode {
		if made[n] == nil {
			made[n] = node(n)
		}
		return made[n]
	}
	after := New()
	after.capacity = d.capacity
	for _, path := range slices.Sorted(maps.Keys(d.folders)) {
		after.folders[path] = dir(path, d.folders[path], copies)
	}
	return after
}
