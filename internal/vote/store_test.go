package vote

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/turn"
)

const dir = "/"

// open opens the store on a disk, of a node that may have voted.
func open(t *testing.T, disk vfs.FS) (*Store, error) {
	return Open(dir, Config{Disk: disk, Halt: func(err error) { t.Fatal(err) }, Logger: slog.New(slog.DiscardHandler),
		Member: func() (bool, error) { return true, nil }})
}

// begun returns a disk with the store of a new node.
func begun(t *testing.T) *simdisk.Disk {
	t.Helper()
	disk := simdisk.New()
	s, err := Open(dir, Config{Disk: disk, Halt: func(err error) { t.Fatal(err) },
		Logger: slog.New(slog.DiscardHandler),
		Member: func() (bool, error) { return false, nil }})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return disk
}

func mustOpen(t *testing.T, disk vfs.FS) *Store {
	t.Helper()
	s, err := open(t, disk)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func set(t *testing.T, s *Store, key string, v uint64) {
	t.Helper()
	if err := s.SetUint64([]byte(key), v); err != nil {
		t.Fatal(err)
	}
}

func voteFor(t *testing.T, s *Store, term uint64, candidate string) {
	t.Helper()
	set(t, s, KeyTerm, term)
	set(t, s, KeyVoteTerm, term)
	if err := s.Set([]byte(KeyVote), []byte(candidate)); err != nil {
		t.Fatal(err)
	}
}

// voted returns a disk as of a vote for n2 in term 7; before that there were others.
func voted(t *testing.T) *simdisk.Disk {
	t.Helper()
	disk := begun(t)
	s := mustOpen(t, disk)
	defer s.Close()
	voteFor(t, s, 5, "n3:7000")
	voteFor(t, s, 7, "n2:7000")
	return disk
}

// said is what a store says.
func said(s *Store) string {
	term, _ := s.GetUint64([]byte(KeyTerm))
	voteTerm, _ := s.GetUint64([]byte(KeyVoteTerm))
	candidate, _ := s.Get([]byte(KeyVote))
	return fmt.Sprintf("term %d, vote for %q in term %d, promised %d", term, candidate, voteTerm, s.Promised())
}

const afterVote = `term 7, vote for "n2:7000" in term 7, promised 7`

// checkVoted requires a store to say what that of voted does, and both of its files to say it
// after that, each alone.
func checkVoted(t *testing.T, disk *simdisk.Disk, how string) {
	t.Helper()
	s, err := open(t, disk)
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	got := said(s)
	if err := s.Close(); err != nil || got != afterVote {
		t.Fatalf("%s: %s, %v; want %s", how, got, err, afterVote)
	}
	for _, name := range []string{FileName, CopyName} {
		f := &pageFile{disk: disk, path: filepath.Join(dir, name)}
		r, err := f.read()
		if err != nil || r.voteTerm != 7 || string(r.candidate) != "n2:7000" || f.close() != nil {
			t.Fatalf("%s: after that, %s holds %+v, %v", how, name, r, err)
		}
	}
}

func TestStableStore(t *testing.T) {
	disk := begun(t)
	s := mustOpen(t, disk)
	if v, err := s.GetUint64([]byte(KeyTerm)); v != 0 || err != nil {
		t.Fatalf("a new store has term %d, %v", v, err)
	}
	if b, err := s.Get([]byte("x")); b != nil || err != nil {
		t.Fatalf("%q, %v", b, err)
	}
	set(t, s, KeyTerm, 5)
	set(t, s, KeyTerm, 4) // a heartbeat that overtook an election
	if v, _ := s.GetUint64([]byte(KeyTerm)); v != 5 || s.Promised() != 5 {
		t.Fatalf("the term went back to %d, promised %d", v, s.Promised())
	}
	set(t, s, KeyVoteTerm, 7)
	if s.Promised() != 7 {
		t.Fatalf("promised %d after a vote in term 7", s.Promised())
	}
	long := make([]byte, maxCandidate+1)
	if s.SetUint64([]byte("other"), 1) == nil || s.Set([]byte(KeyTerm), nil) == nil ||
		s.Set([]byte(KeyVote), long) == nil {
		t.Error("what there is no place for is taken")
	}
	if err := errors.Join(s.Set([]byte(KeyVote), long[:maxCandidate]), s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, disk)
	defer s.Close()
	if b, _ := s.Get([]byte(KeyVote)); s.Promised() != 7 || len(b) != maxCandidate {
		t.Fatalf("promised %d after reopening, to a candidate of %d bytes", s.Promised(), len(b))
	}
	if _, err := open(t, disk); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("opened twice: %v", err)
	}
}

// It works on the operating system's files as on simulated ones.
func TestRealFiles(t *testing.T) {
	at := t.TempDir()
	member := false
	for _, want := range []string{`term 0, vote for "" in term 0, promised 0`, afterVote} {
		s, err := Open(at, Config{Disk: vfs.OS{}, Halt: func(err error) { t.Fatal(err) },
			Logger: slog.New(slog.DiscardHandler), Member: func() (bool, error) { return member, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if got := said(s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		voteFor(t, s, 7, "n2:7000")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		member = true
	}
}

// A term that could not be written was not promised, though the node ends over it.
func TestTermThatWasNotWritten(t *testing.T) {
	for _, key := range []string{KeyTerm, KeyVoteTerm} {
		var failed error
		s := mustOpen(t, begun(t))
		s.cfg.Halt = func(err error) { failed = err; runtime.Goexit() }
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

// Raft writes the term of a vote, and then for whom it is. Killed in between, a node has not
// voted in that term, for no candidate: with the candidate of before it would vote for that one again
// without a look at its log.
func TestHalfAVoteIsNone(t *testing.T) {
	disk := begun(t)
	again := func(s *Store) *Store {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, disk)
	}
	s := mustOpen(t, disk)
	voteFor(t, s, 5, "x")
	s = again(s)
	set(t, s, KeyVoteTerm, 6)
	s = again(s)
	if b, err := s.Get([]byte(KeyVote)); b != nil || err != nil {
		t.Errorf("in term 6 the vote is for %q, %v", b, err)
	}
	s.Spend(6)
	s = again(s)
	if b, _ := s.Get([]byte(KeyVote)); string(b) != "unknown" || s.Promised() != 6 {
		t.Errorf("in term 6, which was spent, the vote is for %q, promised %d", b, s.Promised())
	}
	voteFor(t, s, 7, "n2:7000")
	s.Spend(7)
	s.Spend(6)
	if got := said(s); got != afterVote {
		t.Errorf("to spend a term in which the node has voted changes that: %s", got)
	}
	set(t, s, KeyVoteTerm, 8)
	s.Spend(6)
	if got := said(s); got != `term 7, vote for "" in term 8, promised 8` {
		t.Errorf("a term was spent below that of half a vote: %s", got)
	}
	s.Spend(9)
	if got := said(s); got != `term 7, vote for "unknown" in term 9, promised 8` {
		t.Errorf("a term above that of half a vote was spent: %s", got)
	}
	set(t, s, KeyVoteTerm, 7)
	if s.Promised() != 8 {
		t.Errorf("promised %d after a promise of term 8", s.Promised())
	}
	_ = s.Close()
}

// editPage raises one byte of a file and has its checksum fit.
func editPage(d *simdisk.Disk, name string, at int) error {
	f := &pageFile{disk: d, path: "/" + name}
	r, err := f.read()
	if err != nil {
		return err
	}
	page := r.encode()
	page[at] += 32
	putSum(page)
	return errors.Join(f.hold(page), f.close())
}

// The files of a member that are gone, or of another version, are refused, and left as they are.
func TestLostVoteIsRefused(t *testing.T) {
	for how, c := range map[string]struct {
		spoil func(*simdisk.Disk) error
		want  turn.Kind
	}{
		"one is missing, the other damaged": {func(d *simdisk.Disk) error {
			return errors.Join(d.Delete("/"+FileName), d.Cut("/"+CopyName, 11))
		}, turn.Corrupt},
		"both are missing": {func(d *simdisk.Disk) error {
			return errors.Join(d.Delete("/"+FileName), d.Delete("/"+CopyName))
		}, turn.Corrupt},
		"both are empty": {func(d *simdisk.Disk) error {
			return errors.Join(d.Cut("/"+FileName, 0), d.Cut("/"+CopyName, 0))
		}, turn.Corrupt},
		"both are of another kind": {func(d *simdisk.Disk) error {
			return errors.Join(editPage(d, FileName, 0), editPage(d, CopyName, 0))
		}, turn.Corrupt},
		"both name a candidate that is too long": {func(d *simdisk.Disk) error {
			return errors.Join(editPage(d, FileName, 41), editPage(d, CopyName, 41))
		}, turn.Corrupt},
		"the next version": {func(d *simdisk.Disk) error { return editPage(d, CopyName, 8) }, turn.Newer},
	} {
		disk := voted(t)
		if err := c.spoil(disk); err != nil {
			t.Fatal(err)
		}
		disk.Observe(func(op simdisk.Op) {
			if op.Kind == simdisk.Write || op.Kind == simdisk.Rename {
				t.Errorf("%s: %v", how, op)
			}
		})
		if _, err := open(t, disk); turn.KindOf(err) != c.want || !strings.Contains(fmt.Sprint(err), FileName) {
			t.Errorf("%s: %v", how, err)
		}
	}
}
