// Package codec is the msgpack form of operations, queries and answers, and the
// layout of a Raft log entry.
//
// Every value is one msgpack array. An operation or query starts with its kind
// number; its fields follow in a fixed order that grows at its end only:
//
//	[kind, field, field, …]
//
// A shorter array than this version knows comes from an older version: the
// missing fields are zero. A longer one, or an unknown kind, comes from a newer
// version; it is never guessed at but refused with turn.Newer.
//
// Each type describes its fields once, in a method of coder that serves both
// directions, so that encoder and decoder cannot drift apart; kinds.go lists them
// by kind number.
package codec
