package raftstore

import (
	"github.com/hashicorp/raft"
)

// entries returns commands from one index to another, of a term.
func entries(from, to, term uint64) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: []byte{byte(i)}})
	}
	return logs
}
