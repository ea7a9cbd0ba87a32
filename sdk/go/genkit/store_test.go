package genkit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/firebase/genkit/go/core/x/session"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/sdk/go/genkit"
	"github.com/turnlog/turnlog/turn"
)

// state is that of the tests' sessions.
type state struct {
	Name  string         `json:"name"`
	Notes []string       `json:"notes,omitempty"`
	More  map[string]any `json:"more,omitempty"`
}

var _ session.Store[state] = (*genkit.Store[state])(nil)

func connect(t *testing.T, addrs ...string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Addrs: addrs, RetryFor: time.Minute})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestStore: states come back as they were saved, to other programs, too; a session that is not there is
// not found.
func TestStore(t *testing.T) {
	t.Parallel()
	c := connect(t, turnlogtest.Start(t).Addr())
	store := genkit.NewStore[state](c, genkit.Config{Prefix: "genkit:", Keep: 2, TTL: time.Hour})
	var missing *session.NotFoundError
	if _, err := session.Load(t.Context(), store, "alice"); !errors.As(err, &missing) {
		t.Errorf("loaded what is not there: %v", err)
	}
	s, err := session.New(t.Context(), session.WithStore(store), session.WithID[state]("alice"))
	must(t, err)
	want := state{Name: "Łódź\x00", Notes: []string{"a", ""}, More: map[string]any{"n": 1.5, "x": nil}}
	for range 3 {
		must(t, s.UpdateState(t.Context(), want))
	}
	loaded, err := session.Load(t.Context(), genkit.NewStore[state](c, genkit.Config{Prefix: "genkit:"}), "alice")
	must(t, err)
	if got := loaded.State(); loaded.ID() != "alice" || !reflect.DeepEqual(got, want) {
		t.Errorf("loaded %q: %+v", loaded.ID(), got)
	}
	info, err := c.Session("genkit:alice").Info(t.Context())
	if err != nil || info.Count != 2 || info.ExpiresAt == 0 {
		t.Errorf("kept is %+v, %v", info, err)
	}
	for _, want := range []bool{true, false} {
		if existed, err := store.Delete(t.Context(), "alice"); existed != want || err != nil {
			t.Errorf("deleted %t, %v; want %t", existed, err, want)
		}
	}
	if data, err := store.Get(t.Context(), "alice"); data != nil || err != nil {
		t.Errorf("deleted, and read %+v, %v", data, err)
	}
}

// TestSaysWhy: what cannot be saved or read is an error, and no empty session.
func TestSaysWhy(t *testing.T) {
	t.Parallel()
	c := connect(t, turnlogtest.Start(t).Addr())
	store := genkit.NewStore[state](c, genkit.Config{})
	if err := store.Save(t.Context(), "alice", nil); !turn.Is(err, turn.Invalid) {
		t.Errorf("saved nothing: %v", err)
	}
	broken := &session.Data[state]{State: state{More: map[string]any{"f": func() {}}}}
	if err := store.Save(t.Context(), "alice", broken); err == nil {
		t.Error("saved a function")
	}
	for _, other := range []string{"no JSON", `{"role":"user","content":"Where is my order?"}`} {
		_, err := c.Session("bob").Append(t.Context(), turn.NewMessage{Data: []byte(other)})
		must(t, err)
		if data, err := store.Get(t.Context(), "bob"); err == nil {
			t.Errorf("read %s as %+v", other, data)
		}
	}
}

// TestConditional: of two requests that have loaded the same state one saves, and a session is not made
// twice.
func TestConditional(t *testing.T) {
	t.Parallel()
	c := connect(t, turnlogtest.Start(t).Addr())
	request := func() *genkit.Store[state] {
		return genkit.NewStore[state](c, genkit.Config{Conditional: true})
	}
	_, err := session.New(t.Context(), session.WithStore(request()), session.WithID[state]("alice"))
	must(t, err)
	if _, err := session.New(t.Context(), session.WithStore(request()),
		session.WithID[state]("alice")); !turn.Is(err, turn.Conflict) {
		t.Errorf("made a second time: %v", err)
	}
	a, err := session.Load(t.Context(), request(), "alice")
	must(t, err)
	store := request()
	b, err := session.Load(t.Context(), store, "alice")
	must(t, err)
	must(t, a.UpdateState(t.Context(), state{Name: "first"}))
	must(t, a.UpdateState(t.Context(), state{Name: "second"}))
	if err := b.UpdateState(t.Context(), state{Name: "late"}); !turn.Is(err, turn.Conflict) {
		t.Errorf("saved over what was not read: %v", err)
	}
	if b, err = session.Load(t.Context(), store, "alice"); err != nil || b.State().Name != "second" {
		t.Fatalf("loaded %+v, %v", b, err)
	}
	must(t, b.UpdateState(t.Context(), state{Name: "third"}))
	if _, err := store.Delete(t.Context(), "alice"); err != nil {
		t.Error(err)
	}
	must(t, b.UpdateState(t.Context(), state{Name: "again"}))
}

// TestFailover: while leaders are killed, every note that concurrent requests add to one state is kept,
// once.
func TestFailover(t *testing.T) {
	cluster := turnlogtest.StartCluster(t)
	c := connect(t, cluster.Addrs()...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := session.New(ctx, session.WithStore(genkit.NewStore[state](c, genkit.Config{})),
		session.WithID[state]("alice"))
	must(t, err)
	stop := make(chan struct{})
	var adding sync.WaitGroup
	added := make([][]string, 4) // by worker
	for w := range added {
		adding.Go(func() {
			added[w] = addUntil(ctx, t, c, fmt.Sprint("worker ", w), stop)
		})
	}
	for range 2 {
		leader, err := cluster.Leader(ctx)
		must(t, err)
		must(t, leader.Kill())
		_, err = cluster.Leader(ctx)
		must(t, err)
		must(t, leader.Restart())
	}
	close(stop)
	adding.Wait()
	s, err := session.Load(ctx, genkit.NewStore[state](c, genkit.Config{}), "alice")
	must(t, err)
	got, want := s.State().Notes, slices.Concat(added...)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("kept %q, added were %q", got, want)
	}
	t.Logf("%d notes", len(want))
}

// addUntil adds notes until stop is closed, and then one more: after the failovers.
func addUntil(ctx context.Context, t *testing.T, c *client.Client, name string, stop <-chan struct{}) (added []string) {
	for last := false; !last; {
		select {
		case <-stop:
			last = true
		default:
		}
		note := fmt.Sprint(name, ", note ", len(added))
		if err := addNote(ctx, c, note); err != nil {
			t.Error(err)
			return added
		}
		added = append(added, note)
	}
	return added
}

// addNote adds to the state what no other request overwrites.
func addNote(ctx context.Context, c *client.Client, note string) error {
	for {
		s, err := session.Load(ctx, genkit.NewStore[state](c, genkit.Config{Conditional: true}), "alice")
		if err != nil {
			return err
		}
		now := s.State()
		now.Notes = append(now.Notes, note)
		if err := s.UpdateState(ctx, now); !turn.Is(err, turn.Conflict) {
			return err
		}
	}
}

// A request loads a session, and saves it if no other request has done so meanwhile.
func Example() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := turnlogtest.New(dir) // in production, a cluster
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	c, err := client.New(client.Config{Addrs: []string{server.Addr()}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	type preferences struct{ Language string }
	store := genkit.NewStore[preferences](c, genkit.Config{Conditional: true})
	s, err := session.New(ctx, session.WithStore(store), session.WithID[preferences]("alice"))
	if err != nil {
		log.Fatal(err)
	}
	if err := s.UpdateState(ctx, preferences{Language: "pl"}); err != nil {
		log.Fatal(err)
	}
	s, err = session.Load(ctx, store, "alice")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.State().Language)
	// Output: pl
}
