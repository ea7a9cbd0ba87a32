package vote

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/turn"
)

func putSum(page []byte) { binary.LittleEndian.PutUint32(page[12:], pageSum(page)) }

// Whichever bit of either file is flipped, or what else happens to one of them, the vote is what
// it was, and both are whole after that. Without the other file it is refused.
func TestFlippedBitCostsNoVote(t *testing.T) {
	base := voted(t)
	for _, name := range []string{"/" + FileName, "/" + CopyName} {
		other := map[string]string{"/" + FileName: "/" + CopyName, "/" + CopyName: "/" + FileName}[name]
		spoil := func(how string, do func(*simdisk.Disk) error) {
			t.Helper()
			disk, alone := base.Kill(), base.Kill()
			if err := errors.Join(do(disk), do(alone), alone.Delete(other)); err != nil {
				t.Fatal(err)
			}
			checkVoted(t, disk, name+how)
			if _, err := open(t, alone); !turn.Is(err, turn.Corrupt) {
				t.Fatalf("%s%s, without %s: %v", name, how, other, err)
			}
		}
		step := 1
		if testing.Short() {
			step = 13
		}
		for bit := 0; bit < 8*pageSize; bit += step {
			at := int64(bit / 8)
			if at > pageHead+8 && bit%8 != int(at)%8 { // of the zeros, one in each byte
				continue
			}
			spoil(fmt.Sprintf(", bit %d of byte %d", bit%8, at),
				func(d *simdisk.Disk) error { return d.Rot(name, at, 1<<(bit%8)) })
		}
		for _, size := range []int64{0, 11, pageHead, pageSize - 1} {
			spoil(fmt.Sprintf(", cut to %d bytes", size), func(d *simdisk.Disk) error { return d.Cut(name, size) })
		}
		spoil(", longer", func(d *simdisk.Disk) error { return d.Extend(name, 2*pageSize) })
		spoil(", deleted", func(d *simdisk.Disk) error { return d.Delete(name) })
		disk := base.Kill()
		disk.Fail(func(op simdisk.Op) error {
			if op.Kind == simdisk.Read && op.Name == name {
				return syscall.EIO
			}
			return nil
		})
		s := mustOpen(t, disk)
		if got := said(s); got != afterVote {
			t.Fatalf("%s in a bad sector: %s", name, got)
		}
		_ = s.Close()
		disk.Fail(nil)
		checkVoted(t, disk, name+" was in a bad sector")
	}
}

// The form on disk, which does not change within a version: term 7, a vote for n2 in it, after 6 changes.
func TestFormOfTheVote(t *testing.T) {
	const want = "7475726e766f746501000000" + "2dd7a809" + "0700000000000000" + "0700000000000000" +
		"0700000000000000" + "0700" + "6e323a37303030"
	page := (&record{sequence: 7, term: 7, voteTerm: 7, candidate: []byte("n2:7000")}).encode()
	if got := hex.EncodeToString(bytes.TrimRight(page, "\x00")); got != want || len(page) != pageSize {
		t.Errorf("%s, want %s", got, want)
	}
}

// A file that is older than the other one was put back from somewhere.
func TestOlderFileDoesNotCount(t *testing.T) {
	for _, name := range []string{FileName, CopyName} {
		disk := begun(t)
		old := &pageFile{disk: disk, path: "/" + name}
		before, err := old.read()
		if err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, disk)
		voteFor(t, s, 7, "n2:7000")
		if err := errors.Join(s.Close(), old.hold(before.encode()), old.close()); err != nil {
			t.Fatal(err)
		}
		checkVoted(t, disk, name+" is older")
	}
}

// Wherever the power is cut, and whatever reaches the disk, every change that counted as kept is
// there, and no other than the one after it; and so it is if one of the files is damaged as well.
func TestPowerCutCostsNoVote(t *testing.T) {
	t.Run("with room", func(t *testing.T) { cutPowerAtEachStep(t, begun(t)) })
	t.Run("on a full disk", func(t *testing.T) {
		disk := begun(t)
		disk.Fail(noRoomForACopy)
		cutPowerAtEachStep(t, disk)
	})
}

func cutPowerAtEachStep(t *testing.T, disk *simdisk.Disk) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	s := mustOpen(t, disk)
	kept, next, cuts := said(s), "", 0
	check := func(crashed *simdisk.Disk, how string, mayRefuse bool) {
		t.Helper()
		cuts++
		found, err := open(t, crashed)
		if err != nil {
			if !mayRefuse || !turn.Is(err, turn.Corrupt) {
				t.Fatalf("%s: %v", how, err)
			}
			return
		}
		if got := said(found); got != kept && got != next {
			t.Fatalf("%s: %s; kept was %s, and then comes %s", how, got, kept, next)
		}
		_ = found.Close()
	}
	disk.Observe(func(op simdisk.Op) {
		checkKilled(t, disk, fmt.Sprintf("before %v", op), 2)
		for _, p := range simdisk.Policies() {
			crashed := disk.Crash(p, rnd)
			for _, name := range []string{"/" + FileName, "/" + CopyName} {
				damaged := crashed.Kill()
				if damaged.Rot(name, int64(rnd.IntN(pageHead)), 1<<rnd.IntN(8)) == nil {
					check(damaged, fmt.Sprintf("before %v, %v, %s damaged", op, p, name), true)
				}
			}
			check(crashed, fmt.Sprintf("before %v, %v", op, p), false)
		}
	})
	for term := range uint64(rounds) {
		for _, change := range []struct {
			next string
			do   func()
		}{
			{fmt.Sprintf(`term %d, vote for "%s" in term %d, promised %d`, term+1, of(term), term, term+1),
				func() { set(t, s, KeyTerm, term+1) }},
			{fmt.Sprintf(`term %d, vote for "" in term %d, promised %d`, term+1, term+1, term+1),
				func() { set(t, s, KeyVoteTerm, term+1) }},
			{fmt.Sprintf(`term %d, vote for "%s" in term %d, promised %d`, term+1, of(term+1), term+1, term+1),
				func() { _ = s.Set([]byte(KeyVote), []byte(of(term+1))) }},
		} {
			next = change.next
			change.do()
			if kept = said(s); kept != next {
				t.Fatalf("%s, want %s", kept, next)
			}
		}
	}
	disk.Observe(nil)
	check(disk.Crash(simdisk.LoseAll, rnd), "at the end", false)
	if cuts < 100*rounds {
		t.Errorf("the power was cut %d times", cuts)
	}
}

// A new node's files are durable once they are made: the identity that makes their absence a loss
// is written next. A write of them that fails is reported.
func TestFilesOfANewNodeAreDurable(t *testing.T) {
	checkVotesAfterPowerCut := func(disk *simdisk.Disk) {
		t.Helper()
		s, err := open(t, disk.Crash(simdisk.LoseAll, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := said(s); got != `term 0, vote for "" in term 0, promised 0` {
			t.Error(got)
		}
		_ = s.Close()
	}
	checkVotesAfterPowerCut(begun(t))
	for _, kind := range []simdisk.Kind{simdisk.Write, simdisk.Sync, simdisk.Rename, simdisk.SyncDir} {
		disk := simdisk.New()
		failed := false
		disk.Fail(func(op simdisk.Op) error {
			if op.Kind != kind || failed {
				return nil
			}
			failed = true
			return syscall.EIO
		})
		fresh := Config{Disk: disk, Halt: func(err error) { t.Fatal(err) }, Logger: slog.New(slog.DiscardHandler),
			Member: func() (bool, error) { return false, nil }}
		if s, err := Open(dir, fresh); !errors.Is(err, syscall.EIO) {
			t.Errorf("the first %v fails: %v, %v", kind, s, err)
		}
		s, err := Open(dir, fresh)
		if err != nil || !failed {
			t.Fatalf("after the first %v failed: %v", kind, err)
		}
		_ = s.Close()
		checkVotesAfterPowerCut(disk)
	}
}

// checkKilled has a node killed, and started again on what the kernel holds of its files; what it
// says then is there after a power cut, too. On its way there it is killed again.
func checkKilled(t *testing.T, disk *simdisk.Disk, how string, more int) {
	t.Helper()
	killed := disk.Kill()
	if more > 0 {
		killed.Observe(func(op simdisk.Op) {
			checkKilled(t, killed, fmt.Sprintf("%s, then before %v", how, op), more-1)
		})
	}
	s := mustOpen(t, killed)
	killed.Observe(nil)
	want := said(s)
	after := mustOpen(t, killed.Crash(simdisk.LoseAll, nil))
	if got := said(after); got != want {
		t.Fatalf("%s: the restarted node said %s, and after a power cut %s", how, want, got)
	}
	_ = errors.Join(s.Close(), after.Close())
}

// of is the candidate of a vote in a term.
func of(term uint64) string {
	if term == 0 {
		return ""
	}
	return fmt.Sprintf("n%d:7000", term%3+1)
}

// noRoomForACopy is the fault of a disk that is full.
func noRoomForACopy(op simdisk.Op) error {
	if op.Kind == simdisk.Write && op.Name != "/"+FileName {
		return syscall.ENOSPC
	}
	return nil
}

// A node whose disk is full goes on without a second file, rather than with an older one, and
// makes it again later.
func TestVoteOnAFullDisk(t *testing.T) {
	disk := begun(t)
	s := mustOpen(t, disk)
	var told strings.Builder
	s.cfg.Logger = slog.New(slog.NewTextHandler(&told, nil))
	disk.Fail(noRoomForACopy)
	voteFor(t, s, 6, "n1:7000")
	voteFor(t, s, 7, "n2:7000")
	if n := strings.Count(told.String(), "the disk is full"); n != 1 {
		t.Errorf("it says %d times that the disk is full", n)
	}
	damaged := disk.Kill()
	if err := damaged.Rot("/"+FileName, 20, 1); err != nil {
		t.Fatal(err)
	}
	if found, err := open(t, damaged); !turn.Is(err, turn.Corrupt) {
		t.Fatalf("the only file is damaged: %s, %v", said(found), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, disk)
	if got := said(s); got != afterVote {
		t.Errorf("opened on a full disk: %s, want %s", got, afterVote)
	}
	disk.Fail(nil)
	set(t, s, KeyTerm, 7)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := disk.Rot("/"+FileName, 20, 1); err != nil {
		t.Fatal(err)
	}
	checkVoted(t, disk, "when the disk has room again")
}

// A write that fails ends the node, and is not taken for kept; a first file that is full is no
// exception.
func TestFailedWriteEndsTheNode(t *testing.T) {
	for _, name := range []string{FileName, CopyName} {
		for _, kind := range []simdisk.Kind{simdisk.Write, simdisk.Sync} {
			disk := voted(t)
			s := mustOpen(t, disk)
			var halted error
			s.cfg.Halt = func(err error) { halted = err; runtime.Goexit() }
			disk.Fail(func(op simdisk.Op) error {
				if op.Kind == kind && op.Name == "/"+name {
					return syscall.EIO
				}
				return nil
			})
			done := make(chan struct{})
			go func() {
				defer close(done)
				set(t, s, KeyTerm, 9)
			}()
			<-done
			if got := said(s); !errors.Is(halted, syscall.EIO) || got != afterVote {
				t.Errorf("%v of %s fails: %s, ended with %v", kind, name, got, halted)
			}
			disk.Fail(nil)
			halted, done = nil, make(chan struct{})
			go func() {
				defer close(done)
				set(t, s, KeyTerm, 8)
			}()
			<-done
			if got := said(s); halted == nil || got != afterVote {
				t.Errorf("after %v of %s failed, the next change is tried: %s", kind, name, got)
			}
		}
	}
}
