package wal_test

import (
	"math/rand/v2"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

const simDir = "/wal"

// crasher cuts the power at every boundary between two operations of the disk, lets each policy decide what of the
// unsynced data is left, and looks at what Open makes of it.
type crasher struct {
	t      *testing.T
	r      *rand.Rand
	opts   wal.Options
	states int

	doing         string
	before, after model // the log must be as one of them
}

// random is a reader of the test's randomness, for salts.
type random struct{ *rand.Rand }

func (r random) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return len(b), nil
}

func (c *crasher) open(disk *simdisk.Disk) (*wal.Log, error) {
	opts := c.opts
	opts.FS = disk
	return wal.Open(simDir, opts)
}

// watch has every boundary of the disk's operations examined.
func (c *crasher) watch(disk *simdisk.Disk) {
	disk.Observe(func(op simdisk.Op) {
		if op.Changes() {
			c.everyCrash(disk, op.String())
		}
	})
}

func (c *crasher) everyCrash(disk *simdisk.Disk, at string) {
	for _, p := range simdisk.Policies() {
		c.examine(disk.Crash(p, c.r), p.Name+" before "+at)
	}
	c.examineKilled(disk.Kill(), "killed before "+at)
}

// settle opens the log and returns which of the two states it is in.
func (c *crasher) settle(disk *simdisk.Disk, how string) (*wal.Log, model) {
	c.t.Helper()
	c.states++
	l, err := c.open(disk)
	if err != nil {
		c.t.Fatalf("%s, %s: open: %v", c.doing, how, err)
	}
	before := c.before.diff(l)
	if before == "" {
		return l, c.before
	}
	after := c.after.diff(l)
	if after != "" {
		c.t.Fatalf("%s, %s:\nnot as before: %s\nnot as after: %s", c.doing, how, before, after)
	}
	return l, c.after
}

// examine opens a disk after a power cut, at times cutting the power during that as well, and makes sure that the log
// can be used.
func (c *crasher) examine(disk *simdisk.Disk, how string) {
	c.t.Helper()
	if c.r.IntN(20) == 0 {
		disk.Observe(func(op simdisk.Op) {
			if !op.Changes() {
				return
			}
			p := simdisk.Policies()[c.r.IntN(len(simdisk.Policies()))]
			l, _ := c.settle(disk.Crash(p, c.r), how+", and again "+p.Name+" before "+op.String())
			c.close(l)
		})
	}
	l, m := c.settle(disk, how)
	disk.Observe(nil)
	c.mustKeep(disk, m, how+", reopened")
	s := randomStep(m, c.r)
	if err := s.do(l); err != nil {
		c.t.Fatalf("%s, %s: %s: %v", c.doing, how, s.name, err)
	}
	c.mustKeep(disk, s.after, how+", reopened, "+s.name)
	c.close(l)
}

// examineKilled opens the disk of a process that died. What Open has shown once must stay.
func (c *crasher) examineKilled(disk *simdisk.Disk, how string) {
	c.t.Helper()
	l, m := c.settle(disk, how)
	c.mustKeep(disk, m, how+", reopened")
	c.close(l)
}

// mustKeep cuts the power and makes sure that the state is exactly m.
func (c *crasher) mustKeep(disk *simdisk.Disk, m model, how string) {
	c.t.Helper()
	c.states++
	l, err := c.open(disk.Crash(simdisk.LoseAll, c.r))
	if err != nil {
		c.t.Fatalf("%s, %s, power cut: %v", c.doing, how, err)
	}
	if d := m.diff(l); d != "" {
		c.t.Fatalf("%s, %s, power cut: %s", c.doing, how, d)
	}
	c.close(l)
}

func (c *crasher) close(l *wal.Log) {
	if err := l.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// TestCrash goes through every crash of random runs.
func TestCrash(t *testing.T) {
	r := newRand(t)
	runs, steps := 6, 25
	if *long {
		runs = 500
	}
	states := 0
	for range runs {
		c := &crasher{t: t, r: r, opts: wal.Options{SegmentBytes: 16 << 10, SpareSegments: r.IntN(3), CacheBytes: -1,
			Logger: quiet, Rand: random{r}}}
		disk := simdisk.New()
		c.watch(disk)
		c.doing = "first open"
		l, err := c.open(disk)
		if err != nil {
			t.Fatal(err)
		}
		for range steps {
			s := randomStep(c.before, r)
			if r.IntN(12) == 0 {
				s = step{"reopen", func(*wal.Log) (err error) {
					if err = l.Close(); err == nil {
						l, err = c.open(disk)
					}
					return err
				}, c.before}
			}
			c.doing, c.after = s.name, s.after
			if err := s.do(l); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			c.before = c.after
			c.everyCrash(disk, "the next call") // the call has returned: only its own state is right now
		}
		c.close(l)
		states += c.states
	}
	t.Logf("%d crash states", states)
}
