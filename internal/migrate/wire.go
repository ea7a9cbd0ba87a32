package migrate

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// pipeliner is a client, or a connection that watches keys.
type pipeliner interface {
	Pipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
}

// ask sends commands in one go and returns their replies: a string, an int64, a
// []any, nil, or the error with which a command was refused. It fails if replies
// are missing.
func ask(ctx context.Context, p pipeliner, commands [][]any) ([]any, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	cmds, err := p.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, c := range commands {
			pipe.Do(ctx, c...)
		}
		return nil
	})
	replies := make([]any, len(cmds))
	for i, c := range cmds {
		reply, err := c.(*redis.Cmd).Result()
		switch {
		case errors.Is(err, redis.Nil):
		case isReply(err) && !transient(err):
			replies[i] = err
		case err != nil:
			return nil, err
		default:
			replies[i] = reply
		}
	}
	if len(cmds) != len(commands) {
		return nil, err
	}
	return replies, nil
}

// transact takes commands as one transaction of a connection that watches keys.
// An error that is a reply means, for the commands used here, that nothing was done.
func transact(ctx context.Context, tx *redis.Tx, commands [][]any) error {
	cmds, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, c := range commands {
			pipe.Do(ctx, c...)
		}
		return nil
	})
	if err == nil || errors.Is(err, redis.TxFailedErr) {
		return err
	}
	for _, c := range cmds { // the first reason, not that there was one
		if err := c.Err(); err != nil && code(err) != "EXECABORT" {
			return err
		}
	}
	return err
}

// errMoved: a key was changed by somebody else while it was worked on; what was
// found out about it does not hold any more.
var errMoved = errors.New("another client keeps changing the key")

// maxMoves is how often work on a key is begun again because of errMoved.
const maxMoves = 10

// settled repeats f while keys move under its hands.
func settled(f func() error) (err error) {
	for range maxMoves {
		if err = f(); !errors.Is(err, errMoved) {
			break
		}
	}
	return err
}

// code is the first word of an error reply, empty for any other error.
func code(err error) string {
	r := (redis.Error)(nil)
	if !errors.As(err, &r) {
		return ""
	}
	word, _, _ := strings.Cut(r.Error(), " ")
	return word
}

func isReply(err error) bool { return code(err) != "" }

// transient reports whether err has a passing cause. What failed may be tried
// again, since nothing here is written without looking first at what is there.
func transient(err error) bool {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && !isNetwork(err):
		return false
	case errors.Is(err, redis.TxFailedErr):
		return true
	case !isReply(err):
		return isNetwork(err)
	}
	switch code(err) {
	case "LOADING", "UNKNOWNRESULT", "OVERLOADED", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN":
		return true
	}
	return false
}

func isNetwork(err error) bool {
	n := (net.Error)(nil)
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, redis.ErrPoolTimeout)
}

// ofKey reports whether err is a refusal that concerns one key, so that the
// others can go on.
func ofKey(err error) bool {
	if !isReply(err) || transient(err) {
		return false
	}
	switch code(err) {
	case "NOAUTH", "WRONGPASS", "MISCONF", "READONLY", "MOVED", "OOM", "INTERNAL", "CORRUPT":
		return false
	}
	return true
}
