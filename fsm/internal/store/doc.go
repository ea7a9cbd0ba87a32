// Package store keeps the state on disk as of the last flush: a bbolt file, and the block files to
// which it refers. It knows buckets, pairs and blocks of messages, but nothing of sessions or commands.
//
// A Reading is one consistent version of the whole. An Update changes pairs and blocks in one
// transaction; only a flush of a memtable, and the collection of garbage, make one. A Dump is a
// version as a stream, from which Build makes the state of another node, which Replace puts in the
// place of the present one.
//
// Whatever is read is verified by its checksum, and so is what a search passes: a pair is not taken
// for absent because its key was damaged (cursor.go). Pages are verified before they are
// changed (update.go), and a scrub reads everything. Damage is an error of kind turn.Corrupt, of
// kind turn.Newer if a newer version wrote what was read; what bbolt panics about is one, too, for
// callers of Guarded. fsm/LAYOUT.md describes the files.
//
// A Reading is for one goroutine at a time. Concurrency of a Store is described there.
package store
