package turnlog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/internal/node"
)

// readyTime bounds how long a node that is alone takes to be ready.
const readyTime = time.Minute

// DB is a node of turnlog in this process. All methods may be called by any goroutine.
type DB struct {
	// Client is connected to the node, in the namespace "0", and has the calls on sessions. It can be
	// passed to code that takes a *client.Client. DB.Close closes it.
	*client.Client

	node  *node.Node
	joins bool // it waits to be added, if it has no data
	stop  context.CancelFunc
	ended chan struct{} // closed when the node has ended
	err   error         // why the node stopped by itself; set before ended is closed
	close func() error
}

// Open runs a node with its data in dir, which is created if missing, until Close. The node
// is alone: no other node can join it, and nothing can connect to it. When Open returns, it is
// ready for requests; that takes a few milliseconds, plus the time to read the end of the log.
//
// Open starts goroutines, and DB.Close ends them. A directory can be open only once at a time: the
// error of a second Open says so. Open(dir) is OpenCluster(Config{Dir: dir}).
func Open(dir string) (*DB, error) { return OpenCluster(Config{Dir: dir}) }

// OpenCluster runs a node, as cfg configures it, until Close. If the node has no address for other
// nodes (Peers.Addr), it is ready for requests when OpenCluster returns. If it has one, it may depend
// on other nodes that start later: requests then wait until the cluster is ready, for up to 15 s, and
// WaitReady waits until its context ends.
func OpenCluster(cfg Config) (*DB, error) {
	db, err := start(cfg)
	if err == nil && cfg.Peers.Addr == "" {
		err = db.waitAlone()
	}
	if err != nil {
		return nil, fmt.Errorf("turnlog: open %q: %w", cfg.Dir, err)
	}
	return db, nil
}

// start opens a node and runs it.
func start(cfg Config) (*DB, error) {
	n, err := openNode(cfg)
	if err != nil {
		return nil, err
	}
	db := &DB{node: n, joins: cfg.Peers.Join, ended: make(chan struct{})}
	db.close = sync.OnceValue(db.closeOnce)
	if db.Client, err = db.Namespace(""); err != nil {
		n.Close()
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	db.stop = stop
	go func() {
		defer close(db.ended)
		defer stop()
		db.err = n.Run(ctx, nil)
	}()
	return db, nil
}

// Namespace returns a Client of this node whose sessions are in another namespace; empty: "0". The
// caller closes it.
func (db *DB) Namespace(name string) (*client.Client, error) {
	return client.New(client.Config{Addrs: []string{"embedded:0"}, Namespace: name, Dial: db.Dial})
}

// Dial opens a connection to this node inside the process, over which it speaks Redis's protocol. It is
// the Dial of a client.Config and the Dialer of go-redis; network and addr are ignored. The connection
// needs no authentication, even if the node has users. When the node has stopped, the error says why, and
// wraps client.ErrClosed: a Client does not try again.
func (db *DB) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := db.node.Dial(ctx)
	if errors.Is(err, net.ErrClosed) {
		select {
		case <-db.ended:
			return nil, db.stopped()
		default:
		}
	}
	return c, err
}

// stopped says that the node has ended, and why.
func (db *DB) stopped() error { return stoppedError{db.err} }

// stoppedError is client.ErrClosed, too: nothing that is tried again reaches a node that has ended.
type stoppedError struct{ why error } // nil: the program closed it

// Error implements error.
func (e stoppedError) Error() string {
	if e.why == nil {
		return "the node is closed"
	}
	return "the node has stopped: " + e.why.Error()
}

// Is implements errors.Is.
func (stoppedError) Is(target error) bool { return target == client.ErrClosed }

// Unwrap implements errors.Unwrap.
func (e stoppedError) Unwrap() error { return e.why }

// Done returns a channel that is closed when the node has stopped: after Close, or by itself
// because of an error, such as a failed disk, which Close then returns.
func (db *DB) Done() <-chan struct{} { return db.ended }

// WaitReady waits until the node can serve every request: until it leads or knows a leader, and has
// caught up. It fails when ctx ends or the node stops, and says what is missing.
func (db *DB) WaitReady(ctx context.Context) error {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		ok, missing := db.node.Ready()
		if ok {
			return nil
		}
		select {
		case <-db.ended:
			return db.stopped()
		case <-ctx.Done():
			if db.joins {
				missing = append(missing, "AddNode on a member of the cluster makes it one, if it is none yet")
			}
			return fmt.Errorf("the node is not ready (%s): %w", strings.Join(missing, "; "), ctx.Err())
		case <-poll.C:
		}
	}
}

func (db *DB) waitAlone() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	err := db.WaitReady(ctx)
	if err != nil {
		_ = db.Close() // err says why
	}
	return err
}

// AddNode makes the node id, which listens for other nodes at addr and waits with an empty
// directory (Peers.Join, or `turnlog serve --join`), a member of this node's cluster. It returns
// when the node has the data and a vote. An error of kind turn.Unknown means that the node may have
// been added. AddNode may be called on any member, and again after an error.
func (db *DB) AddNode(ctx context.Context, id, addr string) error {
	return db.orStopped(db.node.AddNode(ctx, id, addr))
}

// AddLearner is AddNode for a node that gets no vote: it has all data and serves every request, and no majority waits
// for it. It returns when the node has the data. The node stays a learner until Promote.
func (db *DB) AddLearner(ctx context.Context, id, addr string) error {
	return db.orStopped(db.node.AddLearner(ctx, id, addr))
}

// Promote gives a learner a vote, once it has caught up. An error of kind turn.Exists means that it has one,
// turn.NotFound that it is not a member, and turn.Unknown that it may have got one. Promote may be called on any
// member, and again after an error.
func (db *DB) Promote(ctx context.Context, id string) error {
	return db.orStopped(db.node.Promote(ctx, id))
}

// Demote makes a voter a learner; that it runs is not required. Of the voters that remain, a majority must answer: the
// error is of kind turn.Unavailable otherwise, and nothing was changed. Errors are otherwise as of Promote.
func (db *DB) Demote(ctx context.Context, id string) error {
	return db.orStopped(db.node.Demote(ctx, id))
}

// RemoveNode ends the membership of a node. If that node runs, it stops by itself. An error of kind
// turn.Unknown means that the node may have been removed. RemoveNode may be called on any member, and
// again after an error.
func (db *DB) RemoveNode(ctx context.Context, id string) error {
	return db.orStopped(db.node.RemoveNode(ctx, id))
}

// orStopped adds to an error that the node has stopped, if it has, and keeps its kind.
func (db *DB) orStopped(err error) error {
	select {
	case <-db.ended:
		if err != nil {
			return fmt.Errorf("%w: %w", db.stopped(), err)
		}
	default:
	}
	return err
}

// RESPAddr returns the HOST:PORT on which the node listens for Redis and turnlog clients, empty if
// it does not.
func (db *DB) RESPAddr() string { return db.node.RESPAddr() }

// HTTPAddr returns the HOST:PORT on which the node listens for HTTP, empty if it does not.
func (db *DB) HTTPAddr() string { return db.node.HTTPAddr() }

// Metrics returns the metrics of this node. They are in no registry of the program; to show them
// with the program's own, use prometheus.Gatherers{prometheus.DefaultGatherer, db.Metrics()}.
func (db *DB) Metrics() prometheus.Gatherer { return db.node.Metrics() }

// Close ends the node, and returns when all of its goroutines have ended and its files are closed.
// Requests that were received are answered first, and a leader transfers leadership if there is another
// node. If the node had stopped by itself, Close returns the error that stopped it; further calls
// return the same.
func (db *DB) Close() error { return db.close() }

func (db *DB) closeOnce() error {
	db.stop()
	<-db.ended
	return errors.Join(db.err, db.Client.Close())
}
