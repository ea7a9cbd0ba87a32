// Package staterepair replaces a damaged state by that of another member, without help.
//
// A node whose state is damaged (fsm/damage.go) fetches the whole state of another member, and puts
// that in the place of its own. Its log and its vote are sound and stay, so that it goes on
// acknowledging entries and voting: the cluster loses no majority. Until it is done it sends its
// state to no node, hands leadership over, and has the leader answer what it cannot.
//
// The state that it accepts includes every entry that its own state includes, and every one
// that its log has dropped; and its log has the last entry of that state, with the same
// term. So its own log leads to that state, and continues it.
//
// The package knows neither Raft nor how nodes connect: a node hands it its log as a Log, and the
// other members as a Cluster.
package staterepair
