package target

import (
	"context"
	"net/url"
	"os/exec"
	"strings"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// Open reaches the target of that URL, without connecting to it. For turnlog: it
// returns when the nodes are ready. A *URLError is the caller's.
func Open(ctx context.Context, text string, o Options) (*Target, error) {
	t, err := open(ctx, text, o)
	if err != nil {
		return nil, err
	}
	t.Name = withoutPassword(text)
	if o.RestartCommand != "" {
		t.Restarts = []contract.Restart{{Kind: contract.CanKill, Do: shell(o.RestartCommand)}}
	}
	return t, nil
}

func open(ctx context.Context, text string, o Options) (*Target, error) {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok {
		return nil, urlErrorf("target %q: must begin with memory:, turnlog:, redis:, postgres:, http: or exec:", text)
	}
	switch scheme {
	case "memory":
		t := memory.New().Target()
		return &Target{Target: t}, nil
	case "exec":
		return openExec(ctx, rest, o)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, urlErrorf("target: %v", err)
	}
	t := &Target{}
	switch {
	case scheme == "turnlog" && u.Host == "":
		return openNodes(ctx, u, o)
	case scheme == "turnlog":
		err = openTurnlog(t, u)
	case scheme == "redis", scheme == "rediss":
		err = openRedis(t, u)
	case scheme == "postgres", scheme == "postgresql":
		err = openPostgres(t, u)
	case scheme == "http":
		err = openHTTP(t, u)
	default:
		return nil, urlErrorf("target %q: there are memory:, turnlog:, redis:, rediss:, postgres:, http: and exec:",
			text)
	}
	if err != nil {
		return nil, urlErrorf("target %s: %v", withoutPassword(text), err)
	}
	if o.Copy != nil {
		t.Copy = func(ctx context.Context) *exec.Cmd { return o.Copy(ctx, text) }
	}
	return t, nil
}
