package backup

import (
	"fmt"
	"strings"
	"time"

	"github.com/turnlog/turnlog/fsm/statedump"
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
func (s *Summary) contains(c *statedump.Content) {
	s.Index, s.Term, s.Clock, s.ClusterID, s.Level, s.Members = c.Index, c.Term, c.Clock, c.ClusterID, c.Level,
		c.Members
	s.Namespaces, s.Sessions, s.Messages, s.Values = c.Namespaces, c.Sessions, c.Messages, c.Values
	s.PayloadBytes, s.Tombstones, s.Transactions = c.Bytes, c.Tombstones, c.Transactions
}

// disagrees tells in what the summary is not that of a dump; empty: in nothing. A count that is added to Summary
// later must not be compared where a summary lacks it: backups of earlier versions do.
func (s *Summary) disagrees(c *statedump.Content) string {
	for _, x := range []struct {
		what        string
		says, holds any
	}{
		{"last log entry", s.Index, c.Index},
		{"term", s.Term, c.Term},
		{"cluster time", s.Clock, c.Clock},
		{"cluster", s.ClusterID, c.ClusterID},
		{"cluster level", s.Level, c.Level},
		{"members", strings.Join(s.Members, ", "), strings.Join(c.Members, ", ")},
		{"namespaces", s.Namespaces, c.Namespaces},
		{"sessions", s.Sessions, c.Sessions},
		{"messages", s.Messages, c.Messages},
		{"other values", s.Values, c.Values},
		{"bytes of payloads", s.PayloadBytes, c.Bytes},
		{"tombstones", s.Tombstones, c.Tombstones},
		{"answers to transactions", s.Transactions, c.Transactions},
	} {
		if x.says != x.holds {
			return fmt.Sprintf("as %s it says %.100q, and has %.100q", x.what, fmt.Sprint(x.says), fmt.Sprint(x.holds))
		}
	}
	return ""
}
