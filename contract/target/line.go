package target

import (
	"context"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/proxy"
)

// line is a proxy and a way to open handles through it.
type line struct {
	*proxy.Proxy
	open func(ctx context.Context, addr string) (contract.Store, error)
}

func (l *line) Open(ctx context.Context) (contract.Store, error) { return l.open(ctx, l.Addr()) }

// behind returns a Target.Line to a server, or to the first of several that can be
// reached.
func behind(d proxy.Dialect, open func(ctx context.Context, addr string) (contract.Store, error),
	addrs ...string) func(context.Context) (contract.Line, error) {
	return func(context.Context) (contract.Line, error) {
		p, err := proxy.New(d, addrs...)
		if err != nil {
			return nil, err
		}
		return &line{p, open}, nil
	}
}
