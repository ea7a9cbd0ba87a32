// Package wal is a write-ahead log: numbered records on one disk, durable when Append returns.
//
// It knows neither consensus nor messages. A [Record] is an index and two byte strings, Meta and Data, that mean
// nothing here. Indexes are contiguous. The log grows at its end ([Log.Append]), loses records at either end
// ([Log.TruncateBefore], [Log.TruncateAfter]), or starts again somewhere else ([Log.Reset]). That is all that a
// replicated log asks for.
//
//	l, err := wal.Open(dir, wal.Options{})             // recovers; refuses a damaged log
//	go l.Run(ctx)                                      // prepares segments ahead; the log is right without it, only slower
//	err = l.Append([]wal.Record{{Index: 1, Data: b}})  // one write, one fdatasync, however many records
//	rec, err := l.Get(1)                               // checksum verified on every read from disk
//	first, last := l.FirstIndex(), l.LastIndex()       // 0, 0 when empty
//	err = l.TruncateBefore(100)                        // FirstIndex is 100 exactly, durably; whole segments are recycled
//	err = l.TruncateAfter(200)                         // 201… never come back
//	err = l.Reset(500)                                 // empty; the next record must be 500
//	keep := l.IndexForTail(64 << 20)                   // lowest index from which the log's end takes at most 64 MiB
//	err = l.Close()
//
// [Verify], [Walk] and [Inspect] read a log without opening it, also beside a running node. Package waltest is a suite
// for this log and for any other store that is to stand in its place.
//
// # Promises
//
//   - Durable: what Append, TruncateBefore, TruncateAfter and Reset did survives a power cut once they have returned nil.
//   - Atomic: a crash in the middle of any of these calls leaves the state before it or the state after it, never a part of a batch.
//   - Nothing invented: a record is returned only if its checksum, its index, its place in the file and the identity of the file's present
//     use agree. Old bytes in recycled files cannot pass for records.
//   - Torn tail cut, damage never: a batch that a crash left incomplete at the very end is dropped by Open. Anything else that does
//     not verify is a [*CorruptError], at Open or at Get, and the files are left as they are; except where only records can have been that
//     the log has dropped.
//   - Fail-stop: after the first failed write or sync every later call returns that same error (a [*FailedError]). A failed sync is never
//     repeated: the kernel may have dropped the very pages that it could not write, and a second sync would then report success.
//   - A full disk is not a failure: space is taken before it is needed, and a call that cannot have it returns [ErrNoSpace], with nothing
//     written and the log still usable. Truncation needs no space.
//
// # What it relies on
//
// A sector (512 bytes) is written whole or not at all, the bytes of a sector that a write did not change survive that
// write, fdatasync does not lie, and rename is atomic. Sectors of an unsynced write may reach the disk in any order or
// not at all; directory entries are durable only after the directory was synced.
//
// # What it does not do
//
// It does not repair. A copy of the records exists on other nodes, and only they can tell a lost record from one that
// never was. It cannot distinguish damage to the last batch from a batch that a crash cut short, unless the batch is
// older than the last mark (see Options.MarkInterval). A caller that acknowledges records must record how far, as
// package raftstore does. It does not compress or encrypt, and keeps four bytes of memory per record to find it.
//
// FORMAT.md draws the files; recover.go tells how they are read back.
//
// # Concurrency
//
// All methods may be called from any goroutine. Append, TruncateBefore, TruncateAfter and Reset take turns; reads go on
// beside them and see either state. The one goroutine is the caller's own: the one that calls Run.
package wal
