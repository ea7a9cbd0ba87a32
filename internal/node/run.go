package node

import (
	"context"
	"os"
)

// Run runs the servers until ctx ends, then the node until it has handed over: so
// what the servers still have in flight is finished. It returns why the node or a
// server failed, nil if none did. At each signal from reloads, it reads users and
// certificates again.
func (n *Node) Run(ctx context.Context, reloads <-chan os.Signal) error {
	serversCtx, closeServers := context.WithCancelCause(ctx)
	defer closeServers(nil)
	nodeCtx, stopNode := context.WithCancel(context.WithoutCancel(ctx))
	defer stopNode()

	servers := n.servers(reloads)
	ended := make(chan error, len(servers))
	nodeEnded := make(chan error, 1)
	go func() {
		err := n.store.Run(nodeCtx)
		closeServers(err)
		nodeEnded <- err
	}()
	for _, serve := range servers {
		go func() {
			err := serve(serversCtx)
			closeServers(err)
			ended <- err
		}()
	}
	context.AfterFunc(serversCtx, func() { n.log.Info("stopping") })
	var serverErr error // of the first that failed
	for range servers {
		if err := <-ended; serverErr == nil {
			serverErr = err
		}
	}
	stopNode()
	if err := <-nodeEnded; err != nil {
		return err
	}
	return serverErr
}

// servers are what runs until the clients are to be left.
func (n *Node) servers(reloads <-chan os.Signal) []func(context.Context) error {
	servers := []func(context.Context) error{
		func(ctx context.Context) error { n.secrets.run(ctx, reloads, n.redis.UsersChanged); return nil },
		n.redis.Run,
	}
	if n.http != nil {
		servers = append(servers, func(ctx context.Context) error { return n.http.Serve(ctx, n.httpL) })
	}
	if users := n.secrets.users; users != nil {
		servers = append(servers, func(ctx context.Context) error { users.Run(ctx); return nil })
	}
	return append(servers, n.extra...)
}
