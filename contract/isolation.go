package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var isolationCases = []Case{
	{Name: "same-instant", Incident: I2, run: sameInstant,
		Proves: "Two chats that save at the same instant each keep their own messages."},
	{Name: "same-instant-load", Incident: I2, run: sameInstantLoad,
		Proves: "Loads of different sessions at the same instant never show each other's messages."},
	{Name: "same-instant-async", Incident: I2, Needs: []Capability{CanAsyncLoad}, run: sameInstantAsync,
		Proves: "Asynchronous loads of different sessions that are begun at once never show each other's messages."},
	{Name: "similar-keys", Incident: I2, run: probing(apart(keysLike)),
		Proves: "Keys that are alike when trimmed, truncated, case-folded or normalised are different sessions."},
	{Name: "long-keys", Incident: I2, run: probing(apart(longKeys)),
		Proves: "Keys that begin alike, for up to 511 bytes, are different sessions."},
	{Name: "key-ends", Incident: I2, run: probing(apart(keyEnds)),
		Proves: "Keys that differ in what ends them, a line end, NUL or a dot, are different sessions."},
	{Name: "key-paths", Incident: I2, run: probing(apart(keyPaths)),
		Proves: "Keys that would be one path are different sessions."},
	{Name: "key-case", Incident: I2, run: probing(apart(keyCase)),
		Proves: "Keys that differ in the case of letters beyond ASCII are different sessions."},
	{Name: "clear-one", Incident: I2, run: probing(clearOne),
		Proves: "Clearing a session leaves all others alone, also where its key looks like a pattern."},
	{Name: "delete-one", Incident: I2, Needs: []Capability{CanDelete}, run: probing(deleteOne),
		Proves: "Deleting a session leaves all others alone, also those whose keys begin like it."},
	{Name: "trim-one", Incident: I2, Needs: []Capability{CanTrim}, run: probing(trimOne),
		Proves: "Trimming a session leaves all others alone."},
	{Name: "expiry-one", Incident: I2, Needs: []Capability{CanExpire}, run: probing(expiryOne), waits: true,
		Proves: "A session that expires takes no other one along."},
	{Name: "caller-keeps-slice", Incident: I2, run: callerKeepsSlice,
		Proves: "Changing a slice after saving it, or after loading it, does not change what is stored."},
	{Name: "handles-of-two-users", Incident: I2, run: handlesOfTwoUsers,
		Proves: "Handles that take turns serving two users never carry something over."},
	{Name: "namespaces", Incident: I2, Needs: []Capability{CanNamespace}, run: namespaces,
		Proves: "The same key in two namespaces is two sessions."},
}

// isolationProbe fills several sessions, to change one.
type isolationProbe struct{ *probe }

// sameInstant is incident I2 as it happened: two conversations and one object.
func sameInstant(p *probe) error {
	a, b := p.session("a"), p.session("b")
	for round := range p.Turns {
		err := together(2, func(i int) error { return p.add(p.store, []string{a, b}[i], 1, round+1, 2) })
		if err != nil {
			return err
		}
	}
	return errors.Join(p.verifyWhole(p.store, a), p.verifyWhole(p.store, b))
}

func sameInstantLoad(p *probe) error {
	sessions := make([]string, p.Writers)
	for i := range sessions {
		sessions[i] = p.session(fmt.Sprint(i))
		if err := p.fill(p.store, sessions[i], 1+p.random.IntN(4)); err != nil {
			return err
		}
	}
	return together(len(sessions), func(i int) error {
		for range p.Turns {
			if err := p.verify(p.store, sessions[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// keysLike returns keys that careless stores take for one another.
func keysLike(base string) []string {
	long := base + strings.Repeat("k", max(0, 255-len(base)))
	return []string{base, base + " ", " " + base, strings.ToUpper(base), base + "/", base + ":", base + ":messages",
		base + "*", base + "?",
		base + "[a]", base + "%2F", base + "é", base + "e\u0301", base + "\u200b", base + "ı", base + "i", long + "1",
		long + "2", long}
}

// longKeys has a key of every 32nd length: a store that cuts keys has at least two of
// those that it accepts cut to the same.
func longKeys(base string) []string {
	keys := []string{base}
	for n := 64; n <= 512; n += 32 {
		if n > len(base) {
			keys = append(keys, base+strings.Repeat("k", n-len(base)))
		}
	}
	last := keys[len(keys)-1]
	return append(keys, last[:len(last)-1], last[:len(last)-1]+"l")
}

func keyEnds(base string) []string {
	return []string{base, base + "\n", base + "\n\n", base + "\r\n", base + "\x00", base + "\x00a", base + "\x00b",
		base + ".", base + "\t", base + "\u00a0"}
}

func keyPaths(base string) []string {
	return []string{base, base + "/c", base + "/b/../c", base + "/./c", base + "//c", base + "/c/", base + "/c/.",
		base + "/b/..", base + "\\c"}
}

// keyCase has letters whose cases are one to one, and some that have three or two.
func keyCase(base string) []string {
	keys := []string{base}
	for _, letter := range []string{"ä", "Ä", "ж", "Ж", "σ", "ς", "Σ", "ß", "ẞ", "ss", "ǆ", "ǅ", "Ǆ", "i", "İ", "ı",
		"ａ", "Ａ", "𐐨", "𐐀"} {
		keys = append(keys, base+letter)
	}
	return keys
}

// saveEach saves one turn under each key, all of them different. It returns the
// keys that the store did not refuse.
func (p isolationProbe) saveEach(keys []string) ([]string, error) {
	var accepted []string
	for i, key := range keys {
		p.use(key)
		err := p.add(p.store, key, i+1, 1, 2)
		if errors.Is(err, ErrRefused) && i > 0 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		accepted = append(accepted, key)
	}
	return accepted, nil
}

func (p isolationProbe) verifyEach(keys []string) error {
	for _, key := range keys {
		if err := p.verify(p.store, key); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
	}
	return nil
}

// apart returns a case whose keys must not be taken for one another.
func apart(keys func(base string) []string) func(isolationProbe) error {
	return func(p isolationProbe) error {
		accepted, err := p.saveEach(keys(p.session("k")))
		if err != nil {
			return err
		}
		return p.verifyEach(accepted)
	}
}

// removeOne removes each of a number of similar keys in turn, and looks at the
// others.
func (p isolationProbe) removeOne(keys []string, remove func(ctx context.Context, key string) error) error {
	keys, err := p.saveEach(keys)
	if err != nil {
		return err
	}
	p.random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for i, key := range keys[:len(keys)-1] {
		ctx, cancel := p.op()
		defer cancel()
		if err := remove(ctx, key); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
		if err := p.exactly(p.store, key, nil); err != nil {
			return fmt.Errorf("key %q after its removal: %w", key, err)
		}
		if err := p.verifyEach(keys[i+1:]); err != nil {
			return fmt.Errorf("after the removal of %q: %w", key, err)
		}
	}
	return nil
}

func clearOne(p isolationProbe) error {
	base := p.session("k")
	keys := []string{base, base + "1", base + "*", base + "?", base + ":x", strings.ToUpper(base)}
	return p.removeOne(keys, func(ctx context.Context, key string) error { return p.store.Clear(ctx, key) })
}

func deleteOne(p isolationProbe) error {
	base := p.session("k")
	keys := []string{base, base + "1", base + "*", base + "?", base + ":x", strings.ToUpper(base)}
	return p.removeOne(keys, func(ctx context.Context, key string) error { return p.store.(Deleter).Delete(ctx, key) })
}

func trimOne(p isolationProbe) error {
	base := p.session("k")
	keys := []string{base, base + "1", base + "*", strings.ToUpper(base)}
	return p.removeOne(keys, func(ctx context.Context, key string) error { return p.store.(Trimmer).Trim(ctx, key, 0) })
}

func callerKeepsSlice(p *probe) error {
	s := p.session("a")
	saved := p.turn(s, 1, 1, 4)
	saved[1].ToolCalls = []ToolCall{{ID: "call_1", Name: "f", Arguments: "{}"}}
	want := slices.Clone(saved)
	want[1].ToolCalls = slices.Clone(saved[1].ToolCalls)
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.Add(ctx, s, saved...); err != nil {
		return err
	}
	vandalise(saved)
	for range 2 {
		got, err := p.load(p.store, s)
		if err != nil {
			return err
		}
		if err := compare(got, want); err != nil {
			return fmt.Errorf("after the caller's slice was changed: %w", err)
		}
		vandalise(got)
	}
	return p.exactly(p.store, s, want)
}

func vandalise(ms []Message) {
	for i := range ms {
		for j := range ms[i].ToolCalls {
			ms[i].ToolCalls[j].Name = "changed by the caller"
		}
		ms[i].Content = "changed by the caller"
	}
	slices.Reverse(ms)
	_ = append(ms[:0], Message{Role: "user", Content: "overwritten by the caller"})
}

// handlesOfTwoUsers is how pools hand out memory objects.
func handlesOfTwoUsers(p *probe) error {
	users := []string{p.session("ann"), p.session("bob")}
	handles := make([]Store, 3)
	for i := range handles {
		h, err := p.open()
		if err != nil {
			return err
		}
		handles[i] = h
	}
	for i := range 2 * p.Turns {
		user, h := users[p.random.IntN(2)], handles[p.random.IntN(len(handles))]
		if err := p.add(h, user, 1, i+1, 2); err != nil {
			return err
		}
		if err := p.verify(handles[p.random.IntN(len(handles))], users[p.random.IntN(2)]); err != nil {
			return err
		}
	}
	return nil
}

func namespaces(p *probe) error {
	s := p.session("a")
	ctx, cancel := p.op()
	defer cancel()
	other, err := p.store.(Namespacer).Namespace(ctx, "contract-other")
	if err != nil {
		return err
	}
	p.keep(other)
	mine, theirs := p.turn(s, 1, 1, 2), p.turn(s, 2, 1, 2)
	if err := errors.Join(p.store.Add(ctx, s, mine...), other.Add(ctx, s, theirs...)); err != nil {
		return err
	}
	if err := errors.Join(p.exactly(p.store, s, mine), p.exactly(other, s, theirs)); err != nil {
		return err
	}
	if err := other.Clear(ctx, s); err != nil {
		return err
	}
	return errors.Join(p.exactly(p.store, s, mine), p.exactly(other, s, nil))
}

// expiryOne is about isolation: several sessions, one of which ends.
func expiryOne(p isolationProbe) error {
	expiry := expiryProbe(p)
	base := p.session("k")
	keep := []string{base + "1", base + ":x", base + "*"}
	kept, err := p.saveEach(keep)
	if err != nil {
		return err
	}
	if _, err := expiry.addTTL(base, 1); err != nil {
		return err
	}
	if err := expiry.ended(p.store, base); err != nil {
		return err
	}
	return p.verifyEach(kept)
}
