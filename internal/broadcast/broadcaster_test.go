package broadcast

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"
)

// A node that does not answer costs each message a bounded time and the sender a
// bounded memory.
func TestBroadcastToSilentNode(t *testing.T) {
	silent := make(map[int]func([]byte, error))
	var mu sync.Mutex
	sent := 0
	b := New(1, func(id string, payload []byte, done func([]byte, error)) {
		if id == "good" {
			done([]byte{'x'}, nil)
			return
		}
		mu.Lock()
		silent[sent] = done
		sent++
		mu.Unlock()
	}, func() []string { return []string{"good", "silent"} })
	b.bounds = bounds{wait: 20 * time.Millisecond, total: load{4, 1000}, each: load{10, 1000}}
	var ended sync.WaitGroup
	for range 30 {
		ended.Add(1)
		b.Broadcast(context.Background(), []byte("message"), func(answers [][]byte) {
			defer ended.Done()
			if len(answers) != 1 || string(answers[0]) != "x" {
				t.Errorf("answers %q", answers)
			}
		})
		b.mu.Lock()
		if b.total.messages > 4 {
			t.Errorf("%d messages are in flight", b.total.messages)
		}
		b.mu.Unlock()
	}
	ended.Wait()
	if sent != 10 || b.dropped != 20 {
		t.Errorf("%d messages were sent to the silent node, %d dropped", sent, b.dropped)
	}
	for _, done := range silent {
		done(nil, errors.New("the connection is lost"))
	}
	if len(b.behind) != 0 || b.total != (load{}) {
		t.Errorf("left: %v, %v", b.behind, b.total)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.total = load{4, 1}
	b.Broadcast(ctx, nil, func(answers [][]byte) {
		if answers != nil {
			t.Error("answers to what was not sent")
		}
	})
}

// A message that comes after a later one was overtaken, and is dropped; those of a
// process that was started again count from 1 again.
func TestBroadcastOvertaken(t *testing.T) {
	var got string
	b := New(1, nil, nil)
	b.Receive(func(message []byte) []byte {
		got += string(message)
		return nil
	})
	hear := func(origin, number uint64, m string) {
		payload := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, origin), number)
		if _, err := b.Take("n2", append(payload, m...)); err != nil {
			t.Error(err)
		}
	}
	hear(7, 1, "a")
	hear(7, 3, "c")
	hear(7, 2, "late")
	hear(7, 3, "again")
	hear(8, 1, "d")
	if got != "acd" {
		t.Errorf("heard %q", got)
	}
	if _, err := b.Take("n2", []byte("short")); err == nil {
		t.Error("a malformed message is answered")
	}
}
