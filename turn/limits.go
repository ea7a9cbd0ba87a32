package turn

import "math"

// Limits bounds what one request may contain or return. The zero value of a field in a configuration
// means its default.
type Limits struct {
	MessageBytes   int // payload of one message, or one value
	AppendBytes    int // payloads of one call together
	AppendMessages int // messages of one call
	KeyBytes       int
	IDBytes        int
	MetaBytes      int // all metadata keys and values of a session together
	ReadBytes      int // payload bytes of one answer; a read beyond it, ReadMessages or AnswerBytes is cut: More is set
	ForkMessages   int
	ForkBytes      int
}

// ReadMessages is how many messages one answer may have: each takes memory beside its payload.
func (l Limits) ReadMessages() int { return max(1024, l.ReadBytes/64) }

// AnswerBytes bounds what one answer counts for in all: its payloads, ids, names and metadata, and for each message and
// element ItemBytes, for each session SessionBytes, and for each field of an entry or of metadata FieldBytes beside
// that. Only one message, element, entry or session alone exceeds it.
//
// So every answer fits a frame between nodes, which has 96 MiB. In it, numbers take up to 9 bytes, and lengths up to 5:
// beside what they hold, a message takes 28 (two numbers, two lengths), an element 20 (a number, two lengths, a byte),
// an entry 23 (two numbers, a length), a field 10 (two lengths), and a session 155 (15 numbers, four lengths). The rest
// of an answer, its Session included, takes less than 1 MiB.
func (l Limits) AnswerBytes() int {
	return min(l.ReadBytes+max(l.ReadBytes/4, 128<<10), MaxAnswerBytes)
}

// What parts of an answer count for beside what they hold: see AnswerBytes.
const (
	ItemBytes    = 32
	FieldBytes   = 40 // that is how much memory it takes; between nodes, it is less
	SessionBytes = 256
)

// MaxAnswerBytes is what AnswerBytes never exceeds: no node could send more to another. A request with more than that
// could not be forwarded to the leader, so no limit of bytes is higher.
const MaxAnswerBytes = 95 << 20

// DefaultLimits returns the limits that apply if nothing is configured.
func DefaultLimits() Limits {
	return Limits{
		MessageBytes:   8 << 20,
		AppendBytes:    16 << 20,
		AppendMessages: 1000,
		KeyBytes:       512,
		IDBytes:        64,
		MetaBytes:      16 << 10,
		ReadBytes:      64 << 20,
		ForkMessages:   100_000,
		ForkBytes:      64 << 20,
	}
}

// ForkBytes and ForkMessages of DefaultLimits also bound how much stored data one log entry may copy,
// or return as it removes it: forks, and elements that are moved or popped. An operation or transaction
// that exceeds the bound by itself is TooLarge; one that exceeds it only together with others in its
// entry is Overloaded.

// IDWindow is the number of a session's last appended messages whose ids are
// remembered.
const IDWindow = 1024

// TombstoneTime is how long, in milliseconds of cluster time, the ids of a deleted
// or expired session are remembered.
const TombstoneTime = 10 * 60 * 1000

// TombstoneMessages bounds for how many messages of deleted sessions of one key the ids are remembered,
// the latest first. The session in which the bound is reached is remembered to its end.
const TombstoneMessages = 16 * IDWindow

// DeletedSessions bounds for how many deleted sessions of one key ids are remembered: towards
// TombstoneMessages, each counts as at least TombstoneMessages/DeletedSessions messages.
const DeletedSessions = 256

// MaxTTL is the longest time to live, in milliseconds, that a request may ask for. A deadline, which is
// cluster time plus a time to live, then does not overflow before the year 2109.
const MaxTTL = math.MaxInt64 - 1<<42

// MaxNamespaceBytes bounds the name of a namespace.
const MaxNamespaceBytes = 64

// MaxNameBytes bounds the name of a hash's field and a member of a set or sorted
// set: they are keys of the store, which takes 32 KiB at most.
const MaxNameBytes = 32_000

// MaxElements bounds the elements that one operation or query may name.
const MaxElements = 100_000

// EraseStep is the number of sessions that a server deletes with one of many Erase operations, so that
// other operations wait only for one step.
const EraseStep = 100

const maxPageSessions = 10_000 // sessions of one Sessions answer
const maxEraseSessions = 1000  // sessions that one Erase deletes at most

func checkNamespace(ns string) error {
	if ns == "" || len(ns) > MaxNamespaceBytes {
		return Errorf(Invalid, "namespace must have 1 to %d bytes, has %d", MaxNamespaceBytes, len(ns))
	}
	for i := range len(ns) {
		switch c := ns[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return Errorf(Invalid, "namespace %q: only letters, digits, '.', '_' and '-' are allowed", ns)
		}
	}
	return nil
}

func (l Limits) checkKey(k Key) error {
	if err := checkNamespace(k.Namespace); err != nil {
		return err
	}
	if k.Name == "" {
		return Errorf(Invalid, "session key is empty")
	}
	if len(k.Name) > l.KeyBytes {
		return Errorf(TooLarge, "session key has %d bytes, the limit is %d", len(k.Name), l.KeyBytes)
	}
	return nil
}

func (l Limits) checkMessages(ms []NewMessage) error {
	if len(ms) > l.AppendMessages {
		return Errorf(TooLarge, "%d messages in one call, the limit is %d", len(ms), l.AppendMessages)
	}
	total := 0
	for i := range ms {
		m := &ms[i]
		if len(m.Data) > l.MessageBytes {
			return Errorf(TooLarge, "message %d has %d bytes, the limit is %d", i+1, len(m.Data), l.MessageBytes)
		}
		if len(m.ID) > l.IDBytes {
			return Errorf(TooLarge, "id of message %d has %d bytes, the limit is %d", i+1, len(m.ID), l.IDBytes)
		}
		total += len(m.Data)
	}
	if total > l.AppendBytes {
		return Errorf(TooLarge, "messages of one call have %d bytes together, the limit is %d", total, l.AppendBytes)
	}
	return checkDistinctIDs(ms)
}

func checkDistinctIDs(ms []NewMessage) error {
	if len(ms) < 2 {
		return nil
	}
	seen := make(map[string]struct{}, len(ms))
	for i := range ms {
		id := ms[i].ID
		if id == "" {
			continue
		}
		if _, dup := seen[id]; dup {
			return Errorf(Invalid, "id %q occurs twice in one call", id)
		}
		seen[id] = struct{}{}
	}
	return nil
}
