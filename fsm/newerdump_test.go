package fsm

import (
	"bytes"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// A pair that this version cannot read is neither sent nor accepted: a state that takes the place of
// another is one that can be read. Before that, the other one is as it was.
func TestUnreadablePairsAreNotInstalled(t *testing.T) {
	for name, c := range map[string]struct {
		bucket []byte
		change func(v []byte)
		want   turn.Kind
	}{
		"newer head":          {layout.BucketHeads, func(v []byte) { v[0]++ }, turn.Newer},
		"malformed head":      {layout.BucketHeads, func(v []byte) { v[len(v)-1] |= 0x80 }, turn.Corrupt},
		"malformed tombstone": {layout.BucketTombstones, func(v []byte) { v[len(v)-1] |= 0x80 }, turn.Corrupt},
		"malformed garbage": {layout.BucketGarbage,
			func(v []byte) { copy(v, bytes.Repeat([]byte{0xff}, len(v))) }, turn.Corrupt},
		"malformed namespace": {layout.BucketNamespaces, func(v []byte) { v[len(v)-1] |= 0x80 }, turn.Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			from := variedRig(t)
			key, sealed := from.pair(c.bucket, 0)
			dump := rewriteDump(t, from.dump(), func(bucket, k, v []byte) {
				if bytes.Equal(bucket, c.bucket) && bytes.Equal(k, key) {
					c.change(v)
				}
			})
			other := turn.Key{Namespace: "0", Name: "other"}
			r, told := repairable(t)
			r.apply(1, appendOf(other, "id", "hello"))
			r.flush()
			if err := r.m.Restore(bytes.NewReader(dump)); turn.KindOf(err) != c.want {
				t.Errorf("restored: %v; want %v", err, c.want)
			}
			if r.m.Err() != nil || *told != 0 {
				t.Errorf("the machine stopped: %v; told %d times of damage", r.m.Err(), *told)
			} else if got := r.query(&turn.Read{Key: other}); len(got.Messages) != 1 {
				t.Errorf("the state that was there has %d messages", len(got.Messages))
			}

			value := sealed[layout.SealSize:]
			c.change(value)
			from.move(c.bucket, key, key, layout.Seal(key, value))
			d, err := from.m.Dump()
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if _, err := d.WriteTo(new(bytes.Buffer)); turn.KindOf(err) != c.want {
				t.Errorf("sent: %v; want %v", err, c.want)
			}
		})
	}
}
