// Package members changes the members of a cluster: it adds and removes nodes, promotes and demotes them, one change of
// Raft's configuration at a time, and has the state record them. What each change waits for:
//
//	any          the change before it; room in the log                         reconfigure.go
//	an addition  the node has caught up, before it gets a vote                 addition.go
//	a promotion  the same                                                      learner.go
//	a demotion   a majority of the voters that remain is reachable, up to date removal.go
//	a removal    the same                                                      removal.go
//
// Which nodes may connect is for package membership to say, and who may vote for package ballot.
package members
