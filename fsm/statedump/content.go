// Package statedump has the format of dumps of the state: it writes and reads them, says what is in them, copies them
// for a new cluster, and takes them apart into pairs and puts them together again. Machine.Dump of package fsm makes
// a dump of a state, and Machine.Restore makes a state of one.
package statedump

import (
	"bytes"
	"io"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// Content is what a dump holds. Keys whose deadline has passed, and that no entry has deleted yet,
// count, too.
type Content struct {
	Index, Term uint64 // of the last entry that it includes
	Clock       int64  // cluster time, Unix milliseconds
	ClusterID   string
	Level       turn.ClusterLevel
	Members     []string // ids

	Namespaces   uint64 // that have keys
	Sessions     uint64
	Messages     uint64 // live ones
	Values       uint64 // keys of other types than sessions
	Streams      uint64 // those of them that are streams
	Bytes        uint64 // of live payloads and elements
	Tombstones   uint64 // of deleted sessions whose ids are remembered
	Transactions uint64 // whose answers are remembered
}

// Inspect reads a whole dump, and returns what is in it. It verifies every checksum, decodes
// every pair and every block, and sees that pairs are in order: what it accepts, a machine restores.
func Inspect(r io.Reader) (Content, error) {
	return InspectPairs(r, func(_, _, _ []byte) error { return nil })
}

// InspectPairs is Inspect, and calls fn with each pair that it has verified, whose slices fn must not keep.
func InspectPairs(r io.Reader, fn func(bucket, k, v []byte) error) (Content, error) {
	var i inspector
	err := Read(r, func(bucket, k, v []byte) error {
		if err := i.pair(bucket, k, v); err != nil {
			return err
		}
		return fn(bucket, k, v)
	})
	if err != nil {
		return Content{}, err
	}
	if !i.described {
		return Content{}, turn.Errorf(turn.Corrupt, "state dump lacks the state description")
	}
	return i.content, nil
}

// inspector gathers what is in a dump.
type inspector struct {
	content   Content
	described bool // the state description has come
	order     pairOrder
	namespace string // of the last head
	records   []layout.Record
}

func (i *inspector) pair(bucket, k, v []byte) error {
	if err := i.order.next(bucket, k); err != nil {
		return err
	}
	if err := layout.CheckDumped(bucket, k, v); err != nil {
		return err
	}
	switch string(bucket) {
	case string(layout.BucketMeta):
		return i.meta(k, v)
	case string(layout.BucketHeads):
		return i.head(k, v)
	case string(layout.BucketBlocks):
		_, seq := layout.SplitBlockKey(k)
		var err error
		if i.records, err = layout.DecodeBlock(i.records[:0], seq, v, true); err != nil {
			return layout.InBlock(err, k)
		}
	case string(layout.BucketTombstones):
		i.content.Tombstones++
	}
	return nil
}

func (i *inspector) meta(k, v []byte) error {
	if string(k) != string(layout.KeyState) {
		return nil
	}
	m, err := layout.DecodeMeta(v)
	if err != nil {
		return err
	}
	i.described = true
	c := &i.content
	c.Index, c.Term, c.Clock, c.ClusterID, c.Level = m.Index, m.Term, m.Clock, m.ClusterID, m.Level
	for _, member := range m.Members {
		c.Members = append(c.Members, member.ID)
	}
	return nil
}

func (i *inspector) head(k, v []byte) error {
	var h layout.Head
	if err := h.Decode(v); err != nil {
		return err
	}
	c, namespace := &i.content, layout.NamespaceOf(string(k))
	if namespace == layout.TransactionsNamespace {
		c.Transactions++
		return nil
	}
	if namespace == layout.LabelsNamespace { // it says what the sessions say, once more
		return nil
	}
	if namespace != i.namespace {
		i.namespace = namespace
		c.Namespaces++
	}
	c.Bytes += h.Bytes
	if h.Type == turn.TypeList || h.Type == turn.TypeNone {
		c.Sessions++
		c.Messages += h.Count()
	} else {
		c.Values++
		if h.Type == turn.TypeStream {
			c.Streams++
		}
	}
	return nil
}

// pairOrder is how far the pairs of a dump have come.
type pairOrder struct {
	bucket int
	key    []byte // the last one; nil: none of the bucket
}

// next is an error unless a pair comes behind the last one.
func (o *pairOrder) next(bucket, k []byte) error {
	names := layout.Buckets()
	for string(names[o.bucket]) != string(bucket) {
		if o.bucket++; o.bucket == len(names) {
			return turn.Errorf(turn.Corrupt, "state dump has pairs of bucket %s out of order", bucket)
		}
		o.key = nil
	}
	if o.key != nil && bytes.Compare(o.key, k) >= 0 {
		return turn.Errorf(turn.Corrupt, "state dump has the key %x of bucket %s out of order", k, bucket)
	}
	o.key = append(o.key[:0], k...)
	return nil
}
