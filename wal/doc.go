// Package wal is a write-ahead log: numbered records on one disk, durable when Append returns.
//
// A [Record] is an index and two byte strings, Meta and Data, which the package does not interpret.
// Indexes are contiguous. The log grows at its end ([Log.Append]), loses records at either end
// ([Log.TruncateBefore], [Log.TruncateAfter]), or restarts at another index ([Log.Reset]). That is all
// that a replicated log needs.
//
//	l, err := wal.Open(dir, wal.Options{})             // recovers; rejects a damaged log
//	go l.Run(ctx)                                      // prepares segments ahead; without it the log is only slower
//	err = l.Append([]wal.Record{{Index: 1, Data: b}})  // one write and one fdatasync for all records
//	rec, err := l.Get(1)                               // verifies the checksum on every read from disk
//	first, last := l.FirstIndex(), l.LastIndex()       // 0, 0 if empty
//	err = l.TruncateBefore(100)                        // FirstIndex is 100 exactly; whole segments are recycled
//	err = l.TruncateAfter(200)                         // 201… never come back
//	err = l.Reset(500)                                 // empty; the next record must be 500
//	keep := l.IndexForTail(64 << 20)                   // lowest index whose log tail takes at most 64 MiB
//	err = l.Close()
//
// [Verify], [Walk] and [Inspect] read a log without opening it, even of a running node. Package waltest
// is the conformance suite for this log and for its alternatives.
//
// # Promises
//
//   - Durable: what Append, TruncateBefore, TruncateAfter and Reset did survives a power cut once they
//     have returned nil.
//   - Atomic: a crash during one of these calls leaves the state before it or the state after it, never
//     a part of a batch.
//   - Nothing invented: a record is returned only if its checksum, its index, its position in the file
//     and the identity of the file's current use agree. Old bytes in recycled files cannot pass for
//     records.
//   - A torn tail is cut off, and damage is reported: Open drops a batch that a crash left incomplete
//     at the very end. If anything else cannot be verified, Open or Get returns a [*CorruptError], and
//     the files are left as they are. Damage where there can have been only dropped records is
//     tolerated.
//   - Fail-stop: after the first failed write or sync every later call returns that error (a
//     [*FailedError]). A failed sync is never repeated: the kernel may have dropped the pages that it
//     could not write, and a second sync would report success.
//   - A full disk is not a failure: space is allocated before it is needed. A call that cannot get space
//     returns [ErrNoSpace], with nothing written and the log still usable. Truncation needs no space.
//
// # Assumptions
//
// A sector (512 bytes) is written whole or not at all, a write does not change the other bytes of a
// sector, fdatasync does not lie, and rename is atomic. Sectors of an unsynced write may reach the disk
// in any order or not at all; directory entries are durable only after the directory was synced.
//
// # Not included
//
// The package does not repair. Other nodes have copies of the records, and only they can tell a lost
// record from one that never was. It cannot tell damage to the last batch from a batch that a crash cut
// short, unless the batch is older than the last mark (see Options.MarkInterval). A caller that
// acknowledges records must record how far, as package raftstore does. The log is not compressed or
// encrypted. It keeps four bytes of memory per record to find it.
//
// FORMAT.md describes the files; recover.go explains how they are read back.
//
// # Concurrency
//
// All methods may be called from any goroutine. Append, TruncateBefore, TruncateAfter and Reset exclude
// one another; reads run concurrently with them and see either state. The package starts no goroutine;
// the caller runs Run.
package wal
