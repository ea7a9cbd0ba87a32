package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// Forever is the Return of an operation that may take effect at any later time.
const Forever = math.MaxInt64

// Operation is a call together with its outcome.
type Operation struct {
	ID      int64
	Process int
	Node    string
	API     string
	Session string
	Call    Call

	Invoke int64 // nanoseconds since the run began
	// Return is Forever if the outcome of the operation is unknown.
	Return  int64
	End     int64 // when the caller had its answer or gave up; 0 if neither is recorded
	Outcome Type  // OK, Fail or Info
	Result  Result
	Error   *Error
}

// IsOwnDuplicate reports whether op was answered as a duplicate, perhaps of
// itself: the client library made more than one attempt.
func (op *Operation) IsOwnDuplicate() bool {
	return op.Outcome == OK && op.Result.Duplicate && op.Call.Retries
}

// Unsettled reports whether op may have taken place although no attempt was
// answered as the first one.
func (op *Operation) Unsettled() bool { return op.Outcome == Info || op.IsOwnDuplicate() }

// History is a run as read back from its file.
type History struct {
	Operations []Operation // in the order of their invocations
	Marks      []Event     // faults and notes, in the order of their times
	End        int64       // time of the last line
}

// Load reads the history at path. A torn last line, left behind by a harness
// that was killed, is ignored; a call without an answer has outcome Info.
func Load(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	h, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("read history %s: %w", path, err)
	}
	return h, nil
}

// Parse reads a history as Load does.
func Parse(src io.Reader) (*History, error) {
	h := &History{}
	index := map[int64]int{} // operation number → place in h.Operations
	in := bufio.NewReaderSize(src, 1<<20)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, err
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := h.add(&e, index); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

func (h *History) add(e *Event, index map[int64]int) error {
	h.End = e.Time
	switch e.Type {
	case Fault, Note:
		h.Marks = append(h.Marks, *e)
		return nil
	case Invoke:
		if e.Call == nil {
			return errors.New("an invocation without a call")
		}
		if _, twice := index[e.Op]; twice {
			return fmt.Errorf("operation %d is invoked twice", e.Op)
		}
		index[e.Op] = len(h.Operations)
		h.Operations = append(h.Operations, Operation{ID: e.Op, Process: e.Process, Node: e.Node, API: e.API,
			Session: e.Session, Call: *e.Call, Invoke: e.Time, Return: Forever, Outcome: Info})
		return nil
	}
	at, ok := index[e.Op]
	if !ok {
		return fmt.Errorf("operation %d returns without having been invoked", e.Op)
	}
	op := &h.Operations[at]
	if op.End != 0 {
		return fmt.Errorf("operation %d returns twice", e.Op)
	}
	op.End, op.Outcome, op.Error = e.Time, e.Type, e.Error
	switch e.Type {
	case OK:
		if e.Result == nil {
			return fmt.Errorf("operation %d is ok without a result", e.Op)
		}
		op.Result, op.Return = *e.Result, e.Time
	case Fail:
		op.Return = e.Time
	case Info:
	default:
		return fmt.Errorf("unknown event type %q", e.Type)
	}
	return nil
}
