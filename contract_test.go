package turnlog_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/turnlog/turnlog"
	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/target"
)

// restartable is a DB that is closed and opened again.
type restartable struct {
	dir string

	mu sync.Mutex
	db *turnlog.DB
}

func (r *restartable) client(namespace string) (*client.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.db.Namespace(namespace)
}

func (r *restartable) restart(context.Context) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	closed := r.db.Close()
	r.db, err = turnlog.Open(r.dir)
	return errors.Join(closed, err)
}

// TestContract: an embedded node is held to what any memory of agents is.
func TestContract(t *testing.T) {
	r := &restartable{dir: t.TempDir()}
	var err error
	if r.db, err = turnlog.Open(r.dir); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.db.Close(); err != nil {
			t.Error(err)
		}
	}()
	embedded := target.Clients("contract", r.client)
	embedded.Restarts = []contract.Restart{{Kind: contract.CanStop, Do: r.restart}}
	suite := contract.Suite{Target: embedded}
	suite.Run(t)
}
