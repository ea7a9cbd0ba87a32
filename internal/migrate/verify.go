package migrate

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// verifyBatch compares keys that SCAN gave at once.
func (j *Job) verifyBatch(ctx context.Context, keys []string) error {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		n, seen := j.ledger.get(key)
		return seen && (!n.arrived || n.checked) // that is reported already
	})
	var findings []Finding
	err := settled(func() error {
		return j.persist(ctx, func() error {
			items, err := j.items(ctx, keys)
			if err == nil {
				findings, err = j.compareItems(ctx, items)
			}
			return err
		})
	})
	for _, f := range findings {
		j.report.note(f)
		n, _ := j.ledger.get(f.Key)
		n.arrived, n.checked = true, true
		j.ledger.set(f.Key, n)
	}
	return err
}

// compareItems returns a finding for each item that exists.
func (j *Job) compareItems(ctx context.Context, items []*item) (findings []Finding, err error) {
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.to
	}
	there, err := describe(ctx, j.target, names, false)
	if err != nil {
		return nil, j.place(j.cfg.Target, err)
	}
	var same []*item // as far as can be seen without reading them
	var away []state
	for i, it := range items {
		switch {
		case it.kind == nil:
			findings = append(findings, j.finding(it, Unsupported, "turnlog has no such type"))
		case !there[i].exists() && it.ends && it.left() < j.cfg.TTLTolerance:
			findings = append(findings, j.finding(it, Vanished, ""))
		default:
			same, away = append(same, it), append(away, there[i])
		}
	}
	equal, err := j.equal(ctx, same, away)
	if err != nil {
		return nil, err
	}
	for i, it := range same {
		f, err := j.judge(ctx, it, away[i], equal[i])
		if err != nil {
			return nil, err
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// equal compares contents: of small values together, of others page by page.
func (j *Job) equal(ctx context.Context, items []*item, away []state) ([]bool, error) {
	equal := make([]bool, len(items))
	var small []*item
	var places []int
	for i, it := range items {
		if it.typ != away[i].typ || it.count != away[i].count {
			continue
		}
		if it.small(it.kind) {
			small, places = append(small, it), append(places, i)
			continue
		}
		var err error
		if equal[i], err = j.equalLong(ctx, it); err != nil {
			return nil, err
		}
		j.steps.Add(1)
	}
	here, err := j.read(ctx, small)
	if err != nil {
		return nil, j.place(j.cfg.Source, err)
	}
	kinds, names := make([]*kind, len(small)), make([]string, len(small))
	for i, it := range small {
		kinds[i], names[i] = it.kind, it.to
	}
	there, err := wholes(ctx, j.target, kinds, names)
	if err != nil {
		return nil, j.place(j.cfg.Target, err)
	}
	for i, it := range small {
		equal[places[i]] = it.kind.equal(here[i], there[i])
		j.elements.Add(int64(len(here[i])))
	}
	return equal, nil
}

func (j *Job) equalLong(ctx context.Context, it *item) (bool, error) {
	here, there := j.atSource(it), j.atTarget(it)
	if !it.kind.ordered { // the numbers of elements are known to be equal
		for page, err := range here.pages(ctx) {
			if err != nil {
				return false, err
			}
			if held, err := j.holds(ctx, j.target, it.kind, it.to, page); err != nil || !held {
				return false, err
			}
			j.elements.Add(int64(len(page)))
		}
		return true, nil
	}
	next, stop := iter.Pull2(there.elements(ctx))
	defer stop()
	for e, err := range here.elements(ctx) {
		if err != nil {
			return false, err
		}
		other, err, more := next()
		if err != nil || !more || !slices.Equal(e, other) {
			return false, err
		}
		j.elements.Add(1)
	}
	_, err, more := next()
	return !more, err
}

// judge says what the comparison of a key means.
func (j *Job) judge(ctx context.Context, it *item, away state, equal bool) (Finding, error) {
	was, _ := j.ledger.get(it.key)
	switch {
	case equal && j.sameDeadline(it.state, away):
		return j.finding(it, Verified, ""), nil
	case equal:
		return j.finding(it, Deadline, fmt.Sprintf("%s here, %s there", timeLeft(it.state), timeLeft(away))), nil
	case was.known:
		return j.blame(ctx, it, away, was)
	case !away.exists():
		return j.finding(it, Missing, ""), nil
	}
	return j.finding(it, Different, difference(it.state, away)), nil
}

// blame finds out which end has changed since the copy.
func (j *Job) blame(ctx context.Context, it *item, away state, was note) (Finding, error) {
	here, err := j.sum(ctx, j.atSource(it))
	if err != nil {
		return Finding{}, err
	}
	there := uint64(0)
	if k := kindOf(away.typ, j.newestFirst(it.key)); k != nil { // perhaps the type is what has changed
		r := j.atTarget(it)
		r.kind = k
		if there, err = j.sum(ctx, r); err != nil {
			return Finding{}, err
		}
	}
	v := Different
	switch {
	case there == was.sum && here != was.sum:
		v = ChangedHere
	case here == was.sum && there != was.sum:
		v = ChangedAway
	case !away.exists():
		v = Missing
	}
	return j.finding(it, v, difference(it.state, away)), nil
}

func (j *Job) sum(ctx context.Context, r reader) (uint64, error) {
	d := j.ledger.digest(r.kind)
	for page, err := range r.pages(ctx) {
		if err != nil {
			return 0, err
		}
		d.add(page...)
	}
	return d.sum, nil
}

// findGone looks among keys of the target for those that were seen at the source,
// and are there no longer.
func (j *Job) findGone(ctx context.Context, names []string) error {
	var keys []string
	for _, name := range names {
		key := j.sourceName(name)
		if n, seen := j.ledger.get(key); seen && n.arrived {
			keys = append(keys, key)
		}
	}
	return j.persist(ctx, func() error {
		here, err := describe(ctx, j.source, keys, false)
		if err != nil {
			return j.place(j.cfg.Source, err)
		}
		var gone, goneTo []string
		for i, key := range keys {
			if !here[i].exists() {
				to, _ := j.targetName(key)
				gone, goneTo = append(gone, key), append(goneTo, to)
			}
		}
		there, err := describe(ctx, j.target, goneTo, false)
		if err != nil {
			return j.place(j.cfg.Target, err)
		}
		for i, key := range gone {
			if s := there[i]; s.exists() && !(s.ends && s.left() < j.cfg.TTLTolerance) {
				j.report.note(j.finding(&item{key: key, state: s}, Gone, ""))
			}
		}
		return nil
	})
}

func timeLeft(s state) string {
	if !s.ends {
		return "no end"
	}
	return s.left().Round(1e6).String()
}

func difference(a, b state) string {
	switch {
	case !b.exists():
		return "the target does not have it"
	case a.typ != b.typ:
		return fmt.Sprintf("%s here, %s there", a.typ, b.typ)
	case a.count != b.count:
		return fmt.Sprintf("length %d here, %d there", a.count, b.count)
	}
	return "another content of the same length"
}
