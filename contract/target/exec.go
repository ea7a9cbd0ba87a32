package target

import (
	"context"
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

	mu   sync.Mutex
	pool []*process // that handles are spread over; one, unless processes share the store
	next int
}

// poolSize is how many processes serve the handles of a store that processes
// share. Interpreters are too slow to start for each handle to have its own.
const poolSize = 3

const backendPlaceholder = "{backend}"

func openExec(ctx context.Context, command string, o Options) (*Target, error) {
	t := &Target{}
	addr := ""
	if o.Backend != "" {
		u, err := url.Parse(o.Backend)
		if err != nil || u.Host == "" {
			return nil, urlErrorf("backend %q: must be a URL such as redis://127.0.0.1:6379", o.Backend)
		}
		if !strings.Contains(command, backendPlaceholder) {
			return nil, urlErrorf("with a backend, the command must have %s where its address belongs",
				backendPlaceholder)
		}
		addr = u.Host
		t.Line = behind(dialect(u.Scheme), func(ctx context.Context, via string) (contract.Store, error) {
			return openAdapter(ctx, strings.ReplaceAll(command, backendPlaceholder, via))
		}, addr)
	}
	a := &adapter{command: strings.ReplaceAll(command, backendPlaceholder, addr)}
	first, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	first.Close()
	t.close = func() error { return a.restart(false) }
	t.Open = a.open
	can := func(c contract.Capability) bool { return slices.Contains(a.hello.Can, string(c)) }
	t.Claims = contract.Claims{IDs: can(contract.HasIDs), LateIDs: can(contract.HasLateIDs),
		Linearizable: can(contract.HasLinear), Bytes: can(contract.HasBytes), MaxBytes: a.hello.MaxBytes}
	t.Restarts = []contract.Restart{
		{Kind: contract.CanStop, Do: func(context.Context) error { return a.restart(false) }},
		{Kind: contract.CanKill, Do: func(context.Context) error { return a.restart(true) }},
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

// open returns a handle on one of the processes.
func (a *adapter) open(ctx context.Context) (contract.Store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.pool) == 0 || a.hello.Shared && len(a.pool) < poolSize {
		p, err := startProcess(ctx, a.command)
		if err != nil {
			return nil, err
		}
		a.pool, a.hello = append(a.pool, p), p.hello
	}
	a.next++
	return &execStore{p: a.pool[a.next%len(a.pool)]}, nil
}

// restart ends all processes; the next handle starts one.
func (a *adapter) restart(kill bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pool {
		p.end(kill)
	}
	a.pool = nil
	return nil
}
