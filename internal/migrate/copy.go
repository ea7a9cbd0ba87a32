package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// copyBatch copies keys that SCAN gave at once: small ones together, the others
// one after the other.
func (j *Job) copyBatch(ctx context.Context, keys []string) error {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		_, seen := j.ledger.get(key) // SCAN can give a key twice
		return seen
	})
	items, err := j.items(ctx, keys)
	if err != nil {
		return err
	}
	var small, single []*item
	for _, it := range items {
		switch {
		case it.kind == nil:
			j.report.note(j.finding(it, Unsupported, "turnlog has no such type"))
			j.ledger.set(it.key, note{})
		case it.small(it.kind) && it.kind != streamKind: // streams have more to them than entries
			small = append(small, it)
		default:
			single = append(single, it)
		}
	}
	var left []*item
	err = j.persist(ctx, func() (err error) {
		left, err = j.copySmall(ctx, small)
		return err
	})
	if err != nil {
		return err
	}
	for _, it := range append(single, left...) {
		if err := j.copyOne(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

// copySmall copies keys in one transaction. It returns those that need to be
// looked at one by one: because the target has something of that name, or
// because it refuses the transaction, with or without a reason of theirs.
func (j *Job) copySmall(ctx context.Context, items []*item) (left []*item, err error) {
	if len(items) == 0 {
		return nil, nil
	}
	values, err := j.read(ctx, items)
	if errors.Is(err, errMoved) {
		return items, nil
	}
	if err != nil {
		return nil, j.place(j.cfg.Source, err)
	}
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.to
	}
	done := make([]Verdict, len(items))
	err = j.target.Watch(ctx, func(tx *redis.Tx) error {
		there, err := describe(ctx, tx, names, false)
		if err != nil {
			return err
		}
		if err := j.present(ctx, tx, items, values, there, done); err != nil {
			return err
		}
		var commands [][]any
		for i, it := range items {
			switch {
			case done[i] != "":
			case len(values[i]) == 0:
				done[i] = Vanished
			case !there[i].exists() && !j.cfg.DryRun:
				if add := it.create(values[i]); add == nil {
					done[i] = Vanished
				} else {
					done[i], commands = Copied, append(commands, add...)
				}
			}
		}
		if len(commands) == 0 {
			return nil
		}
		return transact(ctx, tx, commands)
	}, names...)
	if err != nil && !ofKey(err) && !errors.Is(err, errMoved) {
		return nil, j.place(j.cfg.Target, err)
	}
	for i, it := range items {
		if err != nil || done[i] == "" {
			left = append(left, it)
			continue
		}
		j.elements.Add(int64(len(values[i])))
		j.settle(it, done[i], j.ledger.digest(it.kind).add(values[i]...),
			Amount{Elements: int64(len(values[i])), Bytes: int64(sizeOf(values[i]))})
	}
	return left, nil
}

// present marks the items that the target has already.
func (j *Job) present(ctx context.Context, tx *redis.Tx, items []*item, values [][]element, there []state,
	done []Verdict) error {
	var kinds []*kind
	var names []string
	var places []int
	for i, it := range items {
		if have := there[i]; have.typ == it.typ && have.count == it.count && j.sameDeadline(it.state, have) {
			kinds, names, places = append(kinds, it.kind), append(names, it.to), append(places, i)
		}
	}
	have, err := wholes(ctx, tx, kinds, names)
	for n, i := range places {
		if err == nil && items[i].kind.equal(values[i], have[n]) {
			done[i] = Present
		}
	}
	return err
}

// read returns the values of small keys.
func (j *Job) read(ctx context.Context, items []*item) ([][]element, error) {
	kinds, keys := make([]*kind, len(items)), make([]string, len(items))
	for i, it := range items {
		kinds[i], keys[i] = it.kind, it.key
	}
	values, err := wholes(ctx, j.source, kinds, keys)
	if err != nil {
		return nil, err
	}
	size := 0
	for i, v := range values {
		size += len(keys[i]) + sizeOf(v)
	}
	return values, j.pacer.wait(ctx, size)
}

// settle notes what became of a key that was looked at to its end.
func (j *Job) settle(it *item, v Verdict, d *digest, a Amount) {
	j.report.note(j.finding(it, v, ""))
	if v == Vanished || v == Gone {
		return
	}
	if a.Keys = 1; it.ends {
		a.Expiring = 1
	}
	j.report.count(it.typ, a)
	n := note{arrived: true}
	if d != nil {
		n.known, n.sum = true, d.sum
	}
	j.ledger.set(it.key, n)
}

// copyOne copies a key by itself, whatever its size and whatever the target has.
func (j *Job) copyOne(ctx context.Context, it *item) error {
	c := &valueCopy{Job: j, item: it}
	var v Verdict
	err := settled(func() (err error) {
		c.attempt = attempt{}
		v, err = c.run(ctx)
		return err
	})
	refused := (*refusal)(nil)
	switch {
	case errors.As(err, &refused), errors.Is(err, errMoved):
		j.report.note(j.finding(it, Refused, err.Error()))
		j.ledger.set(it.key, note{})
	case err != nil:
		return fmt.Errorf("key %q: %w", it.key, err)
	case v == Conflict || v == Unsupported:
		j.report.note(j.finding(it, v, c.reason))
		j.ledger.set(it.key, note{})
	default:
		if j.settle(it, v, c.digest, c.amount); c.groups > 0 {
			j.report.note(j.finding(it, Groups, fmt.Sprintf("%d of them", c.groups)))
		}
	}
	return nil
}

// refusal is why the target does not take a key.
type refusal struct{ error }
