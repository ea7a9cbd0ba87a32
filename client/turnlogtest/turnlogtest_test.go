package turnlogtest_test

import (
	"os"
	"testing"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/turn"
)

// appendOne appends a message without trying again: the server must be ready.
func appendOne(t *testing.T, s *turnlogtest.Server, want uint64) {
	t.Helper()
	c, err := client.New(client.Config{Addrs: []string{s.Addr()}, RetryFor: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Session("alice").Append(t.Context(), turn.NewMessage{Data: []byte("hi")})
	if err != nil || r.First != want {
		t.Errorf("appended message %d, %v; want %d", r.First, err, want)
	}
}

// TestServersAreApart: each test has a server with nothing in it, which is ready.
func TestServersAreApart(t *testing.T) {
	a, b := turnlogtest.Start(t), turnlogtest.Start(t)
	appendOne(t, a, 1)
	appendOne(t, b, 1)
}

// TestEndsWithItsTest: nothing listens any more, and the data is gone.
func TestEndsWithItsTest(t *testing.T) {
	var s *turnlogtest.Server
	t.Run("part", func(t *testing.T) {
		s = turnlogtest.Start(t)
		appendOne(t, s, 1)
	})
	c, err := client.New(client.Config{Addrs: []string{s.Addr()}, RetryFor: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Session("alice").Info(t.Context()); !turn.Is(err, turn.Unavailable) {
		t.Errorf("after the test: %v", err)
	}
}

// TestSameData: what was acknowledged is there when the directory is opened again.
func TestSameData(t *testing.T) {
	dir := t.TempDir()
	for i := range uint64(3) {
		s, err := turnlogtest.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		appendOne(t, s, i+1)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	}
}

// TestWorkingDirectoryChanges: a relative directory is that of the moment at which the server began.
func TestWorkingDirectoryChanges(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := turnlogtest.New("data")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	c, err := client.New(client.Config{Addrs: []string{s.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 6 { // more than two files of the log
		if _, err := c.Session("alice").Append(t.Context(), turn.NewMessage{Data: make([]byte, 8<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestCannotStart: why it cannot is said.
func TestCannotStart(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := turnlogtest.New(file); err == nil {
		s.Close()
		t.Error("a file was taken for a directory")
	}
}

// TestSameLimits: the largest append is taken, in spite of a smaller log.
func TestSameLimits(t *testing.T) {
	s := turnlogtest.Start(t)
	c, err := client.New(client.Config{Addrs: []string{s.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	half := make([]byte, turn.DefaultLimits().AppendBytes/2)
	if _, err := c.Session("alice").Append(t.Context(), turn.NewMessage{Data: half},
		turn.NewMessage{Data: half}); err != nil {
		t.Errorf("%d bytes: %v", 2*len(half), err)
	}
	if _, err := c.Session("alice").Append(t.Context(), turn.NewMessage{Data: half}, turn.NewMessage{Data: half},
		turn.NewMessage{Data: []byte("x")}); !turn.Is(err, turn.TooLarge) {
		t.Errorf("%d bytes: %v", 2*len(half)+1, err)
	}
}
