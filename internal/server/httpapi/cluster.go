package httpapi

import (
	"context"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/turn"
)

type clusterReply struct {
	turn.Cluster
	// Level stays below what its members know while one of LevelWaitsFor is the case.
	LevelWaitsFor []string `json:"level_waits_for"`
}

func (s *Server) getCluster(c *call) (any, error) {
	cl, err := s.cfg.Engine.Cluster(c.ctx)
	if err != nil {
		return nil, err
	}
	return clusterReply{cl, append([]string{}, cl.LevelWaitsFor()...)}, nil
}

// admin returns the Admin, or the error that there is none here.
func (c *call) admin() (Admin, error) {
	if a := c.server.cfg.Admin; a != nil {
		return a, nil
	}
	return nil, turn.Errorf(turn.Forbidden, "this node is not administered over HTTP")
}

// stillAdmin is an error if the user has lost the right to administer since the request was admitted.
func (c *call) stillAdmin() error {
	u, err := c.user()
	if err != nil || u == nil || u.May(auth.Admin) {
		return err
	}
	return turn.Errorf(turn.Forbidden, "user %s has the right %s now; this requires %s", u.Name, u.Right, auth.Admin)
}

// administer decodes the body of a request to the Admin. The user may have lost the right while the body
// arrived.
func administer[T any](c *call, read func(members) (T, error)) (a Admin, body T, err error) {
	if a, err = c.admin(); err != nil {
		return nil, body, err
	}
	if body, err = decodeBody(c, read); err != nil {
		return nil, body, err
	}
	return a, body, c.stillAdmin()
}

type checksumReply struct {
	Index uint64 `json:"index"`
	Hash  string `json:"hash"`
}

func (s *Server) postChecksum(c *call) (any, error) {
	a, _, err := administer(c, readNothing)
	if err != nil {
		return nil, err
	}
	index, hash, err := a.Checksum(c.ctx)
	return checksumReply{index, hash}, c.unsure(err)
}

type emptyReply struct{}

func (s *Server) postTransfer(c *call) (any, error) {
	a, _, err := administer(c, readNothing)
	if err != nil {
		return nil, err
	}
	return emptyReply{}, c.unsure(a.HandOver(c.ctx))
}

func (s *Server) postSnapshot(c *call) (any, error) {
	a, _, err := administer(c, readNothing)
	if err != nil {
		return nil, err
	}
	return emptyReply{}, c.unsure(a.Snapshot(c.ctx))
}

func (s *Server) postNode(c *call) (any, error) {
	a, n, err := administer(c, readNode)
	if err != nil {
		return nil, err
	}
	add := a.AddNode
	if n.learner {
		add = a.AddLearner
	}
	return emptyReply{}, c.unsure(add(c.ctx, n.id, n.raftAddr))
}

func (s *Server) postPromote(c *call) (any, error) { return changeNode(c, Admin.Promote) }

func (s *Server) postDemote(c *call) (any, error) { return changeNode(c, Admin.Demote) }

// changeNode has a change made of the member that the body names.
func changeNode(c *call, change func(Admin, context.Context, string) error) (any, error) {
	a, id, err := administer(c, readID)
	if err != nil {
		return nil, err
	}
	return emptyReply{}, c.unsure(change(a, c.ctx, id))
}

func readID(in members) (id string, err error) {
	if err = in.read(readers{"id": text(&id)}); err == nil && id == "" {
		err = turn.Errorf(turn.Invalid, "body: needs id")
	}
	return id, err
}

func (s *Server) deleteNode(c *call) (any, error) {
	a, err := c.admin()
	if err != nil {
		return nil, err
	}
	id := c.text("id")
	if id == "" {
		return nil, turn.Errorf(turn.Invalid, "id: missing; it names the node to remove")
	}
	return emptyReply{}, c.unsure(a.RemoveNode(c.ctx, id))
}

func readNothing(in members) (struct{}, error) { return struct{}{}, in.read(nil) }

type nodeRequest struct {
	id, raftAddr string
	learner      bool
}

func readNode(in members) (n nodeRequest, err error) {
	err = in.read(readers{"id": text(&n.id), "raft_addr": text(&n.raftAddr), "learner": boolean(&n.learner)})
	if err == nil && (n.id == "" || n.raftAddr == "") {
		err = turn.Errorf(turn.Invalid, "body: needs id and raft_addr")
	}
	return n, err
}
