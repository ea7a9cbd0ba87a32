// Package history is the record of a run: every call that a worker made, when
// it was made and answered, and every fault that was injected, on one clock.
//
// A history is a file of JSON lines. The line of an invocation reaches the
// operating system before the call is made, so that a crash of the harness
// cannot lose a write that the cluster may have taken.
package history

import (
	"encoding/json"
	"fmt"
	"math"
)

// Type says what an Event records.
type Type string

const (
	Invoke Type = "invoke" // a call is about to be made
	OK     Type = "ok"     // it was answered
	Fail   Type = "fail"   // it was refused: it surely did not take place
	Info   Type = "info"   // its outcome is unknown
	Fault  Type = "fault"  // the harness did something to the cluster
	Note   Type = "note"   // the harness observed something, such as a new leader
)

// Func is the operation that a Call asks for.
type Func string

const (
	Append  Func = "append"
	Read    Func = "read"
	Tail    Func = "tail" // messages after a seq, as a subscription delivered them
	Pop     Func = "pop"  // the messages with the highest seqs, or the lowest
	Trim    Func = "trim" // keep the N messages with the highest seqs
	Replace Func = "replace"
	Clear   Func = "clear"
	Delete  Func = "delete"
	Do      Func = "do"  // a Redis command on a key of any type
	Ask     Func = "ask" // one that changes nothing
	Publish Func = "publish"
	// Listen is to subscribe to a channel, or, on the same connection, to receive its next
	// message. The operations of one subscription have a process of their own.
	Listen Func = "listen"
)

// Writes reports whether f may change a session.
func (f Func) Writes() bool { return f != Read && f != Tail && f != Ask && f != Listen }

// Event is one line of a history.
type Event struct {
	Type    Type   `json:"type"`
	Time    int64  `json:"time"` // nanoseconds since the run began, monotonic
	Op      int64  `json:"op,omitempty"`
	Process int    `json:"process,omitempty"`
	Node    string `json:"node,omitempty"`    // contacted; with Fault, Note: concerned
	API     string `json:"api,omitempty"`     // http, resp, native
	Session string `json:"session,omitempty"` // namespace/key

	Call   *Call   `json:"call,omitempty"`   // of Invoke
	Result *Result `json:"result,omitempty"` // of OK
	Error  *Error  `json:"error,omitempty"`  // of Fail and Info
	Text   string  `json:"text,omitempty"`   // of Fault and Note
	// Fault events come in pairs, the beginning and the end of one fault.
	Begin bool `json:"begin,omitempty"`
}

// Call is an operation with its arguments.
type Call struct {
	Func Func `json:"f"`
	// Values are the messages to append, by the token that each payload
	// carries. Tokens are unique in a run.
	Values []string `json:"values,omitempty"`
	// IDs: every message is sent with its token as its id, so that the call
	// may be repeated and takes place at most once.
	IDs bool `json:"ids,omitempty"`
	// Again: the caller repeats a call that it had an answer to, perhaps so late that its ids
	// are forgotten.
	Again bool `json:"again,omitempty"`
	// Retries: the client library repeats the call by itself, under the ids.
	Retries bool `json:"retries,omitempty"`

	Expect *uint64 `json:"expect,omitempty"`
	TTL    int64   `json:"ttl,omitempty"` // milliseconds
	// N is how many: messages to pop or to keep; the limit of a Read or Tail,
	// where 0 means all.
	N uint64 `json:"n,omitempty"`
	// Seq: Read and Tail ask for the messages after it (a Read with Latest for
	// the newest N instead); Replace removes from it on.
	Seq    uint64 `json:"seq,omitempty"`
	Latest bool   `json:"latest,omitempty"`
	// Since and Until, if not 0, leave of a Read's messages those with Since ≤ Message.Time < Until. Whole:
	// N separates no result of a tool call from its call. Timed: the answer tells times.
	Since int64 `json:"since,omitempty"`
	Until int64 `json:"until,omitempty"`
	Whole bool  `json:"whole,omitempty"`
	Timed bool  `json:"timed,omitempty"`
	// Stale reads may show a past state; with MaxAge, one that is no older than
	// so many milliseconds.
	Stale  bool  `json:"stale,omitempty"`
	MaxAge int64 `json:"max_age,omitempty"`
	// List: the call was made as a plain Redis list command, whose answer tells
	// lengths and values but no seqs.
	List bool `json:"list,omitempty"`
	// Oldest: a Pop takes the messages with the lowest seqs. Blocks: it waits for a
	// while for a message if there is none.
	Oldest bool `json:"oldest,omitempty"`
	Blocks bool `json:"blocks,omitempty"`
	// Command is what Do and Ask ask for, without its key.
	Command []string `json:"command,omitempty"`
	// Watch: the call was made as a Redis transaction under WATCH, after the length
	// had been asked for, and refused if anything had changed since.
	Watch bool `json:"watch,omitempty"`
	// Pipeline, if not 0, is the number of the pipeline in which the call was sent: on one
	// connection, behind the call of the position before, without waiting for an answer.
	Pipeline int64 `json:"pipeline,omitempty"`
	Position int   `json:"position,omitempty"`
	// User is who makes the call, where there are users.
	User string `json:"user,omitempty"`
	// Hasty: the caller gave the call less time than an election takes.
	Hasty bool `json:"hasty,omitempty"`
	// Final marks a read of the whole session after all faults have healed.
	Final bool `json:"final,omitempty"`
}

// Selects reports whether a Read is by time, or whole.
func (c *Call) Selects() bool { return c.Since != 0 || c.Until != 0 || c.Whole }

// What the token of a message ends in that is a tool call, or the result of one: the tokens of both
// are the same before it.
const (
	ToolCall   = "!call"
	ToolResult = "!result"
)

// TailOnly as the Seq of a Read asks for the session's end and no messages.
const TailOnly = math.MaxUint32

// LengthOnly reports whether the answer of a plain list command has no values.
func (c *Call) LengthOnly() bool {
	return c.Func == Append || c.Func == Trim || c.Func == Read && c.Seq == TailOnly
}

// Result is what an answered call returned.
type Result struct {
	First       uint64 `json:"first,omitempty"`    // seqs given to the messages of an append
	Last        uint64 `json:"last,omitempty"`     // of an append; of a read: the highest seq ever given
	Revision    uint64 `json:"revision,omitempty"` // 0 where the API does not tell it
	Count       uint64 `json:"count,omitempty"`    // messages held after it
	Removed     uint64 `json:"removed,omitempty"`
	Incarnation uint64 `json:"incarnation,omitempty"`
	Duplicate   bool   `json:"duplicate,omitempty"`
	More        bool   `json:"more,omitempty"`
	// Watched is one more than the number of messages there were under WATCH.
	Watched  uint64    `json:"watched,omitempty"`
	Messages []Message `json:"messages,omitempty"`
	// Answer is that of a Do or Ask, as package value writes it.
	Answer string `json:"answer,omitempty"`
	// Places are what several keys held at one moment.
	Places []Place `json:"places,omitempty"`
}

// Place is what the session under a key held. The zero Place is that of a key without one.
type Place struct {
	Revision uint64    `json:"revision,omitempty"`
	Last     uint64    `json:"last,omitempty"`
	Messages []Message `json:"messages,omitempty"`
}

// Error is why a call failed.
type Error struct {
	Code     string `json:"code"`
	Message  string `json:"message,omitempty"`
	Revision uint64 `json:"revision,omitempty"` // of a conflict: the session's current one
	// Answered: a node said so; it is not what the caller made of a connection that broke.
	Answered bool `json:"answered,omitempty"`
}

// Conflict is the code of an append whose condition did not hold.
const Conflict = "CONFLICT"

func (e *Error) String() string {
	if e == nil {
		return "no error"
	}
	return e.Code + " " + e.Message
}

// Message is a message as a read returned it: its seq and the token of its
// payload, or a description of the payload if it is none of ours.
type Message struct {
	Seq   uint64
	Value string
	Time  int64 // Unix milliseconds; 0 where the answer is not Timed
}

// MarshalJSON writes m as [seq,"value"], or [seq,"value",time]: reads make up most of a history.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Time != 0 {
		return json.Marshal([]any{m.Seq, m.Value, m.Time})
	}
	return json.Marshal([]any{m.Seq, m.Value})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Message) UnmarshalJSON(data []byte) error {
	*m = Message{}
	parts := []any{&m.Seq, &m.Value, &m.Time}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 && len(parts) != 3 {
		return fmt.Errorf("a message is [seq, value] or [seq, value, time], not %s", data)
	}
	return nil
}
