package backup

import (
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/turn"
)

// Description is what a backup says of itself at its beginning.
type Description struct {
	ID        string    `json:"id"` // random
	Created   time.Time `json:"created"`
	ClusterID string    `json:"cluster_id"`
	NodeID    string    `json:"node_id"` // that it was read from
	Version   string    `json:"version"` // of the turnlog that wrote it
	Index     uint64    `json:"index"`   // the last log entry that the state includes
	Bytes     int64     `json:"bytes"`   // of the dump
}

// Summary is what a backup says of itself at its end.
type Summary struct {
	Parts  int    `json:"parts"`
	Bytes  int64  `json:"bytes"` // of the dump
	SHA256 string `json:"sha256"`

	Index        uint64            `json:"index"`
	Term         uint64            `json:"term"`
	Clock        int64             `json:"clock"` // cluster time, Unix milliseconds
	ClusterID    string            `json:"cluster_id"`
	Level        turn.ClusterLevel `json:"level"`
	Members      []string          `json:"members"`
	Namespaces   uint64            `json:"namespaces"`
	Sessions     uint64            `json:"sessions"`
	Messages     uint64            `json:"messages"`
	Values       uint64            `json:"values"`
	PayloadBytes uint64            `json:"payload_bytes"`
	Tombstones   uint64            `json:"tombstones"`
	Transactions uint64            `json:"transactions"`
}

// contains takes over what a dump holds.
func (s *Summary) contains(c *fsm.DumpContent) {
	s.Index, s.Term, s.Clock, s.ClusterID, s.Level, s.Members = c.Index, c.Term, c.Clock, c.ClusterID, c.Level,
		c.Members
	s.Namespaces, s.Sessions, s.Messages, s.Values = c.Namespaces, c.Sessions, c.Messages, c.Values
	s.PayloadBytes, s.Tombstones, s.Transactions = c.Bytes, c.Tombstones, c.Transactions
}
