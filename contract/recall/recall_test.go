package recall_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
	"github.com/turnlog/turnlog/contract/recall"
)

// TestScores: who forgets nothing scores 100, and who forgets all up to a moment
// scores only what was told since.
func TestScores(t *testing.T) {
	server := memory.New()
	target := server.Target()
	nothing := func(context.Context) error { return nil }
	target.Restarts = []contract.Restart{
		{Kind: contract.CanStop, Do: nothing},
		{Kind: contract.CanKill, Do: target.Restarts[0].Do},
	}
	scores := recall.Script{Target: target, Seed: 1}.Run(t.Context())
	if len(scores) != 2 {
		t.Fatalf("%d scores", len(scores))
	}
	for i, s := range scores {
		t.Logf("%+v", s)
		if s.Err != nil || s.Before.Percent() != 100 {
			t.Errorf("before %s: %v, %v", s.Kind, s.Before, s.Err)
		}
		if remembered := s.After.Percent() == 100; remembered != (i == 0) {
			t.Errorf("after %s: %v", s.Kind, s.After)
		}
	}
	if p := scores[1].After.Percent(); p > 90 {
		t.Errorf("a store that forgot scores %.0f", p)
	}
}

// halfRead is a store in which the session that is first to be loaded so often cannot be
// read from then on.
type halfRead struct {
	*memory.Handle
	*reads
}

type reads struct {
	often int

	mu  sync.Mutex
	of  map[string]int
	bad string
}

func (h halfRead) Load(ctx context.Context, session string) ([]contract.Message, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[session]++
	if h.bad == "" && h.of[session] == h.often {
		h.bad = session
	}
	if h.bad == session {
		return nil, errors.New("not JSON")
	}
	return h.Handle.Load(ctx, session)
}

// TestOneConversationIsLost: a conversation that cannot be read any more is forgotten,
// and takes no other one with it.
func TestOneConversationIsLost(t *testing.T) {
	const conversations, facts = 8, 12
	server := memory.New()
	target := server.Target()
	r := &reads{often: facts + 1, of: map[string]int{}} // half are told and asked: now the restart may come
	target.Open = func(context.Context) (contract.Store, error) { return halfRead{server.Open(), r}, nil }
	target.Restarts = []contract.Restart{{Kind: contract.CanKill, Do: func(context.Context) error { return nil }}}
	script := recall.Script{Target: target, Seed: 1, Conversations: conversations, Facts: facts,
		Timeout: 10 * time.Second, RetryFor: 10 * time.Millisecond}
	s := script.Run(t.Context())[0]
	if percent := s.After.Percent(); percent < 80 || percent > 95 || s.Err == nil {
		t.Errorf("remembered after one of %d conversations became unreadable: %.0f %%; %v", conversations,
			percent, s.Err)
	}
}

// TestSlowOpening: the time to open a handle, which may start an interpreter, is none
// that a call of the store takes.
func TestSlowOpening(t *testing.T) {
	server := memory.New()
	target := server.Target()
	target.Open = func(ctx context.Context) (contract.Store, error) {
		end, _ := ctx.Deadline()
		if left := time.Until(end); left < time.Minute {
			return nil, fmt.Errorf("only %s to open a handle", left)
		}
		return server.Open(), nil
	}
	target.Restarts = []contract.Restart{{Kind: contract.CanStop, Do: func(context.Context) error { return nil }}}
	s := recall.Script{Target: target, Seed: 1, Timeout: time.Hour, RetryFor: time.Millisecond}.Run(t.Context())[0]
	if s.Err != nil || s.After.Percent() != 100 {
		t.Errorf("%v, %v", s.After, s.Err)
	}
}
