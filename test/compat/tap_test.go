package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/client/turnlogtest"
)

// TestTap: what a client sends on connecting is noted up to ECHO.
func TestTap(t *testing.T) {
	tap, err := newTap(turnlogtest.Start(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	err = client{name: "go-redis"}.connect(t.Context(), "redis://"+tap.address()+"/3")
	notes := tap.close()
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) == 0 || notes[0] != "`HELLO 3`" || !slices.Contains(notes, "`SELECT 3`") {
		t.Errorf("it sent %q", notes)
	}
	for _, n := range notes {
		if strings.HasPrefix(n, "`ECHO") {
			t.Errorf("%s was noted", n)
		}
	}
}
