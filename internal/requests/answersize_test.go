package requests

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/turn"
)

const frame = 96 << 20 // peer.Bounds.Frame as raftstore leaves it

// No part of an answer takes more between nodes than it counts for, so that the largest answer that a query may have
// goes into a frame, whatever the configuration is.
func TestLargestAnswerFitsAFrame(t *testing.T) {
	const head = 1 << 20
	for _, n := range []int{1, 64 << 10, 64 << 20, 80 << 20, 1 << 40} {
		if l := (turn.Limits{ReadBytes: n}); l.AnswerBytes()+head > frame {
			t.Errorf("with %d bytes of payload, an answer has %d", n, l.AnswerBytes())
		}
	}
	long := strings.Repeat("x", 70_000) // its length takes as much as any
	for what, of := range map[string]func(n int) (turn.Result, int){
		"messages": func(n int) (r turn.Result, size int) {
			r.Messages = make([]turn.Message, n)
			for i := range r.Messages {
				r.Messages[i] = turn.Message{Seq: math.MaxUint64, Time: math.MaxInt64, ID: long, Data: []byte(long)}
			}
			return r, n * (turn.ItemBytes + 2*len(long))
		},
		"elements": func(n int) (r turn.Result, size int) {
			r.Elements = make([]turn.Element, n)
			for i := range r.Elements {
				r.Elements[i] = turn.Element{Name: long, Value: []byte(long), Score: math.Inf(-1), Missing: true}
			}
			return r, n * (turn.ItemBytes + 2*len(long))
		},
		"entries": func(n int) (r turn.Result, size int) {
			r.Entries = make([]turn.Entry, n)
			for i := range r.Entries {
				r.Entries[i] = turn.Entry{ID: turn.MaxEntryID(),
					Fields: []turn.Field{{Name: long, Value: []byte(long)}, {}}}
			}
			return r, n * (turn.ItemBytes + 2*turn.FieldBytes + 2*len(long))
		},
		"sessions": func(n int) (r turn.Result, size int) {
			const most, moment = math.MaxUint64, math.MaxInt64
			r.Sessions = make([]turn.Session, n)
			for i := range r.Sessions {
				r.Sessions[i] = turn.Session{Key: turn.Key{Namespace: long, Name: long}, Type: turn.TypeStream,
					Incarnation: most, Count: most, Bytes: most, First: most, Last: most, Revision: most,
					Created: moment, Updated: moment, ExpiresAt: moment, Slide: moment,
					Metadata: map[string]string{long: long, "": ""}, LastEntry: turn.MaxEntryID(),
					Retention: turn.Retention{Messages: most, Turns: most}}
			}
			return r, n * (turn.SessionBytes + 2*turn.FieldBytes + 4*len(long))
		},
	} {
		none, err := codec.EncodeResult(&turn.Result{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 50} {
			r, size := of(n)
			b, err := codec.EncodeResult(&r)
			if took := len(b) - len(none); err != nil || took > size {
				t.Errorf("%d %s count for %d bytes and take %d, %v", n, what, size, took, err)
			}
		}
	}
}

// An answer that is larger than a frame is final: the leader would make it again.
func TestAnswerBeyondAFrameIsFinal(t *testing.T) {
	_, again, err := queried(t.Context(), nil, fmt.Errorf("call: %w", peer.ErrAnswerTooLarge))
	if again || turn.KindOf(err) != turn.TooLarge {
		t.Errorf("asked again: %v; %v", again, err)
	}
	if _, again, err = queried(t.Context(), nil, errors.New("lost")); !again {
		t.Errorf("an answer that was lost is not asked for again: %v", err)
	}
}
