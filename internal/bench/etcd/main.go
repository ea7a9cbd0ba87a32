// Command etcd puts load on etcd for `turnlog bench --standard --etcd`: it reads a
// bench.Job from its standard input and writes a bench.Result to its standard
// output. It is a module of its own, so that etcd's client library is no
// dependency of turnlog.
//
// A message is a value under a key of its own, SESSION/PLACE. Places fall with
// time: so the last messages of a session are the first of its range, which etcd
// reads in order up to the limit, whereas it would read the whole range to turn it
// round. Nor does an append find out its place from the store.
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/turnlog/turnlog/internal/bench"
	"github.com/turnlog/turnlog/internal/bench/target"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Later than those of all earlier processes.
	appended := new(atomic.Int64)
	appended.Store(time.Now().UnixNano())
	open := func(ctx context.Context, addr string) (target.StoreClient, error) {
		return connect(ctx, addr, appended)
	}
	if err := bench.Perform(ctx, os.Stdin, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// store is a client with a gRPC connection of its own.
type store struct {
	*clientv3.Client
	appended *atomic.Int64 // rises with each message of all clients
}

func connect(ctx context.Context, addr string, appended *atomic.Int64) (*store, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := c.Status(ctx, addr); err != nil { // New does not connect
		c.Close()
		return nil, err
	}
	return &store{c, appended}, nil
}

// maxPuts is how many operations a transaction may have by default.
const maxPuts = 128

func (s *store) Append(ctx context.Context, session string, messages [][]byte) error {
	if len(messages) == 1 {
		_, err := s.Put(ctx, s.nextKey(session), string(messages[0]))
		return err
	}
	if len(messages) > maxPuts {
		return fmt.Errorf("etcd takes at most %d messages at once, not %d", maxPuts, len(messages))
	}
	var puts []clientv3.Op
	for _, m := range messages {
		puts = append(puts, clientv3.OpPut(s.nextKey(session), string(m)))
	}
	_, err := s.Txn(ctx).Then(puts...).Commit()
	return err
}

func (s *store) nextKey(session string) string {
	return fmt.Sprintf("%s/%016x", session, math.MaxInt64-s.appended.Add(1))
}

func (s *store) Read(ctx context.Context, session string, n int) error {
	res, err := s.Get(ctx, session+"/", clientv3.WithPrefix(), clientv3.WithLimit(int64(n)))
	if err == nil && len(res.Kvs) < n {
		err = fmt.Errorf("session %s has only %d messages", session, len(res.Kvs))
	}
	return err
}
