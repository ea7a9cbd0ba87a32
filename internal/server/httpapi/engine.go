package httpapi

import (
	"context"
	"io"

	"github.com/turnlog/turnlog/turn"
)

// Engine is the node that carries requests out. All methods may be called at
// the same time, and return errors of type *turn.Error.
type Engine interface {
	Apply(ctx context.Context, op turn.Op) (turn.Result, error)
	Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error)
	// Watch returns a channel that holds a token after the session changed on
	// this node, however often it did. stop ends it.
	Watch(k turn.Key) (changed <-chan struct{}, stop func())
	Cluster(ctx context.Context) (turn.Cluster, error)
	Ready() (ok bool, reasons []string)
	Limits() turn.Limits
	// Calm returns when there is room for more work that can wait.
	Calm(ctx context.Context) error
}

// Admin changes the cluster. An Engine that is to be administered over HTTP has
// one beside it.
type Admin interface {
	// Checksum has every node hash its state at one log index, and returns that
	// index and the hash of this node.
	Checksum(ctx context.Context) (index uint64, hash string, err error)
	// HandOver has this node, which leads, hand over to another.
	HandOver(ctx context.Context) error
	// Snapshot has this node take a snapshot now, and truncate its log.
	Snapshot(ctx context.Context) error
	// AddNode makes a running, empty node with that id and node-to-node address
	// a member.
	AddNode(ctx context.Context, id, raftAddr string) error
	// Backup streams the state of this node as of a log entry, with everything that was acknowledged
	// before the call, and so many bytes. The stream is to be closed.
	Backup(ctx context.Context) (index uint64, size int64, stream io.ReadCloser, err error)
	// AddLearner makes a running, empty node a member that has no vote until Promote gives it one.
	AddLearner(ctx context.Context, id, raftAddr string) error
	// Promote gives a learner a vote; Demote takes a voter's.
	Promote(ctx context.Context, id string) error
	Demote(ctx context.Context, id string) error
	// RemoveNode ends the membership of a node.
	RemoveNode(ctx context.Context, id string) error
}
