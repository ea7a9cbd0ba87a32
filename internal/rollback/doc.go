// Package rollback finds out that a node's data was rolled back: that an older copy of its directory
// was put back, so that it lacks what it acknowledged and the terms that it voted in.
//
// The node cannot know. The other members do: each remembers what it saw of the others (Observations),
// and all tell each other every second how far they are (Detector). A node that starts votes when all
// have answered, or when the time for answers is over: that is kept by package ballot. If a member saw
// more of it than it has, it is in doubt: see raftlog.Loss.
//
// The package knows neither Raft nor the network. docs/decisions/0003-older-copies.md says why it is
// sound, and what it does not find.
package rollback
