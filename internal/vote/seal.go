package vote

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/turn"
)

// A node that forgets its vote, or takes it for another, can give it twice: then two
// leaders have one term. So what is in raft.db is sealed. Each value is followed by
// a version byte, 1, and the CRC-32C (4 bytes, little endian) of key, value and
// version, and all of Raft's keys are there from the start. A flipped bit in a key is
// thus noticed as one in a value is, as a key that has no seal or is missing.
//
// The first versions wrote values without seals, terms as 8 bytes, and read terms
// with seals as well: a node can go back to one of those and come again. So
// a term of 8 bytes is believed; and a candidate without a seal is beside a vote's term
// without one, which is written before it.
const (
	sealVersion = 1
	sealSize    = 1 + 4
)

func seal(key, value []byte) []byte {
	b := append(append(make([]byte, 0, len(value)+sealSize), value...), sealVersion)
	return binary.LittleEndian.AppendUint32(b, sealSum(key, b))
}

func sealSum(key, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b)
}

// unseal returns a value; ok is false if it has no seal that fits.
func unseal(key, b []byte) (value []byte, ok bool, err error) {
	n := len(b) - sealSize
	if n < 0 || sealSum(key, b[:n+1]) != binary.LittleEndian.Uint32(b[n+1:]) {
		return b, false, nil
	}
	if v := b[n]; v != sealVersion {
		return nil, false, turn.Errorf(turn.Newer,
			"%s has version %d, this turnlog reads version %d: run the newer turnlog", key, v, sealVersion)
	}
	return b[:n], true, nil
}

// number is a term as it is kept; 0 if there is none.
func number(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// unsealAll returns the values of stored pairs, or an error if some of them are not
// what was written, or missing.
func unsealAll(pairs map[string][]byte) (map[string][]byte, error) {
	values, sealed := make(map[string][]byte), make(map[string]bool)
	for key, b := range pairs {
		v, ok, err := unseal([]byte(key), b)
		if err != nil {
			return nil, err
		}
		values[key] = v
		if ok {
			sealed[key] = true
		}
	}
	for key, v := range values {
		believed := sealed[key]
		switch key {
		case KeyTerm, keyVoteTerm:
			believed = believed || len(v) == 8
		case keyVote:
			believed = believed || !sealed[keyVoteTerm]
		}
		if !believed {
			return nil, turn.Errorf(turn.Corrupt, "%q fails its checksum", key)
		}
	}
	for _, key := range []string{KeyTerm, keyVoteTerm, keyVote} {
		if _, known := values[key]; !known && len(sealed) > 0 {
			return nil, turn.Errorf(turn.Corrupt, "%q is missing", key)
		}
	}
	return values, nil
}

// readStable returns what is in the file at path, nothing if that is new. bbolt
// trusts what it reads, and when it writes, it does so in goroutines of its own; so
// this happens before it is opened for that.
func readStable(path string, member func() (bool, error)) (pairs map[string][]byte, err error) {
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil || info.Size() == 0 {
		return nil, checkNew(member)
	}
	if err := checkPages(path); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = turn.Errorf(turn.Corrupt, "a page is damaged: %v", r)
		}
	}()
	err = db.View(func(tx *bbolt.Tx) (err error) {
		pairs, err = stablePairs(tx, member)
		return err
	})
	return pairs, err
}

func stablePairs(tx *bbolt.Tx, member func() (bool, error)) (map[string][]byte, error) {
	pairs := make(map[string][]byte)
	err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		if b.Root() != 0 {
			return turn.Errorf(turn.Corrupt, "bucket %q is not where it was written", name)
		}
		return b.ForEach(func(k, v []byte) error {
			if string(name) == string(bucketStable) {
				pairs[string(k)] = append([]byte{}, v...)
			}
			return nil
		})
	})
	if err == nil && tx.Bucket(bucketStable) == nil {
		err = checkNew(member)
	}
	return pairs, err
}

// checkNew refuses a file that holds nothing if it cannot be new: what it holds
// is written before the identity.
func checkNew(member func() (bool, error)) error {
	if known, err := member(); !known {
		return err
	}
	return turn.Errorf(turn.Corrupt, "what this node voted for is missing")
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
