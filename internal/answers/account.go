// Package answers lets the caller of a query bound the memory of its answer at the moment at which a node makes the
// answer: after it has waited for its turn, and before it reads anything.
package answers

import (
	"context"

	"github.com/turnlog/turnlog/turn"
)

// Account is what answers are charged to.
type Account interface {
	// Begin is called before the answer to a query is made. It may wait for room; if it returns an error, that is the
	// answer. ask answers small queries about the same state.
	Begin(ctx context.Context, q turn.Query, ask func(turn.Query) (turn.Result, error)) error
	// Made is told how many bytes the answer has, see Size, if there was no error.
	Made(n int64)
	// Kept is told of n bytes that the caller keeps of answers.
	Kept(n int)
}

type key struct{}

// With returns a context in which answers are charged to an account.
func With(ctx context.Context, a Account) context.Context { return context.WithValue(ctx, key{}, a) }

// Of returns the account of the context; nil: there is none.
func Of(ctx context.Context) Account {
	a, _ := ctx.Value(key{}).(Account)
	return a
}

// Make makes an answer, charged to the account of the context, if there is one.
func Make(ctx context.Context, q turn.Query, ask func(turn.Query) (turn.Result, error)) (turn.Result, error) {
	a := Of(ctx)
	if a == nil {
		return ask(q)
	}
	if err := a.Begin(ctx, q, ask); err != nil {
		return turn.Result{}, err
	}
	r, err := ask(q)
	if err == nil {
		a.Made(Size(&r))
	}
	return r, err
}
