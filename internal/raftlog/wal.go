package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/wal"
)

// walEngine is the engine on package wal.
//
// A record's Data is the entry's data as it is, its Meta the rest:
//
//	byte     version, 1
//	byte     type
//	8 bytes  term, little endian
//	8 bytes  time of the leader's append, Unix nanoseconds, little endian; 0: none
//	…        extensions
type walEngine struct {
	*wal.Log
	records []wal.Record // of the last Append, for reuse; Append has one caller
}

const (
	walMetaVersion = 1
	walMetaHeader  = 1 + 1 + 8 + 8
)

// OverWAL returns the engine on a log of package wal.
func OverWAL(l *wal.Log) Engine { return &walEngine{Log: l} }

// OpenFiles implements Engine.
func (w *walEngine) OpenFiles() int {
	s := w.Stats()
	return s.Segments + s.Ready
}

func (w *walEngine) Append(logs []*raft.Log) error {
	w.records = w.records[:0]
	for _, l := range logs {
		w.records = append(w.records, wal.Record{Index: l.Index, Meta: appendMeta(nil, l), Data: l.Data})
	}
	err := w.Log.Append(w.records)
	clear(w.records)
	return err
}

func appendMeta(b []byte, l *raft.Log) []byte {
	var at int64
	if !l.AppendedAt.IsZero() {
		at = l.AppendedAt.UnixNano()
	}
	b = append(b, walMetaVersion, byte(l.Type))
	b = binary.LittleEndian.AppendUint64(b, l.Term)
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	return append(b, l.Extensions...)
}

func (w *walEngine) Get(index uint64, log *raft.Log) error {
	r, err := w.Log.Get(index)
	if errors.Is(err, wal.ErrNotFound) {
		return raft.ErrLogNotFound
	}
	if err != nil {
		return err
	}
	m := r.Meta
	if len(m) > 0 && m[0] > walMetaVersion {
		return fmt.Errorf("log entry %d has version %d, this turnlog reads version %d: run the newer turnlog", index,
			m[0], walMetaVersion)
	}
	if len(m) < walMetaHeader {
		return fmt.Errorf("log entry %d has %d bytes of metadata, at least %d are expected", index, len(m),
			walMetaHeader)
	}
	*log = raft.Log{
		Index: r.Index,
		Term:  binary.LittleEndian.Uint64(m[2:]),
		Type:  raft.LogType(m[1]),
		Data:  r.Data,
	}
	if at := int64(binary.LittleEndian.Uint64(m[10:])); at != 0 {
		log.AppendedAt = time.Unix(0, at)
	}
	if len(m) > walMetaHeader {
		log.Extensions = m[walMetaHeader:]
	}
	return nil
}
