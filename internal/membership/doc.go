// Package membership decides which nodes a node talks to: which connections it accepts and opens
// (Policy.Admit, Policy.Outsider), and when the rejection by another node means that it must stop
// (Policy.Rejected).
//
// Only members get connections. What a node knows of the members may be old, in both directions: it may
// lag behind the addition of a node that leads by now, and it may be an older copy from before other
// members were added. docs/decisions/0005-members-and-candidates.md says how these are told from nodes
// that were removed.
//
// The package knows neither Raft nor how nodes are connected.
package membership
