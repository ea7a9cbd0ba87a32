package workload

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// txAPI does everything in transactions of Redis. A session is four keys: a
// list; another one, to which the same is pushed; a counter to which the length
// is added, and one from which it is taken. Whenever they are seen together they
// must agree.
type txAPI struct{ respAPI }

func (d *txAPI) Do(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error) {
	keys := []string{key.Name, key.Name + ".twin", key.Name + ".up", key.Name + ".down"}
	var steps [][]string
	switch c.Func {
	case history.Append:
		push := []string{"RPUSH", keys[0]}
		for _, v := range c.Values {
			push = append(push, string(payload(v)))
		}
		twin := slices.Clone(push)
		twin[1] = keys[1]
		n := strconv.Itoa(len(c.Values))
		steps = [][]string{push, twin, {"INCRBY", keys[2], n}, {"DECRBY", keys[3], n}}
	case history.Read:
		steps = [][]string{{"LRANGE", keys[0], "0", "-1"}, {"LRANGE", keys[1], "0", "-1"}, {"GET", keys[2]},
			{"GET", keys[3]}}
	default:
		return history.Result{}, unsupported(TX, c)
	}
	var watched uint64
	if c.Watch {
		var err error
		if watched, err = d.watch(ctx, key.Namespace, keys); err != nil {
			d.Close() // what is watched now is not known
			return history.Result{}, err
		}
	}
	v, err := d.exec(ctx, key.Namespace, c.Func.Writes(), steps)
	if err != nil {
		return history.Result{}, err
	}
	r := txResult(v, c)
	r.Watched = watched
	return r, nil
}

// watch watches the keys and returns one more than the length of the first.
func (d *txAPI) watch(ctx context.Context, namespace string, keys []string) (uint64, error) {
	if _, err := d.command(ctx, namespace, false, append([]string{"WATCH"}, keys...)); err != nil {
		return 0, err
	}
	v, err := d.command(ctx, namespace, false, []string{"LLEN", keys[0]})
	n, _ := v.Int64()
	return uint64(n) + 1, err
}

// exec carries out a transaction.
func (d *respAPI) exec(ctx context.Context, namespace string, writes bool, steps [][]string) (resp.Value, error) {
	for _, step := range append([][]string{{"MULTI"}}, steps...) {
		if _, err := d.command(ctx, namespace, false, step); err != nil {
			d.Close() // and with it what is queued
			return resp.Value{}, err
		}
	}
	v, err := d.command(ctx, namespace, writes, []string{"EXEC"})
	if err == nil && v.IsNull() {
		err = turn.Errorf(turn.Conflict, "a watched key has changed")
	}
	return v, err
}

// txResult makes one result of four answers, or, if they do not agree, one with
// a message that was not appended.
func txResult(v resp.Value, c *history.Call) history.Result {
	if len(v.Elems) != 4 {
		return apart("EXEC has %d answers", len(v.Elems))
	}
	var length [4]int64
	for i, e := range v.Elems {
		if err := e.Err(); err != nil {
			return apart("step %d of a transaction: %v", i+1, err)
		}
		switch {
		case e.IsNull():
		case c.Func == history.Read && i < 2:
			length[i] = int64(len(e.Elems))
		default:
			length[i], _ = e.Int64()
		}
	}
	n := length[0]
	if length != [4]int64{n, n, n, -n} {
		return apart("lists of %d and %d messages, counters at %d and %d", length[0], length[1], length[2], length[3])
	}
	r := history.Result{Count: uint64(n), Last: uint64(n)}
	if c.Func == history.Append {
		r.First = r.Last - uint64(len(c.Values)) + 1
		return r
	}
	for i := range v.Elems[0].Elems {
		value, twin := token(v.Elems[0].Elems[i].Str), token(v.Elems[1].Elems[i].Str)
		if value != twin {
			return apart("message %d is %s in one list and %s in the other", i+1, value, twin)
		}
		r.Messages = append(r.Messages, history.Message{Seq: uint64(i) + 1, Value: value})
	}
	return r
}

func apart(format string, args ...any) history.Result {
	return history.Result{Messages: []history.Message{{Value: "a transaction torn apart: " +
		fmt.Sprintf(format, args...)}}}
}
