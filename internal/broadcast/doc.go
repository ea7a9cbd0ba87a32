// Package broadcast carries messages from each node to all others beside the log, as Redis's
// PUBLISH needs it: fast, in order, at most once, and lost if a connection breaks.
//
// A message has the random number of its process and counts up from 1, so that the receiver
// drops what comes late over a connection that was replaced. Memory and time are bounded: a
// sender waits while too much is in flight, and a node that leaves messages unanswered is sent
// no more.
package broadcast
