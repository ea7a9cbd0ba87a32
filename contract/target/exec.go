package target

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/proxy"
)

// adapter is a command that holds a store, and its processes.
type adapter struct {
	command string
	hello   wireReply // of the first process

	mu    sync.Mutex
	main  *process   // that all handles share, unless the store is shared by processes
	extra []*process // of single handles
}

const backendPlaceholder = "{backend}"

func openExec(command string, o Options) (*Target, error) {
	t := &Target{}
	addr := ""
	if o.Backend != "" {
		u, err := url.Parse(o.Backend)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("backend %q: must be a URL such as redis://127.0.0.1:6379", o.Backend)
		}
		if !strings.Contains(command, backendPlaceholder) {
			return nil, fmt.Errorf("with a backend, the command must have %s where its address belongs", backendPlaceholder)
		}
		addr = u.Host
		t.Line = behind(addr, dialect(u.Scheme), func(ctx context.Context, via string) (contract.Store, error) {
			return openAdapter(ctx, strings.ReplaceAll(command, backendPlaceholder, via))
		})
	}
	a := &adapter{command: strings.ReplaceAll(command, backendPlaceholder, addr)}
	if err := a.restart(context.Background(), false); err != nil {
		return nil, err
	}
	t.close = a.close
	t.Open = a.open
	can := func(c contract.Capability) bool { return slices.Contains(a.hello.Can, string(c)) }
	t.Claims = contract.Claims{IDs: can(contract.HasIDs), LateIDs: can(contract.HasLateIDs),
		Linearizable: can(contract.HasLinear), Bytes: can(contract.HasBytes)}
	t.Restarts = []contract.Restart{
		{Kind: contract.CanStop, Do: func(ctx context.Context) error { return a.restart(ctx, false) }},
		{Kind: contract.CanKill, Do: func(ctx context.Context) error { return a.restart(ctx, true) }},
	}
	if a.hello.Shared && o.Copy != nil {
		t.Copy = func(ctx context.Context) *exec.Cmd { return o.Copy(ctx, "exec:"+a.command) }
	}
	return t, nil
}

func dialect(scheme string) proxy.Dialect {
	switch scheme {
	case "redis":
		return proxy.RESP{}
	case "postgres", "postgresql":
		return proxy.Postgres{}
	case "http":
		return proxy.HTTP{}
	}
	return proxy.Bytes{}
}

// openAdapter starts a process for one handle.
func openAdapter(ctx context.Context, command string) (contract.Store, error) {
	p, err := startProcess(ctx, command)
	if err != nil {
		return nil, err
	}
	return &execStore{p: p, own: true}, nil
}

// open returns a handle: on a process of its own if processes share the store.
func (a *adapter) open(ctx context.Context) (contract.Store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.hello.Shared {
		return &execStore{p: a.main}, nil
	}
	p, err := startProcess(ctx, a.command)
	if err != nil {
		return nil, err
	}
	a.extra = append(slices.DeleteFunc(a.extra, (*process).ended), p)
	return &execStore{p: p, own: true}, nil
}

// restart ends all processes, and begins again.
func (a *adapter) restart(ctx context.Context, kill bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked(kill)
	p, err := startProcess(ctx, a.command)
	if err != nil {
		return err
	}
	a.main, a.hello = p, p.hello
	return nil
}

func (a *adapter) endLocked(kill bool) {
	for _, p := range append(a.extra, a.main) {
		if p != nil {
			p.end(kill)
		}
	}
	a.main, a.extra = nil, nil
}

func (a *adapter) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked(false)
	return nil
}
