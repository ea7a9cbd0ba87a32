package store

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPacer(t *testing.T) {
	const work = 10 << 20
	run := func(since time.Duration, hurry func(done int) bool) time.Duration {
		began, done := time.Now(), 0
		p := NewFlushPacer(work, since, func() bool { return hurry(done) })
		for ; done < work; done += 1 << 10 {
			p.Did(1 << 10)
		}
		return time.Since(began)
	}
	never := func(int) bool { return false }
	synctest.Test(t, func(t *testing.T) {
		for since, want := range map[time.Duration]time.Duration{
			0:                      0,
			900 * time.Millisecond: 300 * time.Millisecond,
			time.Hour:              longestFlush,
		} {
			if took := run(since, never); took > want || took < want*9/10 {
				t.Errorf("%v after the last flush, the work took %v, want %v", since, took, want)
			}
		}
		half := func(done int) bool { return done >= work/2 }
		if took := run(time.Hour, half); took > longestFlush*6/10 || took < longestFlush*4/10 {
			t.Errorf("hurried on from the middle, the work took %v of %v", took, longestFlush)
		}
	})
}
