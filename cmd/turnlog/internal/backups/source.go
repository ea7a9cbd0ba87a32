package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/minrate"
	"github.com/turnlog/turnlog/turn"
)

// source is a node's state on its way here.
type source struct {
	backup.Description
	body  io.ReadCloser
	ended error // why nothing more came; nil: it did
}

// openSource has a node send its state: the one with that id; empty: one that follows, if there is
// one, so that the leader is spared.
func openSource(a *cli.App, ctx context.Context, c *client.Client, id string) (*source, error) {
	cl, err := c.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := candidates(cl, id)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, n := range nodes {
		s, err := ask(a, ctx, n)
		if err == nil {
			s.ID, s.Created, s.ClusterID = identity.RandomID(), time.Now().UTC().Truncate(time.Millisecond), cl.ID
			s.NodeID, s.Version = n.ID, a.Version
			return s, nil
		}
		if kind := turn.KindOf(err); kind != turn.Unavailable && kind != turn.Overloaded {
			return nil, err
		}
		errs = append(errs, fmt.Errorf("node %s: %w", n.ID, err))
	}
	return nil, errors.Join(errs...)
}

// candidates returns the nodes to ask, in the order in which to do so.
func candidates(cl turn.Cluster, id string) (nodes []turn.Node, err error) {
	var leaders []turn.Node
	for _, n := range cl.Nodes {
		switch {
		case id != "" && n.ID == id:
			return []turn.Node{n}, nil
		case id != "" || !n.Reachable || n.HTTPAddr == "":
		case n.ID == cl.Leader:
			leaders = append(leaders, n)
		default:
			nodes = append(nodes, n)
		}
	}
	if id != "" {
		return nil, turn.Errorf(turn.NotFound, "node %s is not a member", id)
	}
	if nodes = append(nodes, leaders...); len(nodes) == 0 {
		return nil, turn.Errorf(turn.Unavailable, "no node with an HTTP address can be reached; backups are read "+
			"over HTTP")
	}
	return nodes, nil
}

// ask asks a node for its state.
func ask(a *cli.App, ctx context.Context, n turn.Node) (*source, error) {
	if n.HTTPAddr == "" {
		return nil, turn.Errorf(turn.Unavailable, "the node has not announced an HTTP address yet")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.HTTPAddr+"/v1/cluster/backup", nil)
	if err != nil {
		return nil, err
	}
	res, err := a.Send(req)
	if err != nil {
		if refused := (*turn.Error)(nil); errors.As(err, &refused) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", turn.Errorf(turn.Unavailable, "%s does not answer", n.HTTPAddr), err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, cli.ResponseError(res)
	}
	index, err := strconv.ParseUint(res.Header.Get("Turnlog-Index"), 10, 64)
	if err != nil || res.ContentLength < 0 {
		res.Body.Close()
		return nil, turn.Errorf(turn.Internal, "%s sent something that is not a backup", n.HTTPAddr)
	}
	return &source{Description: backup.Description{Index: index, Bytes: res.ContentLength}, body: res.Body}, nil
}

// cutShort says more of an error while so much had come, if the node, or the network, ended the transfer.
func (s *source) cutShort(err error, came int64) error {
	if came >= s.Bytes || s.ended == nil {
		return err
	}
	return fmt.Errorf("node %s or the network ended the transfer after %d of %d bytes (%w); a node ends it, and logs "+
		"why, when less than %d MiB a second are read, or the user has lost the right",
		s.NodeID, came, s.Bytes, s.ended, minrate.BackupBytesPerSecond>>20)
}

// Read reads the node's state.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.ended = err
	}
	return n, err
}

// pace is how much is read at a time. What follows of a piece, in the node and here, keeps a processor from other work
// for a fraction of a millisecond. Pieces of 50 ms each had clients of nodes on the same machine wait.
const pace = 64 << 10

// paced is a reader that takes so many bytes a second at most.
type paced struct {
	r     io.Reader
	rate  int64
	began time.Time
	read  int64
}

func (p *paced) Read(b []byte) (int, error) {
	n, err := p.r.Read(b[:min(len(b), pace)])
	p.read += int64(n)
	due := time.Duration(float64(p.read) / float64(p.rate) * float64(time.Second))
	if ahead := due - time.Since(p.began); ahead > time.Millisecond {
		time.Sleep(ahead)
	}
	return n, err
}
