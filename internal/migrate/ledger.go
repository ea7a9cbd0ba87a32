package migrate

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// ledgerKeys bounds the ledger, at some 40 bytes a key.
const ledgerKeys = 8 << 20

// ledger remembers of each key what was found at its source, as a digest. Where
// the two ends differ later, it tells which of them has changed since.
type ledger struct {
	seed maphash.Seed

	mu    sync.Mutex
	notes map[uint64]note // by digest of the key's name
}

// note is what became of a key.
type note struct {
	arrived bool   // its content was at the target, as it was at the source
	checked bool   // and the verification has looked at it
	known   bool   // sum is its digest
	sum     uint64 // see digest
}

func newLedger() *ledger { return &ledger{seed: maphash.MakeSeed(), notes: map[uint64]note{}} }

func (l *ledger) set(key string, n note) {
	h := maphash.String(l.seed, key)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, there := l.notes[h]; there || len(l.notes) < ledgerKeys {
		l.notes[h] = n
	}
}

// get reports what was noted of a key, if anything.
func (l *ledger) get(key string) (note, bool) {
	h := maphash.String(l.seed, key)
	l.mu.Lock()
	defer l.mu.Unlock()
	n, there := l.notes[h]
	return n, there
}

// digest sums a value up, element by element.
type digest struct {
	seed    maphash.Seed
	ordered bool
	sum     uint64
}

func (l *ledger) digest(k *kind) *digest { return &digest{seed: l.seed, ordered: k.ordered} }

func (d *digest) add(page ...element) *digest {
	for _, e := range page {
		var h maphash.Hash
		h.SetSeed(d.seed)
		for _, part := range e {
			var n [8]byte
			binary.LittleEndian.PutUint64(n[:], uint64(len(part)))
			h.Write(n[:])
			h.WriteString(part)
		}
		if d.ordered {
			d.sum = d.sum*0x9e3779b97f4a7c15 + h.Sum64()
		} else {
			d.sum += h.Sum64()
		}
	}
	return d
}
