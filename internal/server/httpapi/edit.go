package httpapi

import "github.com/turnlog/turnlog/turn"

type removedReply struct {
	Removed  uint64 `json:"removed"`
	Count    uint64 `json:"count"`
	Revision uint64 `json:"revision"`
}

// change applies what read finds in the body to the session of the path, and answers as stepReply does.
func change[T turn.Op](c *call, read func(members) (T, error)) (any, error) {
	op, err := decodeBody(c, read)
	if err != nil {
		return nil, err
	}
	setKey(op, c.key())
	res, err := c.apply(op)
	return stepReply(op, &res), err
}

func (s *Server) postTrim(c *call) (any, error) { return change(c, readTrim) }

func (s *Server) postClear(c *call) (any, error) { return change(c, readClear) }

type replaceReply struct {
	appendReply
	Removed uint64 `json:"removed"`
}

func (s *Server) postReplace(c *call) (any, error) {
	body, err := c.body(appendBody(c.limits))
	if err != nil {
		return nil, err
	}
	op, err := readReplace(inBody(body), c.limits)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return stepReply(op, &res), err
}

type forkReply struct {
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
	Count    uint64 `json:"count"`
	Revision uint64 `json:"revision"`
}

func (s *Server) postFork(c *call) (any, error) {
	op, err := decodeBody(c, readFork)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	op.To.Namespace = c.namespace
	res, err := c.apply(op)
	return forkReply{res.First, res.Last, res.Count, res.Revision}, err
}

type renameReply struct {
	Count    uint64 `json:"count"`
	Revision uint64 `json:"revision"`
}

func (s *Server) postRename(c *call) (any, error) { return change(c, readRename) }

type expireReply struct {
	Changed bool `json:"changed"`
}

func (s *Server) postExpire(c *call) (any, error) { return change(c, readExpire) }

func (s *Server) postRetain(c *call) (any, error) { return change(c, readRetain) }

type revisionReply struct {
	Revision uint64 `json:"revision"`
}

func (s *Server) patchSession(c *call) (any, error) { return change(c, readPatch) }

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

type editedReply struct {
	Seq      uint64 `json:"seq"`
	Count    uint64 `json:"count"`
	Revision uint64 `json:"revision"`
}

func (s *Server) postEdit(c *call) (any, error) {
	body, err := c.body(appendBody(c.limits))
	if err != nil {
		return nil, err
	}
	op, err := readEdit(inBody(body))
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return stepReply(op, &res), err
}

func (s *Server) postRemove(c *call) (any, error) { return change(c, readRemove) }
