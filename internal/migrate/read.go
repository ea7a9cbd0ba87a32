package migrate

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

const (
	pageElements = 500       // elements of a page at most
	pageBytes    = 512 << 10 // that a page is meant to have; one element may have more
	smallBytes   = 64 << 10  // a value of less is read whole, with others
	smallBlind   = 16        // elements of a value whose size is not known, to be read so
)

// state is what is known of a key before it is read.
type state struct {
	typ   string // "none": there is no such key
	count int64  // elements, of a string bytes
	usage int64  // bytes of memory; -1: the server does not tell
	ttl   time.Duration
	ends  bool // there is a deadline, ttl after read
	read  time.Time

	refused error // why the server takes no key of this name
}

func (s state) exists() bool { return s.typ != "none" }

// left is what is left of the key's time now.
func (s state) left() time.Duration { return s.ttl - time.Since(s.read) }

// firstPage is how many elements may be read before their sizes are known.
func (s state) firstPage() int {
	if s.usage <= 0 {
		return 2
	}
	return int(min(64, max(1, pageBytes*s.count/s.usage)))
}

// small reports whether the value may be read together with others.
func (s state) small(k *kind) bool {
	switch {
	case k == stringKind:
		return s.count <= smallBytes
	case s.usage >= 0:
		return s.usage <= smallBytes && s.count <= pageElements
	}
	return s.count <= smallBlind
}

// describe looks keys up: two round trips for all of them.
func describe(ctx context.Context, p pipeliner, keys []string, usage bool) ([]state, error) {
	var commands [][]any
	for _, key := range keys {
		commands = append(commands, []any{"type", key}, []any{"pttl", key})
	}
	replies, err := ask(ctx, p, commands)
	if err != nil {
		return nil, err
	}
	states := make([]state, len(keys))
	commands = commands[:0]
	now := time.Now()
	for i, key := range keys {
		s := &states[i]
		s.read, s.usage = now, -1
		if err, refused := replies[2*i].(error); refused {
			if !ofKey(err) {
				return nil, err
			}
			s.typ, s.refused = "none", err
			continue
		}
		s.typ, _ = replies[2*i].(string)
		ms, ok := replies[2*i+1].(int64)
		if s.typ == "" || !ok {
			return nil, fmt.Errorf("key %q: TYPE and PTTL answer %v and %v", key, replies[2*i], replies[2*i+1])
		}
		if ms >= 0 {
			s.ends, s.ttl = true, time.Duration(min(ms, longestTTL))*time.Millisecond
		}
		if k := kindOf(s.typ, false); k != nil {
			commands = append(commands, []any{k.length, key})
			if usage {
				commands = append(commands, []any{"memory", "usage", key})
			}
		}
	}
	if replies, err = ask(ctx, p, commands); err != nil {
		return nil, err
	}
	for i := range states {
		if kindOf(states[i].typ, false) == nil {
			continue
		}
		states[i].count, _ = replies[0].(int64) // of another type by now: found out on reading
		if replies = replies[1:]; usage {
			if n, ok := replies[0].(int64); ok {
				states[i].usage = n
			}
			replies = replies[1:]
		}
	}
	return states, nil
}

// longestTTL is, in milliseconds, the longest time that a Duration holds: 292 years. A key
// that lives longer at the source gets this at the target.
const longestTTL = math.MaxInt64 / int64(time.Millisecond)

// reader goes through one value.
type reader struct {
	p     pipeliner
	kind  *kind
	key   string
	at    string // position of the next page
	from  state  // of the key
	job   *Job
	paced bool // as the source is
}

func (j *Job) atSource(it *item) reader {
	return reader{job: j, p: j.source, kind: it.kind, key: it.key, from: it.state, paced: true}
}

func (j *Job) atTarget(it *item) reader {
	return reader{job: j, p: j.target, kind: it.kind, key: it.to, from: it.state}
}

// pages yields the value's pages, whose number of elements follows from the
// sizes of those before. The last thing yielded may be an error.
func (r reader) pages(ctx context.Context) iter.Seq2[[]element, error] {
	return func(yield func([]element, error) bool) {
		count := r.from.firstPage()
		for {
			page, next, err := r.one(ctx, count)
			if err != nil {
				yield(nil, err)
				return
			}
			for part := range parts(page) {
				if !yield(part, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			r.at = next
			if n := len(page); n > 0 {
				count = max(1, min(8*count, pageElements, pageBytes*n/max(1, sizeOf(page))))
			}
		}
	}
}

func (r reader) one(ctx context.Context, count int) ([]element, string, error) {
	command := r.kind.whole(r.key)
	if r.kind.page != nil {
		command = r.kind.page(r.key, r.at, count)
	} else {
		count = 0
	}
	replies, err := r.job.ask(ctx, r.p, [][]any{command})
	if err != nil {
		return nil, "", err
	}
	page, next, err := parseReply(r.kind, replies[0], r.at, count)
	if err == nil && r.paced {
		err = r.job.pacer.wait(ctx, len(r.key)+sizeOf(page))
	}
	return page, next, err
}

// parseReply makes elements of a reply, of which nil is a key that is gone.
func parseReply(k *kind, reply any, at string, count int) ([]element, string, error) {
	if err, refused := reply.(error); refused {
		if code(err) == "WRONGTYPE" {
			return nil, "", errMoved
		}
		return nil, "", err
	}
	if reply == nil {
		return nil, "", nil
	}
	return k.parse(reply, at, count)
}

// elements yields the value one by one.
func (r reader) elements(ctx context.Context) iter.Seq2[element, error] {
	return func(yield func(element, error) bool) {
		for page, err := range r.pages(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// after is the position in an ordered value behind its first n elements, of
// which last is the last.
func (k *kind) after(n int64, last element) (string, error) {
	if k == streamKind {
		return idAfter(last[0])
	}
	return fmt.Sprint(n), nil
}

// wholes reads values whole, all at once. A key that is gone has no elements.
func wholes(ctx context.Context, p pipeliner, kinds []*kind, keys []string) ([][]element, error) {
	commands := make([][]any, len(keys))
	for i, key := range keys {
		commands[i] = kinds[i].whole(key)
	}
	replies, err := ask(ctx, p, commands)
	if err != nil {
		return nil, err
	}
	values := make([][]element, len(keys))
	for i, reply := range replies {
		if values[i], _, err = parseReply(kinds[i], reply, "", 0); err != nil {
			return nil, fmt.Errorf("key %q: %w", keys[i], err)
		}
	}
	return values, nil
}

// parts cuts a page where it has more bytes than one write should have.
func parts(page []element) iter.Seq[[]element] {
	return func(yield func([]element) bool) {
		from, size := 0, 0
		for i, e := range page {
			if size += e.size(); size > pageBytes && i > from {
				if !yield(page[from:i]) {
					return
				}
				from, size = i, e.size()
			}
		}
		if from < len(page) {
			yield(page[from:])
		}
	}
}

func sizeOf(page []element) (n int) {
	for _, e := range page {
		n += e.size()
	}
	return n
}

// equal compares whole values.
func (k *kind) equal(a, b []element) bool {
	if !k.ordered {
		byParts := func(x, y element) int { return slices.Compare(x, y) }
		a, b = slices.SortedFunc(slices.Values(a), byParts), slices.SortedFunc(slices.Values(b), byParts)
	}
	return slices.EqualFunc(a, b, func(x, y element) bool { return slices.Equal(x, y) })
}

// confirms reports whether a reply to find says that an element is there.
func (k *kind) confirms(reply any, e element) bool {
	switch reply := reply.(type) {
	case int64: // of a set
		return reply == 1
	case string:
		if k != zsetKind {
			return reply == e[1]
		}
		score, err := canonicalScore(reply)
		return err == nil && score == e[1]
	}
	return false
}

// describe is describe, likewise, of a single key.
func (j *Job) describe(ctx context.Context, p pipeliner, key string, usage bool) (s state, err error) {
	err = j.persist(ctx, func() error {
		states, err := describe(ctx, p, []string{key}, usage)
		if err == nil {
			s = states[0]
		}
		return err
	})
	return s, err
}

// holds reports whether a key has all elements of a page.
func (j *Job) holds(ctx context.Context, p pipeliner, k *kind, key string, page []element) (bool, error) {
	replies, err := j.ask(ctx, p, [][]any{k.find(key, page)})
	if err != nil {
		return false, err
	}
	found, ok := replies[0].([]any)
	if !ok && k.findOne != nil { // SMISMEMBER and ZMSCORE came with Redis 6.2
		commands := make([][]any, len(page))
		for i, e := range page {
			commands[i] = k.findOne(key, e)
		}
		found, err = j.ask(ctx, p, commands)
	}
	for i, e := range page {
		if err != nil || i >= len(found) || !k.confirms(found[i], e) {
			return false, err
		}
	}
	return true, nil
}
