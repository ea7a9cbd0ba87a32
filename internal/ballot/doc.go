// Package ballot withholds votes and acknowledgements that would break what a node promised before it lost a part of
// its data: to damage, or because an older copy of its directory was put back.
//
// It is between the messages of other nodes and Raft. A node that starts promises nothing until the others have told
// what they saw of it, or a time has passed; from then on, a node without a loss votes as Raft would have it. Why its
// rules keep a term from having two leaders, and acknowledged entries from being lost, is in docs/decisions/0002 and
// 0003. Any goroutine may use a Ballot.
package ballot
