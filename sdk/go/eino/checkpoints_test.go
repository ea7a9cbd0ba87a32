package eino_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/sdk/go/eino"
	"github.com/turnlog/turnlog/sdk/go/internal/adaptertest"
	"github.com/turnlog/turnlog/turn"
)

// TestCheckPoints: states come back byte for byte, to other programs, too, and are no conversation of the
// same id.
func TestCheckPoints(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	m := eino.NewMemory(c, eino.Config{})
	adaptertest.Must(t, m.Append(t.Context(), "alice", users("hi")...))
	store := eino.NewCheckPoints(c, eino.CheckPointConfig{Keep: 2, TTL: time.Hour})
	if state, ok, err := store.Get(t.Context(), "alice"); state != nil || ok || err != nil {
		t.Errorf("read what is not there: %q, %t, %v", state, ok, err)
	}
	for _, state := range [][]byte{{0, 255, '\n'}, {}, bytes.Repeat([]byte("x"), 1<<20)} {
		adaptertest.Must(t, store.Set(t.Context(), "alice", state))
		got, ok, err := eino.NewCheckPoints(c, eino.CheckPointConfig{}).Get(t.Context(), "alice")
		if !ok || err != nil || !bytes.Equal(got, state) {
			t.Errorf("saved %d bytes, read %d, %t, %v", len(state), len(got), ok, err)
		}
	}
	info, err := c.Session("eino:checkpoint:alice").Info(t.Context())
	if err != nil || info.Count != 2 || info.ExpiresAt == 0 {
		t.Errorf("kept is %+v, %v", info, err)
	}
	if err := store.Set(t.Context(), "alice", make([]byte, 9<<20)); !turn.Is(err, turn.TooLarge) {
		t.Errorf("saved nine megabytes: %v", err)
	}
	for range 2 {
		adaptertest.Must(t, store.Delete(t.Context(), "alice"))
		if _, ok, err := store.Get(t.Context(), "alice"); ok || err != nil {
			t.Errorf("deleted, and is there: %v", err)
		}
	}
	if got := read(t, m, "alice"); len(got) != 1 {
		t.Errorf("the conversation is %q", got)
	}
}

// TestConditionalCheckPoints: of two processes that resume the same run, one saves its next state.
func TestConditionalCheckPoints(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	process := func() *eino.CheckPoints {
		return eino.NewCheckPoints(c, eino.CheckPointConfig{Prefix: "p:", Conditional: true})
	}
	adaptertest.Must(t, process().Set(t.Context(), "run", []byte("1")))
	if err := process().Set(t.Context(), "run", []byte("x")); !turn.Is(err, turn.Conflict) {
		t.Errorf("saved under an id that is taken: %v", err)
	}
	a, b := process(), process()
	for _, s := range []*eino.CheckPoints{a, b} {
		if state, ok, err := s.Get(t.Context(), "run"); string(state) != "1" || !ok || err != nil {
			t.Errorf("read %q, %t, %v", state, ok, err)
		}
	}
	adaptertest.Must(t, a.Set(t.Context(), "run", []byte("2")))
	adaptertest.Must(t, a.Set(t.Context(), "run", []byte("3")))
	if err := b.Set(t.Context(), "run", []byte("late")); !turn.Is(err, turn.Conflict) {
		t.Errorf("saved over what was not read: %v", err)
	}
	adaptertest.Must(t, b.Delete(t.Context(), "run"))
	adaptertest.Must(t, b.Set(t.Context(), "run", []byte("again")))
}

// steps is the state of the graph in TestResume.
type steps struct{ Done []string }

func init() { schema.Register[*steps]() }

// approval returns a graph that waits for a person before each of its three steps.
func approval(
	ctx context.Context, store compose.CheckPointStore, did func(string),
) (compose.Runnable[string, string], error) {
	g := compose.NewGraph[string, string](compose.WithGenLocalState(func(context.Context) *steps { return new(steps) }))
	names := []string{"look", "order", "pay"}
	before := compose.START
	for _, name := range names {
		step := compose.InvokableLambda(func(ctx context.Context, in string) (string, error) {
			did(name)
			return in + " " + name, compose.ProcessState(ctx, func(_ context.Context, s *steps) error {
				s.Done = append(s.Done, name)
				return nil
			})
		})
		if err := errors.Join(g.AddLambdaNode(name, step), g.AddEdge(before, name)); err != nil {
			return nil, err
		}
		before = name
	}
	if err := g.AddEdge(before, compose.END); err != nil {
		return nil, err
	}
	return g.Compile(ctx, compose.WithCheckPointStore(store), compose.WithInterruptBeforeNodes(names))
}

// resume goes on with a run as a new process would, and returns what Invoke does.
func resume(ctx context.Context, addrs []string, id string, did func(string)) (string, error) {
	c, err := client.New(client.Config{Addrs: addrs, RetryFor: time.Minute})
	if err != nil {
		return "", err
	}
	defer c.Close()
	graph, err := approval(ctx, eino.NewCheckPoints(c, eino.CheckPointConfig{Conditional: true}), did)
	if err != nil {
		return "", err
	}
	return graph.Invoke(ctx, id, compose.WithCheckPointID(id))
}

// TestResume: runs of a graph go on in other processes, while the leader is killed before each of their
// steps; every step takes place once.
func TestResume(t *testing.T) {
	cluster := turnlogtest.StartCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const runs, stops = 8, 3
	var mu sync.Mutex
	did := map[string]int{} // run and step → how often it took place
	for stop := range stops + 1 {
		var group sync.WaitGroup
		for run := range runs {
			group.Go(func() {
				id := fmt.Sprint("run ", run)
				out, err := resume(ctx, cluster.Addrs(), id, func(step string) {
					mu.Lock()
					defer mu.Unlock()
					did[id+step]++
				})
				if _, waits := compose.ExtractInterruptInfo(err); stop < stops && !waits {
					t.Errorf("%s does not wait before step %d: %q, %v", id, stop, out, err)
				}
				if stop == stops && (err != nil || out != id+" look order pay") {
					t.Errorf("%s ended with %q, %v", id, out, err)
				}
			})
		}
		if stop > 0 {
			adaptertest.Must(t, adaptertest.KillLeader(ctx, cluster))
		}
		group.Wait()
	}
	for step, times := range did {
		if times != 1 {
			t.Errorf("%s took place %d times", step, times)
		}
	}
	if len(did) != runs*stops {
		t.Errorf("%d steps took place, want %d", len(did), runs*stops)
	}
}
