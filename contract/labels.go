package contract

import (
	"context"
	"fmt"
	"slices"
)

// Labeller finds sessions by labels: metadata under names that begin with LabelPrefix.
type Labeller interface {
	Annotator
	// Labelled returns the sessions whose metadata has the label with that value, the one that changed last first.
	Labelled(ctx context.Context, name, value string) ([]string, error)
}

// LabelPrefix begins the names of metadata that is a label.
const LabelPrefix = "label."

var labelCases = []Case{
	{Name: "labels", Incident: I2, Needs: []Capability{CanLabel, CanDelete}, run: probing(labels),
		Proves: "A list by a label has the sessions that carry it and no others, the one that changed last first, " +
			"each once, through every handle; a label that changes moves its session, and a deletion takes it off."},
	{Name: "many-labelled", Incident: I4, Needs: []Capability{CanLabel}, run: probing(manyLabelled),
		Proves: "A list by a label is whole, also of more sessions than a page holds."},
}

var labelRaces = []Case{
	{Name: "labels-at-once", Incident: I1, Needs: []Capability{CanLabel}, run: probing(labelsAtOnce),
		Proves: "Sessions that writers label and change at the same time are all listed, each once."},
}

// labelProbe finds sessions by their labels.
type labelProbe struct{ *probe }

// label saves the next turn of a session, which changes labels, and returns it.
func (p labelProbe) label(s Store, session string, turn int, labels map[string]string) error {
	metadata := make(map[string]string)
	for name, value := range labels {
		metadata[LabelPrefix+name] = value
	}
	return metadataProbe(p).addWith(s, session, metadata, false, turn)
}

// listedAs looks that a list by a label has these sessions, in this order.
func (p labelProbe) listedAs(name, value string, want ...string) error {
	other, err := p.open()
	if err != nil {
		return err
	}
	for _, s := range []Store{p.store, other} {
		got, err := p.labelled(s, name, value)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the label %s=%s lists %.300q, not %.300q", name, value, got, want)
		}
	}
	return nil
}

func (p labelProbe) labelled(s Store, name, value string) ([]string, error) {
	ctx, cancel := p.op()
	defer cancel()
	return s.(Labeller).Labelled(ctx, name, value)
}

func labels(p labelProbe) error {
	a, b, c := p.session("a"), p.session("b"), p.session("c")
	mine, theirs := "u1 "+a, "u2=\"\n"+a // no other case has sessions of these users
	for i, s := range []string{a, b, c} {
		user := map[string]string{"user": mine, "kind": fmt.Sprint("k", i%2)}
		if s == b {
			user["user"] = theirs
		}
		if err := p.label(p.store, s, 1, user); err != nil {
			return err
		}
	}
	if err := p.listedAs("user", mine, c, a); err != nil {
		return err
	}
	steps := []struct {
		session      string
		labels       map[string]string
		mine, theirs []string
	}{
		{a, nil, []string{a, c}, []string{b}}, // any change moves it
		{b, map[string]string{"user": mine}, []string{b, a, c}, nil},
		{a, map[string]string{"user": theirs}, []string{b, c}, []string{a}},
		{c, map[string]string{"kind": "k9"}, []string{c, b}, []string{a}},
	}
	for i, step := range steps {
		if err := p.label(p.store, step.session, 2+i, step.labels); err != nil {
			return err
		}
		if err := p.listedAs("user", mine, step.mine...); err != nil {
			return fmt.Errorf("after step %d: %w", i+1, err)
		}
		if err := p.listedAs("user", theirs, step.theirs...); err != nil {
			return fmt.Errorf("after step %d: %w", i+1, err)
		}
	}
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.(Deleter).Delete(ctx, c); err != nil {
		return err
	}
	if err := p.listedAs("user", mine, b); err != nil {
		return fmt.Errorf("after a deletion: %w", err)
	}
	return nil
}

// manyListed is more than the usual pages of lists.
const manyListed = 130

func manyLabelled(p labelProbe) error {
	user := p.session("user")
	var want []string
	for i := range manyListed {
		s := p.session(fmt.Sprint("many-", i))
		if err := p.label(p.store, s, 1, map[string]string{"user": user}); err != nil {
			return err
		}
		want = append([]string{s}, want...)
	}
	return p.listedAs("user", user, want...)
}

func labelsAtOnce(p labelProbe) error {
	user := p.session("user")
	var want []string
	for w := range p.Writers {
		want = append(want, p.session(fmt.Sprint("at-once-", w)))
	}
	if err := together(p.Writers, func(w int) error {
		for i := range p.Turns {
			if err := p.label(p.store, want[w], i+1, map[string]string{
				"user": user, "turn": fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	got, err := p.labelled(p.store, "user", user)
	if err != nil {
		return err
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("listed are %d sessions instead of %d: %.300q", len(got), len(want), got)
	}
	return p.listsAll("turn", fmt.Sprint(p.Turns-1), want)
}

// listsAll looks that a list by a label has just these sessions, among those that it may have besides.
func (p labelProbe) listsAll(name, value string, want []string) error {
	got, err := p.labelled(p.store, name, value)
	for _, s := range want {
		if err == nil && !slices.Contains(got, s) {
			err = fmt.Errorf("the label %s=%s does not list %q", name, value, s)
		}
	}
	return err
}
