package propose

import (
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Space tells what is admitted while disks are full. Its methods must not block.
type Space interface {
	// Refusal returns why operations that need space are rejected; nil: they are not.
	Refusal() *turn.Error
	// RefusalOf is Refusal on the leader, for operations of so many bytes together: its log may have no room for them.
	RefusalOf(bytes int) *turn.Error
	// Admits reports whether a command takes place in spite of a refusal.
	Admits(codec.Command) bool
	// Hear takes the refusal of the leader.
	Hear(*turn.Error)
}

// split moves commands that need space out of a batch if those are rejected, which why tells: it
// returns them. Commands that free space remain.
func split(b *callBatch, why *turn.Error, s Space) (rejected *callBatch) {
	if why == nil {
		return nil
	}
	kept := callBatch{gen: b.gen}
	rejected = &callBatch{gen: b.gen}
	for i, c := range b.commands {
		to := rejected
		if s.Admits(c) {
			to = &kept
		}
		to.calls, to.commands = append(to.calls, b.calls[i]), append(to.commands, c)
		to.bytes += len(c.Op)
		to.weight += b.calls[i].weight
	}
	*b = kept
	return rejected
}

// rejectsAny returns why a batch is rejected as a whole: some of it needs space.
func rejectsAny(s Space, cs []codec.Command, bytes int) *turn.Error {
	why := s.RefusalOf(bytes)
	if why == nil {
		return nil
	}
	for _, c := range cs {
		if !s.Admits(c) {
			return why
		}
	}
	return nil
}
