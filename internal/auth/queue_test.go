package auth

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// order fills a queue of one slot with waiters, "HOST NAME" or "!HOST NAME" for a
// likely one, and returns in which order they are served.
func order(t *testing.T, b queueBounds, waiters ...string) (served, refused []string) {
	t.Helper()
	b.slots = 1
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(b)
		q.enter("first:1", "first", false, time.Hour)
		turns := make(chan string)
		for i, w := range waiters {
			host, name, _ := strings.Cut(strings.TrimPrefix(w, "!"), " ")
			go func() {
				if q.enter(fmt.Sprintf("%s:%d", host, i), name, w[0] == '!', time.Hour) {
					turns <- w
				} else {
					turns <- "-" + w
				}
			}()
			synctest.Wait() // until it waits
			select {
			case r := <-turns:
				refused = append(refused, strings.TrimPrefix(r, "-"))
			default:
			}
		}
		for range len(waiters) - len(refused) {
			q.leave()
			served = append(served, <-turns)
		}
		q.leave()
		if q.free != 1 || q.count != 0 || len(q.hosts) != 0 || len(q.likely) != 0 {
			t.Errorf("left over: %+v", q)
		}
	})
	return served, refused
}

func TestQueueIsFair(t *testing.T) {
	for _, c := range []struct {
		what    string
		waiters []string
		want    string
	}{
		{"addresses take turns", []string{"evil a", "evil a", "evil b", "evil c", "good ann"},
			"evil a,good ann,evil b,evil c,evil a"},
		{"names of an address take turns", []string{"lo x", "lo x", "lo x", "lo ann", "lo x"},
			"lo x,lo ann,lo x,lo x,lo x"},
		{"a likely password goes first", []string{"evil a", "evil ann", "!lo ann", "!lo bob"},
			"!lo ann,!lo bob,evil a,evil ann"},
	} {
		served, refused := order(t, defaultBounds(), c.waiters...)
		if got := strings.Join(served, ","); got != c.want || refused != nil {
			t.Errorf("%s: %s, refused %q; want %s", c.what, got, refused, c.want)
		}
	}
}

func TestQueueIsBounded(t *testing.T) {
	b := queueBounds{likely: 1, total: 5, ofHost: 3, ofPair: 2}
	served, refused := order(t, b, "a x", "a x", "a x", "a y", "a z", "b x", "!c x", "!c y", "d x")
	if !slices.Equal(refused, []string{"a x", "a z", "d x"}) || len(served) != 6 {
		t.Errorf("served %q, refused %q", served, refused)
	}
}

func TestQueueGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(queueBounds{slots: 1, likely: 1, total: 9, ofHost: 9, ofPair: 9})
		q.enter("a:1", "x", false, time.Second)
		for _, likely := range []bool{false, true} {
			if q.enter("a:1", "x", likely, time.Second) {
				t.Error("two in one slot")
			}
		}
		if q.count != 0 || len(q.likely) != 0 {
			t.Errorf("%d waiters are left", q.count)
		}
		q.leave()
		if !q.enter("a:1", "x", false, time.Second) {
			t.Error("the slot is lost")
		}
	})
}

// During a flood from the user's own address and under the user's own name, a user
// who was seen before gets in, though the node was restarted.
func TestSeenUserPassesAFloodAfterARestart(t *testing.T) {
	dir := t.TempDir()
	path, seenPath := filepath.Join(dir, "users.yaml"), filepath.Join(dir, "seen-users")
	write(t, path, head+user("ann", "right password", "right: read\n    namespaces: ['*']"))
	start := func() *Users {
		u, err := Open(path, seenPath, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	before := start()
	if _, err := before.Authenticate("ann", "right password", "127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	<-before.seen.changed
	if err := before.seen.save(); err != nil {
		t.Fatal(err)
	}
	u := start()
	for range hashSlots() {
		u.queue.enter("elsewhere", "", false, time.Hour)
	}
	sec := u.Current().users["ann"].own()
	wrong := 0
	for i := 0; wrong < 2*defaultBounds().ofPair; i++ { // wrong passwords that look wrong
		if guess := fmt.Sprint("guess", i); !u.seen.resembles(sec, 1, "ann", guess) {
			wrong++
			go u.Authenticate("ann", guess, "127.0.0.1:2")
		}
	}
	for full := false; !full; time.Sleep(time.Millisecond) {
		u.queue.mu.Lock()
		full = u.queue.count == defaultBounds().ofPair
		u.queue.mu.Unlock()
	}
	if _, err := start().Authenticate("ann", "wrong", "x"); turn.KindOf(err) != turn.Unauthorized {
		t.Fatal(err)
	}
	in := make(chan error)
	go func() {
		_, err := u.Authenticate("ann", "right password", "127.0.0.1:1")
		in <- err
	}()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		u.queue.mu.Lock()
		waits = len(u.queue.likely) == 1
		u.queue.mu.Unlock()
	}
	u.queue.leave()
	if err := <-in; err != nil {
		t.Error(err)
	}
	u.queue.leave()
}

// A client that is told that too many wait learns of it late: asking in a loop, it
// asks once a second.
func TestRefusalForManyIsLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	write(t, path, head+user("ann", "s", "right: read\n    namespaces: ['*']"))
	u, err := Open(path, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		u.queue = newQueue(queueBounds{slots: 1})
		u.queue.enter("elsewhere", "", false, time.Hour)
		began := time.Now()
		if _, err := u.Authenticate("ann", "guess", "x"); turn.KindOf(err) != turn.Overloaded ||
			time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		u.maxWait = 3 * time.Second
		u.queue = newQueue(queueBounds{slots: 1, total: 9, ofHost: 9, ofPair: 9})
		u.queue.enter("elsewhere", "", false, time.Hour)
		began = time.Now()
		if _, err := u.Authenticate("ann", "guess", "x"); turn.KindOf(err) != turn.Overloaded ||
			time.Since(began) != u.maxWait {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestRunSaves(t *testing.T) {
	dir := t.TempDir()
	path, seenPath := filepath.Join(dir, "users.yaml"), filepath.Join(dir, "seen-users")
	write(t, path, head+user("ann", "s", "right: read\n    namespaces: ['*']"))
	write(t, seenPath, "a damaged file is replaced")
	u, err := Open(path, seenPath, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { u.Run(ctx); close(ended) }()
	if _, err := u.Authenticate("ann", "s", "x"); err != nil {
		t.Fatal(err)
	}
	for len(openSeen(seenPath).state.Seen) == 0 {
		time.Sleep(time.Millisecond)
	}
	write(t, path, head+user("bob", "s2", "right: read\n    namespaces: ['*']"))
	if err := u.Reload(); err != nil || len(u.seen.state.Seen) != 0 {
		t.Errorf("what was remembered of ann: %v, %v", u.seen.state.Seen, err)
	}
	cancel()
	<-ended
}

// Guesses go first equally often whatever the name: else the time that they take
// would tell who exists.
func TestGuessesGoFirstForAnyName(t *testing.T) {
	s := openSeen("")
	known, fresh := &password{text: "known"}, &password{text: "fresh"}
	s.note(known, "known", "right")
	for name, passwords := range map[string][]*password{"known": {known}, "fresh": {fresh}, "both": {known, fresh},
		"none": nil} {
		first := 0
		for i := range 1 << 15 {
			if s.resembles(passwords, 2, name, fmt.Sprint("guess", i)) {
				first++
			}
		}
		// 256 on the average; 128 if the two of a name happen to be alike.
		if first < 64 || first > 384 {
			t.Errorf("%s: %d of %d guesses go first", name, first, 1<<15)
		}
	}
	if !s.resembles([]*password{known}, 2, "known", "right") {
		t.Error("the right password does not go first")
	}
}
