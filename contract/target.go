package contract

import (
	"context"
	"os/exec"
	"time"
)

// Target says how the suite reaches a memory store. Only Open is required.
type Target struct {
	// Name is shown in reports.
	Name string
	// Open returns a new handle. All handles, in all processes, use the same data.
	Open func(ctx context.Context) (Store, error)
	// Claims are promises of the store that its methods do not reveal.
	Claims Claims
	// Restarts are the ways in which the store can be stopped and started again.
	Restarts []Restart
	// Line, if set, opens a connection path to the store that can be broken.
	Line func(ctx context.Context) (Line, error)
	// Copy, if set, returns a command whose process calls WriterMain with a
	// function that opens this same target.
	Copy func(ctx context.Context) *exec.Cmd
}

// Claims are promises that the suite tests only if the store makes them.
type Claims struct {
	// IDs: an Add whose messages all have ids that are in the session already
	// changes nothing and succeeds if it is the same turn, and is ErrConflict
	// otherwise.
	IDs bool
	// LateIDs: the same after the messages were trimmed or cleared.
	LateIDs bool
	// Linearizable: each operation on a session takes place at one moment between
	// its call and its return.
	Linearizable bool
	// Bytes: a message without a Role may contain any bytes, and is returned unchanged.
	Bytes bool
	// MaxBytes is the length of the longest Content of a message; for a longer one, the store returns
	// ErrRefused. A store that claims Bytes is tested with a message without a Role, others with a
	// user's message.
	MaxBytes int
}

// Restart is a way to stop the store, or a part of it, and to start it again.
type Restart struct {
	Kind Capability // CanStop, CanKill, CanKillLead, CanKillAll or CanReplace
	// Do returns when the store, or what is left of it, serves requests. Handles
	// that were open before need not work afterwards.
	Do func(ctx context.Context) error
}

// Break is a way in which requests and answers get lost.
type Break string

const (
	Delay     Break = "delay"      // answers are held back
	CutBefore Break = "cut before" // the connection ends before the request arrives
	CutAfter  Break = "cut after"  // the connection ends after the request was carried out
	HalfOpen  Break = "half-open"  // nothing passes, and the connection stays open
	Answer    Break = "answer"     // an error is answered and the request not passed on
)

// Fault is one fault of a Line.
type Fault struct {
	Break Break
	// Answer is one of Line.Answers, if Break is Answer.
	Answer string
	// Skip is how many requests pass before the fault begins.
	Skip int
	// Times is how many requests the fault affects; 0: all until Heal.
	Times int
}

func (f Fault) String() string {
	if f.Break == Answer {
		return "answer " + f.Answer
	}
	return string(f.Break)
}

// Line is a connection path to the store that the suite can break. Its methods are called by one
// goroutine at a time; the handles that it opens are used by many.
type Line interface {
	// Open returns a handle whose requests take this path.
	Open(ctx context.Context) (Store, error)
	// Answers lists the error answers that the Line can give, such as "OOM".
	Answers() []string
	// Break applies a fault to requests from now on.
	Break(Fault)
	// Heal ends the fault; connections that were cut stay cut.
	Heal()
	// Hits returns how many requests a fault has affected since Break.
	Hits() int
	Close() error
}

// timing of the cases that wait for something
const (
	defaultOp   = 30 * time.Second       // for an operation to end in good weather
	brokenOp    = 800 * time.Millisecond // while something is broken
	brokenMost  = 10 * time.Second       // the same, for slow stores
	brokenGrace = 5 * time.Second        // beyond its context, for an operation to return
	healTime    = 15 * time.Second
)
