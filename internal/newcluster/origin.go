package newcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/smallfile"
)

// OriginName is the file of a data directory that says where the state of its cluster came from. It is
// there for people, in the directory of the cluster's first node; each start of the node logs it.
const OriginName = "origin.json"

// Origin is where the state of a cluster came from that began with the state of another one.
type Origin struct {
	By           string    `json:"by"`             // "restore" or "recover"
	At           time.Time `json:"at"`             // by the clock of the machine
	Of           string    `json:"of"`             // the backup's id, or the directory of the node that was left
	ClusterID    string    `json:"cluster_id"`     // of the cluster that the state is of
	NewClusterID string    `json:"new_cluster_id"` // of this cluster
	Index        uint64    `json:"index"`          // the last log entry that the state includes
	Term         uint64    `json:"term"`
	Lost         string    `json:"lost,omitempty"` // what is known to be lost
}

func (o *Origin) write(dir string) error {
	b, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	return smallfile.Replace(filepath.Join(dir, OriginName), append(b, '\n'))
}

// TellOrigin logs where the state in a data directory came from, if that is another cluster.
func TellOrigin(dir string, log *slog.Logger) {
	path := filepath.Join(dir, OriginName)
	b, err := descriptors.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var o Origin
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	if err != nil {
		log.Warn("cannot read where the state of this cluster came from", "error", fmt.Errorf("%s: %w", path, err))
		return
	}
	log.Warn("this cluster began with the state of another one: what that one acknowledged after the entry is not "+
		"in it", "by", o.By, "at", o.At, "of", o.Of, "old_cluster", o.ClusterID, "entry", o.Index, "lost", o.Lost)
}
