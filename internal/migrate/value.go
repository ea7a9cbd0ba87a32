package migrate

import (
	"context"
	"fmt"
	"iter"

	"github.com/redis/go-redis/v9"

	"github.com/turnlog/turnlog/turn"
)

// valueCopy is the way of one key that is moved by itself.
type valueCopy struct {
	*Job
	*item
	ours bool // what the target has of the key was written by this copy
	attempt
}

// attempt is what one attempt finds and does. When it breaks off, the next one
// looks again at both ends.
type attempt struct {
	digest *digest // nil: it cannot be told
	amount Amount
	reason string // of a conflict
	groups int64  // consumer groups, which stay behind

	begun    int64  // elements that the target had of it
	at       string // where the source goes on behind them
	replaced bool   // what the target had is to be removed
	added    int64
}

// maxString bounds a string, which is read and written whole.
const maxString = 128 << 20

// run brings the target's key to the state of the source's.
func (c *valueCopy) run(ctx context.Context) (Verdict, error) {
	now, err := c.describe(ctx, c.source, c.key, true)
	if err != nil {
		return "", c.place(c.cfg.Source, err)
	}
	if c.state = now; !c.exists() {
		return Vanished, nil
	}
	if c.kind = kindOf(c.typ, c.newestFirst(c.key)); c.kind == nil {
		return Unsupported, nil
	}
	if c.digest = c.ledger.digest(c.kind); c.kind == stringKind && c.count > maxString {
		return "", &refusal{fmt.Errorf("it has %d bytes", c.count)}
	}
	conflict, whole, err := c.compare(ctx)
	if err != nil {
		return "", err
	}
	if conflict != "" {
		if c.reason = conflict; !c.cfg.Replace {
			return Conflict, nil
		}
		c.at, c.amount, c.replaced, whole = "", Amount{}, true, false
		c.digest = c.ledger.digest(c.kind)
	}
	if !whole {
		if err := c.write(ctx); err != nil {
			return "", err
		}
	}
	if !c.kind.ordered && !c.small(c.kind) {
		c.digest = nil // a walk in pages can show an element twice
	}
	switch exists, err := c.finish(ctx); {
	case err != nil:
		return "", err
	case !exists && !c.ours:
		return Gone, nil
	case !exists:
		return Vanished, c.undo(ctx)
	case c.replaced:
		return Replaced, nil
	case c.added > 0 || !whole:
		return Copied, nil
	}
	return Present, nil
}

// compare finds out how much of the value the target has. conflict says why what
// it has is no part of the value; whole that nothing is missing.
func (c *valueCopy) compare(ctx context.Context) (conflict string, whole bool, err error) {
	have, err := c.describe(ctx, c.target, c.to, false)
	if err != nil {
		return "", false, c.place(c.cfg.Target, err)
	}
	switch {
	case have.refused != nil:
		return "", false, &refusal{have.refused}
	case !have.exists():
		c.ours = true
		return "", false, nil
	case have.typ != c.typ:
		c.begun = have.count
		return "the target has a " + have.typ, false, nil
	default:
		c.begun = have.count
	}
	if c.kind.ordered {
		return c.compareOrdered(ctx)
	}
	return c.compareNamed(ctx)
}

func (c *valueCopy) compareOrdered(ctx context.Context) (conflict string, whole bool, err error) {
	next, stop := iter.Pull2(c.fromSource("").elements(ctx))
	defer stop()
	n, last := int64(0), element(nil)
	for e, err := range c.atTarget(c.item).elements(ctx) {
		if err != nil {
			return "", false, err
		}
		mine, err, more := next()
		if err != nil {
			return "", false, err
		}
		if !more {
			return "the target has more elements", false, nil
		}
		if !c.kind.equal([]element{mine}, []element{e}) {
			return fmt.Sprintf("element %d is another one at the target", n), false, nil
		}
		c.take(mine)
		n, last = n+1, e
	}
	if c.begun = n; c.kind == stringKind {
		return "", true, nil
	}
	if _, err, more := next(); err != nil || !more {
		return "", true, err
	}
	if n > 0 {
		c.at, err = c.kind.after(n, last)
	}
	return "", false, err
}

func (c *valueCopy) compareNamed(ctx context.Context) (conflict string, whole bool, err error) {
	for page, err := range c.atTarget(c.item).pages(ctx) {
		if err != nil {
			return "", false, err
		}
		if held, err := c.holds(ctx, c.source, c.kind, c.key, page); err != nil || !held {
			return "the target has elements that the source does not have", false, err
		}
		for _, e := range page {
			if c.begun == c.count {
				c.take(e)
			}
		}
	}
	return "", c.begun == c.count, nil
}

// take counts an element as being at the target.
func (c *valueCopy) take(page ...element) {
	c.digest.add(page...)
	c.amount.Elements += int64(len(page))
	c.amount.Bytes += int64(sizeOf(page))
}

// fromSource reads the source from a position on.
func (c *valueCopy) fromSource(at string) reader {
	r := c.atSource(c.item)
	r.at = at
	return r
}

// write adds what is missing, page by page.
func (c *valueCopy) write(ctx context.Context) error {
	for page, err := range c.fromSource(c.at).pages(ctx) {
		if err != nil {
			return err
		}
		if err := c.add(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// add writes a page, in parts if the target does not take it whole: then only an
// element that is refused by itself refuses the key.
func (c *valueCopy) add(ctx context.Context, page []element) error {
	err := c.check(page)
	if err == nil && !c.cfg.DryRun {
		err = c.writePage(ctx, page)
	}
	switch n := len(page); {
	case err == nil:
		c.take(page...)
		c.added += int64(n)
		c.elements.Add(int64(n))
		c.steps.Add(1)
		return nil
	case !ofKey(err):
		return err
	case n > 1:
		if err := c.add(ctx, page[:n/2]); err != nil {
			return err
		}
		return c.add(ctx, page[n/2:])
	}
	at := c.startsAt() + c.added
	if err := c.undo(ctx); err != nil {
		return err
	}
	return &refusal{fmt.Errorf("element %d: %w", at, err)}
}

// writePage adds elements if the target's key is as this copy has left it.
func (c *valueCopy) writePage(ctx context.Context, page []element) error {
	commands := c.kind.commands(c.to, page)
	first := c.added == 0
	if first && c.replaced {
		commands = append([][]any{{"del", c.to}}, commands...)
	}
	tried := false
	err := c.persist(ctx, func() error {
		return c.target.Watch(ctx, func(tx *redis.Tx) error {
			there, err := describe(ctx, tx, []string{c.to}, false)
			if err != nil {
				return err
			}
			have := there[0].count
			switch {
			case tried && first && c.replaced:
				return errMoved // whether that was done, only a comparison tells
			case tried && c.kind.ordered && have == c.startsAt()+c.added+int64(len(page)):
				return nil // it did take place; only the answer was lost
			}
			if (first || c.kind.ordered) && have != c.expected() {
				return errMoved
			}
			tried = true
			return transact(ctx, tx, commands)
		}, c.to)
	})
	if err == nil && c.replaced {
		c.ours = true
	}
	if ofKey(err) {
		return err
	}
	return c.place(c.cfg.Target, err)
}

// startsAt is the index of the first element that this attempt writes.
func (c *valueCopy) startsAt() int64 {
	if c.replaced {
		return 0
	}
	return c.begun
}

// expected is the number of elements at the target.
func (c *valueCopy) expected() int64 {
	if c.added == 0 {
		return c.begun
	}
	return c.startsAt() + c.added
}

// undo removes what this copy wrote of a value that the target does not take
// whole. What the target had of it before stays.
func (c *valueCopy) undo(ctx context.Context) error {
	if !c.ours || c.expected() == 0 {
		return nil
	}
	return c.persist(ctx, func() error {
		return c.target.Watch(ctx, func(tx *redis.Tx) error {
			there, err := describe(ctx, tx, []string{c.to}, false)
			if err != nil {
				return err
			}
			if have := there[0].count; have > c.expected() || have < c.expected() && c.kind.ordered {
				return nil // somebody else's, too
			}
			return transact(ctx, tx, [][]any{{"del", c.to}})
		}, c.to)
	})
}

// check holds elements against the limits, in a dry run.
func (c *valueCopy) check(page []element) error {
	l := c.cfg.Limits
	if l == nil || !c.cfg.DryRun {
		return nil
	}
	for i, e := range page {
		if n := e.size(); n > l.MessageBytes {
			return &refusal{fmt.Errorf("element %d has %d bytes, the limit is %d", c.startsAt()+c.added+int64(i), n,
				l.MessageBytes)}
		}
		if n := len(e[0]); !c.kind.ordered && n > turn.MaxNameBytes {
			return &refusal{fmt.Errorf("element %d has a name of %d bytes, the limit is %d",
				c.startsAt()+c.added+int64(i), n, turn.MaxNameBytes)}
		}
	}
	return nil
}
