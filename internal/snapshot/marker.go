package snapshot

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/smallfile"
)

// marker is a snapshot as it is kept: see Store.
type marker struct {
	Version  int           `json:"version"`
	Index    uint64        `json:"index"`
	Term     uint64        `json:"term"`
	Servers  []raft.Server `json:"servers"`
	ConfigAt uint64        `json:"configuration_index"`
	Received bool          `json:"received"` // the state is in received.dump
	Size     int64         `json:"size"`     // of received.dump
	Check    uint32        `json:"crc32c"`   // of this file with crc32c 0
}

const (
	markerVersion = 1
	MarkerName    = "snapshot.json"
	dumpName      = "received.dump"

	markerUnchecked = `,"crc32c":0}` // as what the checksum ends: the file with crc32c 0
)

// LastServers returns the servers of the newest snapshot in dir, and the index of the entry that
// configured them; none if there is no snapshot, or it cannot be read.
func LastServers(dir string) (servers []raft.Server, index uint64) {
	c, err := readMarker(filepath.Join(dir, MarkerName), "")
	if err != nil || c.Best == nil {
		return nil, 0
	}
	return c.Best.Servers, c.Best.ConfigAt
}

// readMarker reads both copies of the marker. The one with the higher index is newer; of
// those with the same, the one that says that the state was taken over already. Both were
// true when they were written.
func readMarker(path, advice string) (smallfile.Copies[marker], error) {
	return smallfile.ReadCopies(path, advice, decodeMarker, func(second, first *marker) bool {
		return second.Index > first.Index || second.Index == first.Index && first.Received
	})
}

func decodeMarker(path string, b []byte) (*marker, error) {
	m := new(marker)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("snapshot: %s: %w: %w", path, smallfile.ErrDamaged, err)
	}
	if sum, ok := smallfile.JSONSum(b, markerUnchecked); !ok || sum != m.Check {
		return nil, fmt.Errorf("snapshot: %s fails its checksum: %w", path, smallfile.ErrDamaged)
	}
	if m.Version > markerVersion {
		return nil, fmt.Errorf("snapshot: %s has version %d, this turnlog reads version %d: run the newer turnlog",
			path, m.Version, markerVersion)
	}
	return m, nil
}

// encode returns the file, with its checksum.
func (m marker) encode() ([]byte, error) {
	m.Version, m.Check = markerVersion, 0
	b, err := json.Marshal(&m)
	if err != nil {
		return nil, err
	}
	m.Check = crc32.Checksum(b, castagnoli)
	if b, err = json.Marshal(&m); err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

func (m *marker) meta(size int64) *raft.SnapshotMeta {
	return &raft.SnapshotMeta{
		Version:            raft.SnapshotVersionMax,
		ID:                 fmt.Sprintf("%d-%d", m.Term, m.Index),
		Index:              m.Index,
		Term:               m.Term,
		Configuration:      raft.Configuration{Servers: m.Servers},
		ConfigurationIndex: m.ConfigAt,
		Size:               size,
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
