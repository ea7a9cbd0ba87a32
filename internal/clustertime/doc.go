// Package clustertime is the time that expiry goes by: the leader's, carried in each entry of
// the log, and never backwards.
//
// A leader takes it from its wall clock when its term begins (Source), corrected by what the
// other nodes' wall clocks show (Offsets), and advances it by its monotonic clock: jumps of
// wall clocks change nothing during a term.
package clustertime
