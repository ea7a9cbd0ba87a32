package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
)

// Annotator keeps metadata of sessions, which changes together with their messages.
type Annotator interface {
	// AddWith is Add, and merges metadata into that of the session. If the session must exist and does
	// not, it is ErrConflict and makes none.
	AddWith(ctx context.Context, session string, metadata map[string]string, mustExist bool, turn ...Message) error
	// LoadWith is Load, and returns the metadata as of the same moment.
	LoadWith(ctx context.Context, session string) ([]Message, map[string]string, error)
}

var metadataCases = []Case{
	{Name: "metadata", Incident: I4, Needs: []Capability{CanAnnotate}, run: probing(metadataMerged),
		Proves: "Metadata that comes with a turn is there with it, and leaves other metadata as it was."},
	{Name: "must-exist", Incident: I3, Needs: []Capability{CanAnnotate}, run: probing(mustExist),
		Proves: "A turn for a session that must exist makes none, and is saved if there is one."},
}

var metadataRaces = []Case{
	{Name: "metadata-of-the-moment", Incident: I5, Needs: []Capability{CanAnnotate}, run: probing(metadataOfTheMoment),
		Proves: "Metadata that is loaded with messages is that of the newest of them, also while others are saving."},
}

// metadataProbe saves and loads metadata with messages.
type metadataProbe struct{ *probe }

func (p metadataProbe) addWith(s Store, session string, metadata map[string]string, must bool, turn int) error {
	ctx, cancel := p.op()
	defer cancel()
	return s.(Annotator).AddWith(ctx, session, metadata, must, p.turn(session, 1, turn, 2)...)
}

func (p metadataProbe) loadWith(s Store, session string) ([]Message, map[string]string, error) {
	ctx, cancel := p.op()
	defer cancel()
	return s.(Annotator).LoadWith(ctx, session)
}

func (p metadataProbe) annotated(s Store, session string, messages []Message, metadata map[string]string) error {
	ms, got, err := p.loadWith(s, session)
	if err != nil {
		return err
	}
	return errors.Join(compare(ms, messages), sameFields("the metadata", got, metadata))
}

func metadataMerged(p metadataProbe) error {
	s := p.session("a")
	other, err := p.open()
	if err != nil {
		return err
	}
	var all []Message
	want := map[string]string{}
	for i, metadata := range []map[string]string{{"title": "Order 7", "user": "ada"}, {"title": "Order 8"}, {},
		{"state": "שלום \"quoted\""}} {
		if err := p.addWith(p.store, s, metadata, false, i+1); err != nil {
			return err
		}
		all = append(all, p.turn(s, 1, i+1, 2)...)
		maps.Copy(want, metadata)
		if err := errors.Join(p.annotated(other, s, all, want), p.annotated(p.store, s, all, want)); err != nil {
			return fmt.Errorf("after turn %d: %w", i+1, err)
		}
	}
	return nil
}

func mustExist(p metadataProbe) error {
	s := p.session("a")
	for range 2 { // the second time, what the first one might have made
		if err := p.addWith(p.store, s, map[string]string{"a": "b"}, true, 1); !errors.Is(err, ErrConflict) {
			return fmt.Errorf("a turn for a session that must exist, and does not: %v instead of a conflict", err)
		}
		if err := p.annotated(p.store, s, nil, nil); err != nil {
			return err
		}
	}
	if err := p.addWith(p.store, s, nil, false, 1); err != nil {
		return err
	}
	if err := p.addWith(p.store, s, map[string]string{"a": "b"}, true, 2); err != nil {
		return fmt.Errorf("a turn for a session that exists: %w", err)
	}
	return p.annotated(p.store, s, append(p.turn(s, 1, 1, 2), p.turn(s, 1, 2, 2)...), map[string]string{"a": "b"})
}

func metadataOfTheMoment(p metadataProbe) error {
	s := p.session("a")
	reader, err := p.open()
	if err != nil {
		return err
	}
	read := make(chan struct{})
	return together(2, func(i int) error {
		if i == 0 {
			return p.annotate(s, read)
		}
		defer close(read)
		for range p.Turns {
			if err := p.sameMoment(reader, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// annotate adds turns with metadata until the reader of them is done.
func (p metadataProbe) annotate(session string, read <-chan struct{}) error {
	for turn := 1; turn <= mostAnnotated; turn++ {
		metadata := map[string]string{"turn": strconv.Itoa(turn)}
		if err := p.addWith(p.store, session, metadata, false, turn); err != nil {
			return err
		}
		select {
		case <-read:
			return nil
		default:
		}
	}
	return nil
}

// mostAnnotated bounds the turns of a session that is read while it grows.
const mostAnnotated = 5000

// sameMoment looks that a session's metadata tells which turn is its newest.
func (p metadataProbe) sameMoment(h Store, session string) error {
	ms, metadata, err := p.loadWith(h, session)
	if err != nil || len(ms) == 0 && len(metadata) == 0 {
		return err
	}
	newest := "none"
	if len(ms) > 0 {
		l, _ := parseLabel(ms[len(ms)-1].Content)
		newest = strconv.Itoa(l.Turn)
	}
	if metadata["turn"] != newest {
		return fmt.Errorf("the metadata is that of turn %q, and the newest message is of turn %s", metadata["turn"],
			newest)
	}
	return nil
}
