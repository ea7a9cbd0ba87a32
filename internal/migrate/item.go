package migrate

import (
	"context"
	"slices"
)

// item is a key to be moved.
type item struct {
	key, to string // its names at the source and the target
	state
	kind *kind // nil: cannot be moved
}

func (j *Job) finding(it *item, v Verdict, reason string) Finding {
	return Finding{DB: j.cfg.Source.DB, Key: it.key, Type: it.typ, Verdict: v, Reason: reason}
}

// items looks keys up at the source. Those that are gone, or not selected, are
// left out.
func (j *Job) items(ctx context.Context, keys []string) (items []*item, err error) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { _, ok := j.targetName(key); return !ok })
	var states []state
	err = j.persist(ctx, func() (err error) {
		states, err = describe(ctx, j.source, keys, true)
		return err
	})
	for i, s := range states {
		to, _ := j.targetName(keys[i])
		it := &item{key: keys[i], to: to, state: s, kind: kindOf(s.typ, j.newestFirst(keys[i]))}
		if s.exists() {
			items = append(items, it)
		}
	}
	return items, j.place(j.cfg.Source, err)
}

// create returns the commands that make a key that is not there; nil, if its time
// is up.
func (it *item) create(value []element) [][]any {
	commands := it.kind.commands(it.to, value)
	if !it.ends {
		return commands
	}
	ms := it.left().Milliseconds()
	if ms <= 0 {
		return nil
	}
	return append(commands, []any{"pexpire", it.to, ms})
}
