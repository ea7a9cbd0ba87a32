// Package preference decides when a leader gives way to a voter that the operator prefers as the leader: to one that
// could have led for a while without a break, and the less readily the more often the leader has changed lately.
//
// The package knows neither Raft nor the network.
package preference
