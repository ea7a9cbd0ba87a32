// Package node assembles a node of a cluster: the raftstore.Node that takes part in it, the servers
// for clients, and what these need from the configuration – users, certificates, secrets, metrics,
// and their shares of memory and file descriptors.
//
// The process is not the package's: what holds for all of it, as the collector's settings, the limit
// of open files and signals, belongs to the program.
package node
