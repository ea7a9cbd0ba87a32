package workload

import (
	"context"
	"fmt"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// Look reads every session whole at a node, and leaves the history as it is: what it shows is that of another
// cluster, which began with a backup.
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

// Again makes a call of the history again, at a node, and does not record it. The call has no condition any more.
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
