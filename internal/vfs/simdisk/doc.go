// Package simdisk is a disk in memory that can lose power, fill up, fail and rot. It implements [vfs.FS] for tests.
//
// Every file has two contents: what readers see (the page cache) and what is durable (the platter). A write changes the
// first, sector by sector; Sync copies it to the second. Folders are the same: creations, renames and removals are seen
// at once and durable after SyncDir. [Disk.Crash] makes the disk that a machine finds when the power comes back: the
// durable content, plus whatever part of the unsynced changes a [Policy] lets through. [Disk.Kill] makes the disk that
// the next process finds when only this one died.
//
// What it does not model: sectors that tear, reads that see half of a concurrent write, and file systems that lose
// synced data.
//
// A Disk draws no randomness of its own: Crash takes a source, so that a test that prints its seed can be repeated.
package simdisk
