// Package raftstore is a node of a replicated store.
package raftstore
