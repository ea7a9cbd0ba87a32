package httpapi

import "github.com/turnlog/turnlog/turn"

type removedReply struct {
	Removed  uint64 `json:"removed"`
	Count    uint64 `json:"count"`
	Revision uint64 `json:"revision"`
}

func (s *Server) postTrim(c *call) (any, error) {
	op, err := decodeBody(c, decodeTrim)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return removedReply{res.Removed, res.Count, res.Revision}, err
}

func (s *Server) postClear(c *call) (any, error) {
	op, err := decodeBody(c, decodeClear)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return removedReply{res.Removed, res.Count, res.Revision}, err
}

type replaceReply struct {
	appendReply
	Removed uint64 `json:"removed"`
}

func (s *Server) postReplace(c *call) (any, error) {
	body, err := c.body(appendBody(c.limits))
	if err != nil {
		return nil, err
	}
	op, err := decodeReplace(body, c.limits)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return replaceReply{appendReply{res.First, res.Last, res.Revision, res.Duplicate, res.Count}, res.Removed}, err
}

type forkReply struct {
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
	Count    uint64 `json:"count"`
	Revision uint64 `json:"revision"`
}

func (s *Server) postFork(c *call) (any, error) {
	op, err := decodeBody(c, decodeFork)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	op.To.Namespace = c.namespace
	res, err := c.apply(op)
	return forkReply{res.First, res.Last, res.Count, res.Revision}, err
}

type expireReply struct {
	Changed bool `json:"changed"`
}

func (s *Server) postExpire(c *call) (any, error) {
	op, err := decodeBody(c, decodeExpire)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return expireReply{res.Removed > 0}, err
}

type revisionReply struct {
	Revision uint64 `json:"revision"`
}

func (s *Server) patchSession(c *call) (any, error) {
	op, err := decodeBody(c, decodePatch)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return revisionReply{res.Revision}, err
}

type deletedReply struct {
	Removed uint64 `json:"removed"`
}

func (s *Server) deleteSession(c *call) (any, error) {
	op := &turn.Delete{Keys: []turn.Key{c.key()}, Expect: c.expect()}
	if c.err != nil {
		return nil, c.err
	}
	res, err := c.apply(op)
	return deletedReply{res.Removed}, err
}
