package workload

import (
	"context"
	"fmt"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// Look reads every session whole at a node of a restored cluster. It records nothing: the history is that of the
// cluster from which the backup was taken.
func (r *Run) Look(ctx context.Context, n *cluster.Node) (map[string]history.Result, error) {
	api := open(HTTP, r.cluster, n, r.user(finalUser))
	defer api.Close()
	all := make(map[string]history.Result)
	for _, p := range r.pools {
		for _, s := range p.sessions() {
			res, err := pages(ctx, api, s.Key, history.Call{Func: history.Read})
			if err != nil {
				return nil, fmt.Errorf("read of %s: %w", s.Name(), err)
			}
			all[s.Name()] = res
		}
	}
	return all, nil
}

// Again repeats a call of the history at a node, without its condition, and does not record it.
func (r *Run) Again(ctx context.Context, n *cluster.Node, session string, c history.Call) (history.Result, error) {
	api := open(HTTP, r.cluster, n, r.user(finalUser))
	defer api.Close()
	c.Expect = nil
	for _, p := range r.pools {
		for _, s := range p.sessions() {
			if s.Name() == session {
				return api.Do(ctx, s.Key, &c)
			}
		}
	}
	return history.Result{}, turn.Errorf(turn.NotFound, "there is no session %s", session)
}
