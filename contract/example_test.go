package contract_test

import (
	"context"
	"sync"
	"testing"

	"github.com/turnlog/turnlog/contract"
)

// diary is the store under test: yours.
type diary struct {
	mu    sync.Mutex
	pages map[string][][]byte
}

func (d *diary) Add(_ context.Context, session string, turn ...contract.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range turn {
		d.pages[session] = append(d.pages[session], m.Encode())
	}
	return nil
}

func (d *diary) Load(_ context.Context, session string) (turns []contract.Message, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, page := range d.pages[session] {
		turns = append(turns, contract.Decode(page))
	}
	return turns, nil
}

func (d *diary) Clear(_ context.Context, session string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pages, session)
	return nil
}

func (d *diary) Close() error { return nil }

func TestDiary(t *testing.T) {
	d := &diary{pages: map[string][][]byte{}}
	contract.Run(t, func(context.Context) (contract.Store, error) { return d, nil })
}
