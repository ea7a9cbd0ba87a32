package generator

import (
	"testing"
	"time"
)

// A reader takes what is due, and complains of a gap or a repetition.
func TestTailReaderChecks(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		seqs []uint64
		fine bool
	}{
		{[]uint64{1}, true}, {[]uint64{1, 2, 3}, true}, {[]uint64{2}, false}, {[]uint64{1, 3}, false},
		{[]uint64{1, 1}, false}, {[]uint64{1, 2, 3, 4}, false},
	} {
		rec := &Recorder{From: now.Add(-time.Hour), Until: now.Add(time.Hour), Live: new(Live)}
		r := &tailReader{&pair{sent: []time.Time{now, now, now}}}
		err := r.take(&Client{Load: &Load{Record: rec}}, tt.seqs, now.Add(time.Millisecond))
		if fine := err == nil; fine != tt.fine {
			t.Errorf("%v: %v", tt.seqs, err)
		}
		if tt.fine && int(rec.Latency.Total()) != len(tt.seqs) {
			t.Errorf("%v: %d recorded", tt.seqs, rec.Latency.Total())
		}
	}
	seqs, err := tailSeqs([]byte("*2\r\n*4\r\n:7\r\n:1\r\n$0\r\n\r\n$1\r\nx\r\n" +
		"*4\r\n:8\r\n:1\r\n$0\r\n\r\n$1\r\ny\r\n"))
	if err != nil || len(seqs) != 2 || seqs[1] != 8 {
		t.Errorf("%v, %v", seqs, err)
	}
}
