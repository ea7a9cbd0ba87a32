package raftstore

import (
	"context"
	"encoding/json"
)

func (n *Node) statusOf(ctx context.Context, id string) (s nodeStatus, err error) {
	if id == n.id {
		return n.status(), nil
	}
	return n.askStatus(ctx, id, nil)
}

// askStatus asks another node, and tells it what goes with the request.
func (n *Node) askStatus(ctx context.Context, id string, notice []byte) (s nodeStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	answer, err := n.net.Call(ctx, id, kindStatus, notice)
	if err != nil {
		return s, err
	}
	content, f, err := open(answer)
	if f != nil {
		return s, f.Err
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(content, &s)
}
