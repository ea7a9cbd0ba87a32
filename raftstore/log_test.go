package raftstore

import (
	"log/slog"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
)

// openMark opens the high-water mark on a disk in memory.
func openMark(t *testing.T, disk *simdisk.Disk) *raftlog.HighWater {
	t.Helper()
	h, err := raftlog.OpenHighWater(disk, "/data", "me", func(err error) { panic(err) }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// entries returns commands from one index to another, of a term.
func entries(from, to, term uint64) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: []byte{byte(i)}})
	}
	return logs
}
