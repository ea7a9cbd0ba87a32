package workload

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// subscriber is a API through which a session can be followed.
type subscriber interface {
	// tail yields the messages after a seq, and then each new one, until ctx or
	// the subscription ends.
	tail(ctx context.Context, key turn.Key, after uint64) iter.Seq2[history.Message, error]
}

var errLeft = errors.New("the subscriber left")

// tailer follows sessions of a pool, one after the other: a session until it is
// retired and all of it was seen.
type tailer struct {
	run     *Run
	pool    *pool
	rand    *rand.Rand
	apiName string
	user    string
	process int

	session *Session // that it follows
	after   uint64   // seq of the last message that it saw there
}

func newTailer(r *Run, p *pool, api, user string, seed uint64) *tailer {
	return &tailer{run: r, pool: p, apiName: api, user: user, process: r.newProcess(),
		rand: rand.New(rand.NewPCG(seed, 21))}
}

func (t *tailer) loop(ctx context.Context) {
	for ctx.Err() == nil && t.run.Failed() == nil {
		if t.session == nil || t.pool.retired(t.session) && (t.pool.w.Removes || t.after >= t.session.Last()) {
			all := t.pool.sessions()
			t.session, t.after = all[max(0, len(all)-1-t.rand.IntN(t.pool.w.Sessions))], 0
		}
		// Now and then a subscriber leaves and comes back where it was.
		limited, cancel := context.WithTimeout(ctx, time.Second+time.Duration(t.rand.Int64N(int64(8*time.Second))))
		t.follow(limited, t.run.pickNode(t.rand, nil))
		cancel()
	}
}

// catchUp follows the session, which is not appended to any more, to its end. Where messages are removed, the
// end may not be there to be seen.
func (t *tailer) catchUp(ctx context.Context) error {
	if t.pool.w.Removes {
		return nil
	}
	for t.session != nil && t.after < t.session.Last() {
		if ctx.Err() != nil {
			return fmt.Errorf("a subscriber of %s has seen seq %d and waits in vain for %d", t.session.Name(), t.after,
				t.session.Last())
		}
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		t.follow(limited, t.run.cluster.Nodes[t.rand.IntN(len(t.run.cluster.Nodes))])
		cancel()
	}
	return nil
}

// follow records what a subscription at n yields, message by message. It ends
// with the subscription, or with ctx.
func (t *tailer) follow(ctx context.Context, n *cluster.Node) {
	if n == nil {
		sleep(ctx, 100*time.Millisecond)
		return
	}
	api := open(t.apiName, t.run.cluster, n, t.user)
	defer api.Close()
	d, ok := api.(subscriber)
	if !ok {
		t.run.fail(fmt.Errorf("API %s has no subscriptions", t.apiName))
		return
	}
	op, err := t.invoke(n)
	for m, tailErr := range d.tail(ctx, t.session.Key, t.after) {
		if err != nil || tailErr != nil {
			err = errors.Join(err, tailErr)
			break
		}
		r := history.Result{Messages: []history.Message{m}}
		t.run.rec.Return(t.process, op, history.OK, &r, nil)
		t.run.counters.ok(&history.Call{Func: history.Tail}, &r, t.session)
		t.after = m.Seq
		if op, err = t.invoke(n); err != nil || t.after >= t.session.Last() && t.pool.retired(t.session) {
			break
		}
	}
	if err == nil {
		err = errLeft
	}
	t.run.rec.Return(t.process, op, history.Info, nil, &history.Error{Code: "ENDED", Message: err.Error()})
	t.process = t.run.newProcess()
	sleep(ctx, 20*time.Millisecond)
}

func (t *tailer) invoke(n *cluster.Node) (int64, error) {
	op, err := t.run.rec.Invoke(t.process, n.ID, t.apiName, t.session.Name(),
		history.Call{Func: history.Tail, Seq: t.after, User: t.user})
	if err != nil {
		t.run.fail(err)
	}
	return op, err
}
