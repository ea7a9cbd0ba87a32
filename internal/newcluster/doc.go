// Package newcluster begins a cluster with the state of another one: of a backup, or of a node that a lost majority
// left. What it makes is the data directory of the new cluster's first node.
package newcluster
