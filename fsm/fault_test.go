package fsm

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// A state file that is cut, overwritten or replaced by an older one while it is in use
// neither ends the process nor is believed: the machine is halted, wherever it is met, and
// goes on with another state.
func TestStateFileDamagedInUse(t *testing.T) {
	for name, damage := range map[string]func(path string, old []byte) error{
		"cut":       func(path string, _ []byte) error { return os.Truncate(path, 2*pageBytes) },
		"roots cut": func(path string, _ []byte) error { return os.Truncate(path, pageBytes) },
		"emptied":   func(path string, _ []byte) error { return os.Truncate(path, 0) },
		"zeroed": func(path string, old []byte) error {
			return writeAt(path, make([]byte, len(old)-2*pageBytes), 2*pageBytes)
		},
		"old copy": func(path string, old []byte) error { return writeAt(path, old, 0) },
	} {
		for by, use := range map[string]func(*rig) error{
			"query": func(r *rig) error {
				_, err := r.m.Query(&turn.Read{Key: sessionA})
				return err
			},
			"budget": func(r *rig) error { // on a stack of its own
				_, err := r.m.Query(&turn.Read{Key: sessionA, MaxTokens: 9})
				return err
			},
			"listing": func(r *rig) error {
				_, err := r.m.Query(&turn.Sessions{Namespace: "0", Limit: 9})
				return err
			},
			"element": func(r *rig) error {
				_, err := r.m.Query(&turn.GetString{Key: turn.Key{Namespace: "0", Name: "string"}})
				return err
			},
			"entry": func(r *rig) error {
				r.apply(3, &turn.Pop{Key: sessionA, From: turn.Head, Count: 1})
				return nil
			},
			"flush": func(r *rig) error {
				r.m.mu.Lock()
				r.m.keys.Tables.Active.SetHead("0\x00x", nil) // nothing is read for that
				r.m.passed(r.m.keys.Meta.Index+1, r.m.keys.Meta.Term)
				r.m.mu.Unlock()
				_ = r.m.Flush(t.Context())
				return nil
			},
			"dump": func(r *rig) error {
				d, err := r.m.Dump()
				if err == nil {
					_, err = d.WriteTo(new(bytes.Buffer))
					_ = d.Close()
				}
				return err
			},
		} {
			t.Run(name+", met by a "+by, func(t *testing.T) {
				r, _ := repairable(t)
				path := filepath.Join(r.dir, "state.db")
				r.apply(1, appendOf(sessionA, "id", "hello"))
				r.flush()
				old, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				r.apply(2, appendOf(sessionA, "id2", "hello"),
					&turn.SetString{Key: turn.Key{Namespace: "0", Name: "string"}, Value: []byte("v")})
				r.flush()
				peer := r.fork(t)
				if err := damage(path, old); err != nil {
					t.Fatal(err)
				}
				answered := use(r)
				if _, halted := r.m.Damage(); !halted {
					t.Fatalf("the machine goes on: %v", answered)
				}
				if by != "entry" && by != "flush" && turn.KindOf(answered) != turn.Corrupt {
					t.Errorf("it says %v", answered)
				}
				for range 3 {
					peer.apply(9, appendOf(sessionA, "", "more"))
				}
				if err := r.m.Restore(bytes.NewReader(peer.dump())); err != nil {
					t.Fatal(err)
				}
				if !r.m.Resume() {
					t.Fatal("it does not go on")
				}
				if got, want := storeHash(t, r.m), storeHash(t, peer.m); got != want {
					t.Error("it is another state")
				}
			})
		}
	}
}

func writeAt(path string, b []byte, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(b, at)
	return err
}

// A panic that is none of the store's goes on.
func TestOtherPanicsGoOn(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it was taken for damage")
		}
	}()
	_ = store.Guarded(func() error {
		var none *Machine
		return none.damage
	})
}

func readAt(path string, at int64) (byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	return b[0], err
}
