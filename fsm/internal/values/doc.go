// Package values has what operations and queries do on values of other Redis types than lists:
// strings, hashes, sets, sorted sets and streams.
//
// A value is a set of elements, pairs of name and value, in the order of their names. What each
// type makes of them is in strings.go, fields.go (hashes and sets), scores.go (sorted sets) and
// stream.go. Of the state the package sees what Keyspace has, and no more: no files, no flushes,
// no messages of sessions. What it does is done on every node: it depends on no clock, random number or
// setting.
package values
