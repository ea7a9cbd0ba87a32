package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/lincheck/history"
)

func testEnv(t *testing.T) (*Env, func() *history.History) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	rec, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	e := &Env{Cluster: &cluster.Cluster{}, Recorder: rec, Rand: rand.New(rand.NewPCG(1, 1)),
		Calm: [2]time.Duration{0, time.Millisecond}}
	return e, func() *history.History {
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		h, err := history.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
}

// counted is a fault that counts how often it is injected and undone.
func counted(name string, open, total *int, alone bool) Fault {
	return Fault{Name: name, Alone: alone, Hold: [2]time.Duration{0, time.Millisecond},
		Pick: func(context.Context, *Env) (string, action) {
			return "n1", func(context.Context) (healer, error) {
				*open++
				*total++
				return func(context.Context) error { *open--; return nil }, nil
			}
		}}
}

func TestRunUndoesWhatItDoes(t *testing.T) {
	e, load := testEnv(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var open, total, both int
	faults := []Fault{counted("a", &open, &total, false), counted("b", &open, &total, false),
		counted("c", &open, &total, true),
		{Name: "no-target", Pick: func(context.Context, *Env) (string, action) { return "", nil }},
		{Name: "too-few-nodes", Nodes: 3,
			Pick: func(context.Context, *Env) (string, action) { panic("on a cluster without nodes") }},
		{Name: "watch", Pick: func(context.Context, *Env) (string, action) {
			if both = max(both, open); both > 0 && total >= 10 {
				cancel() // that is enough
			}
			return "", nil
		}}}
	if err := Run(ctx, e, faults); err != nil {
		t.Fatal(err)
	}
	if open != 0 || total < 10 || both == 0 {
		t.Errorf("%d left open of %d; %d open during another", open, total, both)
	}
	begun := map[string]int{}
	for _, m := range load().Marks {
		if m.Begin {
			begun[m.Text]++
		} else {
			begun[m.Text]--
		}
		if begun["c"] == 1 && begun["a"]+begun["b"] > 0 {
			t.Fatal("a fault that is to be alone was not")
		}
	}
	for name, n := range begun {
		if n != 0 {
			t.Errorf("%s: %d more begun than ended", name, n)
		}
	}
}

func TestRunFails(t *testing.T) {
	broken := errors.New("broken")
	for name, act := range map[string]action{
		"inject": func(context.Context) (healer, error) { return nil, broken },
		"undo": func(context.Context) (healer, error) {
			return func(context.Context) error { return broken }, nil
		},
	} {
		e, _ := testEnv(t)
		f := Fault{Name: "f", Pick: func(context.Context, *Env) (string, action) { return "n1", act }}
		if err := Run(t.Context(), e, []Fault{f}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "f") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
