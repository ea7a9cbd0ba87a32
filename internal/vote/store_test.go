package vote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/turn"
)

// memberFile says, in the same folder, that the node may have voted.
const memberFile = "identity.json"

// memberAt reports whether the folder of the file at path says so.
func memberAt(path string) func() (bool, error) {
	return func() (bool, error) {
		_, err := os.Stat(filepath.Join(filepath.Dir(path), memberFile))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
}

func openHalting(path string, halt func(error)) (*Store, error) {
	return Open(path, Config{Halt: halt, Member: memberAt(path), Logger: slog.New(slog.DiscardHandler)})
}

func reopenStable(t *testing.T, path string) *Store {
	t.Helper()
	s, err := openHalting(path, func(err error) { t.Fatal(err) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStableStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raft.db")
	open := func() *Store { return reopenStable(t, path) }
	set := func(s *Store, key string, v uint64) {
		t.Helper()
		if err := s.SetUint64([]byte(key), v); err != nil {
			t.Fatal(err)
		}
	}
	s := open()
	if v, err := s.GetUint64([]byte(KeyTerm)); v != 0 || err != nil {
		t.Fatalf("a new store has term %d, %v", v, err)
	}
	if b, err := s.Get([]byte("x")); b != nil || err != nil {
		t.Fatalf("%q, %v", b, err)
	}
	set(s, KeyTerm, 5)
	set(s, KeyTerm, 4) // a heartbeat that overtook an election
	if v, _ := s.GetUint64([]byte(KeyTerm)); v != 5 || s.Promised() != 5 {
		t.Fatalf("the term went back to %d, promised %d", v, s.Promised())
	}
	set(s, keyVoteTerm, 7)
	if s.Promised() != 7 {
		t.Fatalf("promised %d after a vote in term 7", s.Promised())
	}
	set(s, "other", 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if s.Promised() != 7 {
		t.Fatalf("promised %d after reopening", s.Promised())
	}
}

// A term that could not be written was not promised, though the node ends over it.
func TestTermThatWasNotWritten(t *testing.T) {
	for _, key := range []string{KeyTerm, keyVoteTerm} {
		var failed error
		s, err := openHalting(filepath.Join(t.TempDir(), "raft.db"), func(err error) { failed = err; runtime.Goexit() })
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.SetUint64([]byte(key), 9)
		}()
		<-done
		if failed == nil || s.Promised() != 0 {
			t.Errorf("%s: promised %d after: %v", key, s.Promised(), failed)
		}
	}
}

// votedStore makes a store as of a vote for n2 in term 7, and returns its path. As of
// the transaction before it, the vote is another.
func votedStore(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	s, err := openHalting(path, func(err error) { t.Fatal(err) })
	if err != nil {
		t.Fatal(err)
	}
	_ = s.SetUint64([]byte(KeyTerm), 7)
	_ = s.SetUint64([]byte(keyVoteTerm), 7)
	for _, vote := range []string{"n3:7000", "n1:7000", "n2:7000"} {
		_ = s.Set([]byte(keyVote), []byte(vote))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkVoted requires a store to be as votedStore made it.
func checkVoted(t *testing.T, path, how string) {
	t.Helper()
	s, err := openHalting(path, func(err error) { t.Fatal(err) })
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	defer s.Close()
	term, _ := s.GetUint64([]byte(KeyTerm))
	voteTerm, _ := s.GetUint64([]byte(keyVoteTerm))
	vote, _ := s.Get([]byte(keyVote))
	if term != 7 || voteTerm != 7 || string(vote) != "n2:7000" || s.Promised() != 7 {
		t.Fatalf("%s: term %d, vote for %q in term %d, promised %d; want a vote for n2:7000 in term 7",
			how, term, vote, voteTerm, s.Promised())
	}
}

// A vote that is forgotten, or taken for another, can be given twice: whichever bit
// of the file is flipped, without its second copy it is refused, or what it says is what
// it said.
func TestFlippedBitIsNoOtherVote(t *testing.T) {
	path := votedStore(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), memberFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := bytes.Count(sound, []byte(keyVote)); c < 2 {
		t.Fatalf("the file has %d pages with a vote; a root that is lost would lead to no other one", c)
	}
	flipped, refused := 0, 0
	for at, c := range sound {
		if c == 0 && at%4096 >= pageHeader {
			continue
		}
		for bit := range 8 {
			if testing.Short() && bit != at%8 {
				continue
			}
			b := bytes.Clone(sound)
			b[at] ^= 1 << bit
			if err := errors.Join(os.WriteFile(path, b, 0o600), removeVoteCopy(path)); err != nil {
				t.Fatal(err)
			}
			flipped++
			if _, err := readStable(path, memberAt(path)); err != nil {
				refused++
				continue
			}
			// Twice: bbolt writes when it is opened, and what it only passes by on the
			// way to a value, such as a length, can make what it writes wrong.
			err := openAndClose(path)
			if err == nil {
				err = errors.Join(removeVoteCopy(path), openAndClose(path))
			}
			if turn.Is(err, turn.Corrupt) {
				refused++
				continue
			}
			if err != nil {
				t.Fatalf("bit %d of byte %d: %v", bit, at, err)
			}
			checkVoted(t, path, fmt.Sprintf("bit %d of byte %d", bit, at))
		}
	}
	t.Logf("%d of %d refused", refused, flipped)
	if refused < 1000 && !testing.Short() || refused == 0 {
		t.Errorf("of %d flipped bits only %d were refused", flipped, refused)
	}
}

func openAndClose(path string) error {
	s, err := openHalting(path, func(err error) { panic(err) })
	if err != nil {
		return err
	}
	return s.Close()
}

// olderStore opens a store as the first versions did.
func olderStore(t *testing.T, path string) *raftboltdb.BoltStore {
	t.Helper()
	s, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{NoFreelistSync: true}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A node that comes from an older version has its vote still, one that goes back to it
// its terms, and one that comes again the vote that it gave there.
func TestVoteOfAnOlderVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), memberFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	older := olderStore(t, path)
	if err := older.Close(); err != nil {
		t.Fatal(err)
	}
	for _, term := range []uint64{5, 7} {
		older := olderStore(t, path)
		if err := errors.Join(older.SetUint64([]byte(KeyTerm), term), older.SetUint64([]byte(keyVoteTerm), term),
			older.Set([]byte(keyVote), []byte("n2:7000")), older.Close()); err != nil {
			t.Fatal(err)
		}
		s, err := openHalting(path, func(err error) { t.Fatal(err) })
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	checkVoted(t, path, "after two terms")
	older = olderStore(t, path)
	defer older.Close()
	for _, key := range []string{KeyTerm, keyVoteTerm} {
		if v, err := older.GetUint64([]byte(key)); v != 7 || err != nil {
			t.Errorf("an older version reads %s as %d, %v", key, v, err)
		}
	}
}

// A file that lost its content is not taken for that of a new node.
func TestEmptiedVoteIsRefused(t *testing.T) {
	path := votedStore(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), memberFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for how, spoil := range map[string]func() error{
		"without a key": func() error {
			return updateStable(path,
				func(tx *bbolt.Tx) error { return tx.Bucket(bucketStable).Delete([]byte(keyVote)) })
		},
		"without its bucket": func() error {
			return updateStable(path, func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketStable) })
		},
		"of length 0": func() error { return os.Truncate(path, 0) },
	} {
		sound, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := openHalting(path, func(err error) { t.Fatal(err) }); !turn.Is(err, turn.Corrupt) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", how, err)
		}
		if err := os.WriteFile(path, sound, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkVoted(t, path, "repaired")
}

func updateStable(path string, change func(*bbolt.Tx) error) error {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(change), db.Close())
}

// Raft writes the term of a vote, and then for whom it is. Killed in between, a node has not
// voted in that term, for no candidate: with the candidate of before it would vote for that one again
// without a look at its log.
func TestHalfAVoteIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raft.db")
	open := func() *Store { return reopenStable(t, path) }
	set := func(s *Store, err error) {
		t.Helper()
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	s := open()
	set(s, errors.Join(s.SetUint64([]byte(keyVoteTerm), 5), s.Set([]byte(keyVote), []byte("x"))))
	s = open()
	set(s, s.SetUint64([]byte(keyVoteTerm), 6))
	s = open()
	if b, err := s.Get([]byte(keyVote)); b != nil || err != nil {
		t.Errorf("in term 6 the vote is for %q, %v", b, err)
	}
	s.Spend(6)
	set(s, nil)
	s = open()
	if b, _ := s.Get([]byte(keyVote)); string(b) != "unknown" || s.Promised() != 6 {
		t.Errorf("in term 6, which was spent, the vote is for %q, promised %d", b, s.Promised())
	}
	s.Spend(6)
	set(s, nil)
}
