// Package newcluster makes the data directory of the first node of a new cluster, with the state of another cluster:
// from a backup, or from what a node has left whose cluster has lost its majority.
//
// The new cluster has an id of its own, and its revisions and incarnations cannot be mistaken for those of the old one
// (docs/decisions/0031). After an error or a crash, the directory counts as unfinished, and no node starts with it.
package newcluster
