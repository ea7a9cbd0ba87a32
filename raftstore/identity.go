package raftstore

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/turnlog/turnlog/internal/smallfile"
)

// identity is who a data directory belongs to. The incarnation is drawn when
// the directory is made: a node whose disk was wiped has another one, and the
// cluster can tell that its memory of votes and entries is gone. It is never
// drawn again for a directory that has one: there are two copies (package smallfile).
type identity struct {
	path string

	mu sync.Mutex
	v  identityFile
}

type identityFile struct {
	Version     int    `json:"version"`
	ClusterID   string `json:"cluster_id,omitempty"` // empty until it is known
	NodeID      string `json:"node_id"`
	Incarnation string `json:"incarnation"`
	// Check is the CRC32C of this file with none; files of the first versions
	// have none.
	Check uint32 `json:"crc32c,omitempty"`
}

// unchecked reports whether text is this file as the first versions wrote it: whole,
// without a checksum. One whose name was damaged is another field, or is taken for the
// right one, since encoding/json does not mind capitals.
func (f identityFile) unchecked(text []byte) bool {
	var compact bytes.Buffer
	whole, err := json.Marshal(&f)
	return err == nil && json.Compact(&compact, text) == nil && f.Check == 0 && bytes.Equal(compact.Bytes(), whole)
}

func (f identityFile) sum() uint32 {
	f.Check = 0
	b, err := json.Marshal(&f)
	if err != nil {
		panic(err) // plain data
	}
	return crc32.Checksum(b, castagnoli)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	identityVersion = 1
	identityName    = "identity.json"
)

// openIdentity reads the identity of dir, or gives it a new one.
func openIdentity(dir, nodeID string, log *slog.Logger) (*identity, error) {
	i := &identity{path: filepath.Join(dir, identityName)}
	c, err := smallfile.ReadCopies(i.path, reseed, decodeIdentity, func(second, first *identityFile) bool {
		return second.Incarnation == first.Incarnation && first.ClusterID == ""
	})
	if err != nil {
		return nil, err
	}
	if c.Best == nil {
		i.v = identityFile{Version: identityVersion, NodeID: nodeID, Incarnation: randomID()}
		return i, i.write()
	}
	i.v = *c.Best
	if i.v.NodeID != nodeID {
		return nil, fmt.Errorf("raftstore: data directory %s belongs to node %s, not to node %s", dir,
			i.v.NodeID, nodeID)
	}
	c.Mend(i.path, i.write, log)
	return i, nil
}

func decodeIdentity(path string, b []byte) (*identityFile, error) {
	f := new(identityFile)
	if err := json.Unmarshal(b, f); err != nil {
		return nil, fmt.Errorf("raftstore: %s: %w: %w", path, smallfile.ErrDamaged, err)
	}
	if sum, ok := smallfile.JSONSum(b, "}"); ok && sum != f.Check || !ok && !f.unchecked(b) {
		return nil, fmt.Errorf("raftstore: %s fails its checksum: %w", path, smallfile.ErrDamaged)
	}
	if f.Version > identityVersion {
		return nil, fmt.Errorf("raftstore: %s has version %d, this turnlog reads version %d: run the newer turnlog",
			path, f.Version, identityVersion)
	}
	return f, nil
}

func (i *identity) write() error {
	i.v.Check = i.v.sum()
	b, err := json.MarshalIndent(&i.v, "", "  ")
	if err != nil {
		return err
	}
	return smallfile.WriteCopies(i.path, append(b, '\n'))
}

func (i *identity) get() identityFile {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.v
}

// learnCluster keeps the cluster's id once it is known. Another one than is
// known already is an error.
func (i *identity) learnCluster(id string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.v.ClusterID {
	case id:
		return nil
	case "":
		i.v.ClusterID = id
		return i.write()
	}
	return fmt.Errorf("raftstore: this node belongs to cluster %s, its log says %s", i.v.ClusterID, id)
}

// randomID returns 128 random bits in hexadecimal.
func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // cannot fail
	return hex.EncodeToString(b[:])
}
