package vote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func removeVoteCopy(path string) error {
	err := os.Remove(filepath.Join(filepath.Dir(path), CopyName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keptVote makes a store with a vote and an identity beside it, and returns a function that
// brings it and its copy back to that.
func keptVote(t *testing.T) (path string, again func()) {
	t.Helper()
	path = votedStore(t)
	copied := filepath.Join(filepath.Dir(path), CopyName)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), memberFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := os.ReadFile(path)
	page, err2 := os.ReadFile(copied)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return path, func() {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, store, 0o600), os.WriteFile(copied, page, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// Whichever bit of either copy is flipped, or what else happens to one of them, the vote is
// what it was, and both are whole after that.
func TestFlippedBitCostsNoVote(t *testing.T) {
	path, again := keptVote(t)
	copied := filepath.Join(filepath.Dir(path), CopyName)
	check := func(how string) {
		t.Helper()
		checkVoted(t, path, how)
		if err := removeVoteCopy(path); err != nil {
			t.Fatal(err)
		}
		checkVoted(t, path, how+", without the second copy after that")
	}
	every := 3
	if testing.Short() {
		every = 23
	}
	for _, file := range []string{path, copied} {
		again()
		sound, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used := 0
		for at, c := range sound {
			if c == 0 && at%4096 >= pageHeader {
				continue
			}
			if used++; used%every != 0 {
				continue
			}
			again()
			b := bytes.Clone(sound)
			b[at] ^= 1 << (used / every % 8)
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			check(filepath.Base(file) + " with a flipped bit")
		}
		for _, size := range []int64{4096, 200} {
			again()
			if err := os.Truncate(file, size); err != nil {
				t.Fatal(err)
			}
			check(filepath.Base(file) + ", cut")
		}
	}
	again()
	if err := removeVoteCopy(path); err != nil {
		t.Fatal(err)
	}
	check("without a second copy, as of an older version")
}

// So it is for every bit of what the second copy says, those that are 0 included: with a higher
// number of its transaction it would take the place of the file.
func TestFlippedBitOfTheVoteCopy(t *testing.T) {
	path, again := keptVote(t)
	copied := filepath.Join(filepath.Dir(path), CopyName)
	sound, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	for at := range voteCopyHead + 8 {
		again()
		b := bytes.Clone(sound)
		b[at] ^= 1 << (at % 8)
		if err := os.WriteFile(copied, b, 0o600); err != nil {
			t.Fatal(err)
		}
		checkVoted(t, path, fmt.Sprintf("byte %d of the second copy", at))
	}
}

// A file that is older than its second copy was put back from somewhere.
func TestOlderCopyOfTheVote(t *testing.T) {
	path, again := keptVote(t)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again()
	s, err := openHalting(path, func(err error) { t.Fatal(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.SetUint64([]byte(KeyTerm), 9), s.Close(), os.WriteFile(path, old, 0o600)); err != nil {
		t.Fatal(err)
	}
	if s, err = openHalting(path, func(err error) { t.Fatal(err) }); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if term, _ := s.GetUint64([]byte(KeyTerm)); term != 9 {
		t.Errorf("the term is %d, it was 9", term)
	}
}

// A version that does not know the second copy voted, and then its file was damaged. The
// second copy tells of an older vote, and must not be taken.
func TestStaleVoteCopyIsNotTaken(t *testing.T) {
	path, again := keptVote(t)
	again()
	older := olderStore(t, path)
	if err := errors.Join(older.SetUint64([]byte(keyVoteTerm), 8), older.Set([]byte(keyVote), []byte("n3:7000")),
		older.Close()); err != nil {
		t.Fatal(err)
	}
	voted, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(filepath.Dir(path), CopyName)
	page, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at, c := range voted {
		if c == 0 && at%4096 >= pageHeader {
			continue
		}
		b := bytes.Clone(voted)
		b[at] ^= 1 << (at % 8)
		if err := errors.Join(os.WriteFile(path, b, 0o600), os.WriteFile(copied, page, 0o600)); err != nil {
			t.Fatal(err)
		}
		s, err := openHalting(path, func(err error) { t.Fatal(err) })
		if turn.Is(err, turn.Corrupt) {
			refused++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		term, _ := s.GetUint64([]byte(keyVoteTerm))
		vote, _ := s.Get([]byte(keyVote))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if term == 7 || string(vote) == "n2:7000" { // that version has no checksum of its vote
			t.Fatalf("byte %d: a vote for %q in term %d; it was for n3:7000 in term 8", at, vote, term)
		}
	}
	if refused == 0 {
		t.Error("no flipped bit was refused")
	}
}

// A node whose disk is full goes on without a second copy, rather than with an older one, and
// makes it again later.
func TestVoteOnAFullDisk(t *testing.T) {
	for _, had := range []bool{false, true} {
		path, _ := keptVote(t)
		copied := filepath.Join(filepath.Dir(path), CopyName)
		if !had { // as an older version leaves it
			if err := errors.Join(os.Remove(copied), os.Symlink("/dev/full", copied)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := openHalting(path, func(err error) { t.Errorf("the node halts: %v", err) })
		if err != nil {
			t.Fatal(err)
		}
		full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if had {
			_ = s.second.file.Close()
		}
		s.second.file = full
		before := s.Promised()
		if err := s.SetUint64([]byte(KeyTerm), before+1); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(copied); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is an older copy: %v", err)
		}
		if err := errors.Join(s.SetUint64([]byte(KeyTerm), before+2), s.Close()); err != nil {
			t.Fatal(err)
		}
		c, err := openVoteCopy(filepath.Dir(path))
		if err != nil || c.page == nil || number(c.values()[KeyTerm]) != before+2 {
			t.Errorf("the copy made later: %v, %v", c, err)
		}
		_ = c.Close()
	}
}
