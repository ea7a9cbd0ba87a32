package codec

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// EntryVersion is the version of the entry layout that this package writes.
const EntryVersion = 1

// Command is an operation in flight: its wire form, unchanged from the node
// that received it to every state machine, and its tag.
type Command struct {
	// Origin is a random number that a node draws at each process start, Number
	// counts the operations that it received since. A state machine applies an
	// (Origin, Number) at most once.
	Origin uint64
	Number uint64
	Op     []byte
}

// Entry is the content of a Raft log entry: a batch of commands.
//
//	byte     version, 1
//	8 bytes  stamp, little endian, Unix milliseconds
//	uvarint  number of commands
//	each     uvarint origin, uvarint number, uvarint length, op (a msgpack array)
//
// The log store below guards entries by checksum; this layout has none.
type Entry struct {
	// Stamp is the leader's cluster time when it packed the entry.
	Stamp    int64
	Commands []Command
}

const entryHeader = 1 + 8

// AppendEntry appends the layout of an entry to dst.
func AppendEntry(dst []byte, stamp int64, commands []Command) []byte {
	dst = append(dst, EntryVersion)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(stamp))
	dst = binary.AppendUvarint(dst, uint64(len(commands)))
	for i := range commands {
		c := &commands[i]
		dst = binary.AppendUvarint(dst, c.Origin)
		dst = binary.AppendUvarint(dst, c.Number)
		dst = binary.AppendUvarint(dst, uint64(len(c.Op)))
		dst = append(dst, c.Op...)
	}
	return dst
}

// DecodeEntry reads an entry. Its commands share memory with b.
func DecodeEntry(b []byte) (Entry, error) {
	if len(b) < entryHeader {
		return Entry{}, turn.Errorf(turn.Corrupt, "log entry of %d bytes is too short", len(b))
	}
	if b[0] != EntryVersion {
		return Entry{}, turn.Errorf(turn.Newer, "log entry has version %d, this turnlog reads version %d", b[0],
			EntryVersion)
	}
	e := Entry{Stamp: int64(binary.LittleEndian.Uint64(b[1:]))}
	r := varints{b: b[entryHeader:]}
	n := r.next()
	if n > uint64(len(r.b)) {
		return Entry{}, turn.Errorf(turn.Corrupt, "log entry announces %d commands in %d bytes", n, len(r.b))
	}
	e.Commands = make([]Command, 0, min(n, listStep)) // more only for what has come
	for uint64(len(e.Commands)) < n && !r.bad {
		e.Commands = append(e.Commands, Command{Origin: r.next(), Number: r.next(), Op: r.bytes(r.next())})
	}
	if r.bad || len(r.b) != 0 {
		return Entry{}, turn.Errorf(turn.Corrupt, "log entry is malformed")
	}
	return e, nil
}

// varints reads uvarints and byte strings off the front of b; bad sticks.
type varints struct {
	b   []byte
	bad bool
}

func (r *varints) next() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		r.b = nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *varints) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad = true
		r.b = nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}
