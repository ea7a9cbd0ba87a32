package badstores

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// labelDefects are what goes wrong where sessions are found by labels.
var labelDefects = []Bad{
	{Name: "lists-by-age", Caught: "sequential/labels",
		Defect: "a list by a label has the oldest session first", build: eachHandle(listsByAge)},
	{Name: "keeps-old-labels", Caught: "sequential/labels",
		Defect: "a session stays under a label that it had before", build: allHandles(keepsLabels)},
	{Name: "lists-a-page", Caught: "sequential/many-labelled",
		Defect: "a list by a label ends after its first page", build: eachHandle(listsAPage)},
	{Name: "loses-labelled", Caught: "concurrency/labels-at-once",
		Defect: "the index of labels is read, changed and written back", build: allHandles(losesLabelled)},
}

type byAge struct{ *memory.Handle }

func listsByAge(h *memory.Handle) contract.Store { return byAge{h} }

func (s byAge) Labelled(ctx context.Context, name, value string) ([]string, error) {
	keys, err := s.Handle.Labelled(ctx, name, value)
	slices.Reverse(keys)
	return keys, err
}

type firstPage struct{ *memory.Handle }

func listsAPage(h *memory.Handle) contract.Store { return firstPage{h} }

func (s firstPage) Labelled(ctx context.Context, name, value string) ([]string, error) {
	keys, err := s.Handle.Labelled(ctx, name, value)
	return keys[:min(len(keys), 100)], err
}

// indexed keeps an index of labels beside the sessions, into which they are only ever added.
type indexed struct {
	*memory.Handle
	index *labelIndex
}

type labelIndex struct {
	mu    sync.Mutex
	keys  map[[2]string][]string // by name and value, the one that was saved last first
	racy  bool                   // changes read, and write back what they read
	drops bool                   // sessions leave the labels that they lose
}

func keepsLabels() wrapper {
	x := &labelIndex{keys: make(map[[2]string][]string)}
	return func(h *memory.Handle) contract.Store { return indexed{h, x} }
}

func losesLabelled() wrapper {
	x := &labelIndex{keys: make(map[[2]string][]string), racy: true, drops: true}
	return func(h *memory.Handle) contract.Store { return indexed{h, x} }
}

func (s indexed) AddWith(
	ctx context.Context, session string, metadata map[string]string, must bool, turn ...contract.Message,
) error {
	if err := s.Handle.AddWith(ctx, session, metadata, must, turn...); err != nil {
		return err
	}
	_, all, err := s.LoadWith(ctx, session)
	if err == nil {
		s.index.save(session, all)
	}
	return err
}

func (s indexed) Delete(ctx context.Context, session string) error {
	s.index.save(session, nil)
	return s.Handle.Delete(ctx, session)
}

func (s indexed) Labelled(_ context.Context, name, value string) ([]string, error) {
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	return slices.Clone(s.index.keys[[2]string{contract.LabelPrefix + name, value}]), nil
}

// save puts a session first under its labels.
func (x *labelIndex) save(session string, metadata map[string]string) {
	x.mu.Lock()
	then := make(map[[2]string][]string)
	for label, keys := range x.keys {
		if x.drops {
			keys = without(keys, session)
		}
		then[label] = keys
	}
	for name, value := range metadata {
		label := [2]string{name, value}
		then[label] = append([]string{session}, without(then[label], session)...)
	}
	if x.racy {
		x.mu.Unlock()
		time.Sleep(hop)
		x.mu.Lock()
	}
	x.keys = then
	x.mu.Unlock()
}

func without(keys []string, session string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == session })
}
