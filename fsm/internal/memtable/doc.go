// Package memtable keeps the changes that are not in the store yet, and shows keys, messages and
// elements as they are: as of the memtables over the store.
//
// Tables are the memtables of a node. Commands write to the active one, a Table. At a flush it
// becomes the frozen one, which a Writer brings into the store. What a Head, a View (the messages
// of a session) or Elements (the content of another value) do not find in memory they read by a
// store.Reading. Walks through keys are merges of all tables and the store; messages need none,
// because no memtable holds a seq of another.
//
// The package decides nothing: what a command does, what it may cost and when a flush begins is the
// business of package fsm. Nothing in it locks, but where a comment says so: the caller holds the
// lock of the state. What is held beyond that is taken by Hold and HoldEdits.
package memtable
