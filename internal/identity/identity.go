// Package identity keeps which node and which cluster a data directory belongs to, in a small file with a second copy.
//
// The incarnation is a random id that is drawn once, when the directory is made. A node whose disk was wiped has
// another one, by which the cluster can tell that its votes and entries are gone. Any goroutine may use an Identity.
package identity

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/turnlog/turnlog/internal/smallfile"
)

// Identity is who a data directory belongs to. The incarnation is drawn when
// the directory is made: a node whose disk was wiped has another one, and the
// cluster can tell that its memory of votes and entries is gone. It is never
// drawn again for a directory that has one: there are two copies (package smallfile).
type Identity struct {
	path string

	mu sync.Mutex
	v  File
}

type File struct {
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
func (f File) unchecked(text []byte) bool {
	var compact bytes.Buffer
	whole, err := json.Marshal(&f)
	return err == nil && json.Compact(&compact, text) == nil && f.Check == 0 && bytes.Equal(compact.Bytes(), whole)
}

func (f File) sum() uint32 {
	f.Check = 0
	b, err := json.Marshal(&f)
	if err != nil {
		panic(err) // plain data
	}
	return crc32.Checksum(b, castagnoli)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	version  = 1
	FileName = "identity.json"
)

// Open reads the identity of dir, or gives it a new one. advice is what to do with a directory whose
// identity is damaged.
func Open(dir, nodeID, advice string, log *slog.Logger) (*Identity, error) {
	i := &Identity{path: filepath.Join(dir, FileName)}
	c, err := smallfile.ReadCopies(i.path, advice, decode, func(second, first *File) bool {
		return second.Incarnation == first.Incarnation && first.ClusterID == ""
	})
	if err != nil {
		return nil, err
	}
	if c.Best == nil {
		i.v = File{Version: version, NodeID: nodeID, Incarnation: RandomID()}
		return i, i.write()
	}
	i.v = *c.Best
	if i.v.NodeID != nodeID {
		return nil, fmt.Errorf("identity: data directory %s belongs to node %s, not to node %s", dir,
			i.v.NodeID, nodeID)
	}
	c.Mend(i.path, i.write, log)
	return i, nil
}

func decode(path string, b []byte) (*File, error) {
	f := new(File)
	if err := json.Unmarshal(b, f); err != nil {
		return nil, fmt.Errorf("identity: %s: %w: %w", path, smallfile.ErrDamaged, err)
	}
	if sum, ok := smallfile.JSONSum(b, "}"); ok && sum != f.Check || !ok && !f.unchecked(b) {
		return nil, fmt.Errorf("identity: %s fails its checksum: %w", path, smallfile.ErrDamaged)
	}
	if f.Version > version {
		return nil, fmt.Errorf("identity: %s has version %d, this turnlog reads version %d: run the newer turnlog",
			path, f.Version, version)
	}
	return f, nil
}

func (i *Identity) write() error {
	i.v.Check = i.v.sum()
	b, err := json.MarshalIndent(&i.v, "", "  ")
	if err != nil {
		return err
	}
	return smallfile.WriteCopies(i.path, append(b, '\n'))
}

func (i *Identity) Get() File {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.v
}

// LearnCluster keeps the cluster's id once it is known. Another one than is
// known already is an error.
func (i *Identity) LearnCluster(id string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.v.ClusterID {
	case id:
		return nil
	case "":
		i.v.ClusterID = id
		return i.write()
	}
	return fmt.Errorf("identity: this node belongs to cluster %s, but its log is of cluster %s", i.v.ClusterID, id)
}

// RandomID returns 128 random bits in hexadecimal.
func RandomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // cannot fail
	return hex.EncodeToString(b[:])
}

// NodeOf returns the id of the node that a directory belongs to. It changes nothing.
func NodeOf(dir string) (string, error) {
	path := filepath.Join(dir, FileName)
	c, err := smallfile.ReadCopies(path, "take the directory of another node", decode,
		func(_, first *File) bool { return first == nil })
	switch {
	case err != nil:
		return "", err
	case c.Best == nil:
		return "", fmt.Errorf("identity: %s is not the data directory of a node: there is no %s in it", dir, FileName)
	}
	return c.Best.NodeID, nil
}

// Exists reports whether a directory belongs to a node already.
func Exists(dir string) (bool, error) {
	path := filepath.Join(dir, FileName)
	for _, p := range []string{path, smallfile.SecondCopy(path)} {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}
