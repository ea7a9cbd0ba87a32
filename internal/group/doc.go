// Package group is the Raft group as a node of it knows it: the members, the term, what is committed, who leads.
package group
