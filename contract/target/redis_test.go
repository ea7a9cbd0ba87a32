package target

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/internal/servers"
)

// TestRedisList: atomic pushes keep every clause that lists can be held to, as
// long as the server lives.
func TestRedisList(t *testing.T) {
	t.Parallel()
	target := openTest(t, "redis://"+servers.Redis(t).Addr(), Options{})
	runGates(t, target)
}

// TestRedisReadModifyWrite: the layout that lost turns loses them here.
func TestRedisReadModifyWrite(t *testing.T) {
	t.Parallel()
	target := openTest(t, "redis://"+servers.Redis(t).Addr()+"?layout=rmw", Options{})
	for _, name := range []string{"concurrency/one-handle", "concurrency/many-handles", "concurrency/processes"} {
		r := verdict(t, target, 1, name)[name]
		if r.Status != contract.Failed || !strings.Contains(r.Detail, "lost") {
			t.Errorf("%s: %s: %s", name, r.Status, r.Detail)
		}
	}
	if r := verdict(t, target, 1, "roundtrip")["sequential/roundtrip"]; r.Status != contract.Passed {
		t.Errorf("alone, it should work: %s", r.Detail)
	}
}

// TestRedisKill: with the settings that it has by default, Redis writes to disk
// once in a while; with appendfsync always, before it answers.
func TestRedisKill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		settings []string
		want     contract.Status
	}{
		{"default", nil, contract.Failed},
		{"appendfsync always", []string{"--appendonly", "yes", "--appendfsync", "always"}, contract.Passed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := servers.Redis(t, tt.settings...)
			target := openTest(t, "redis://"+server.Addr(), Options{})
			kill := func(context.Context) error { return server.Restart(os.Kill) }
			target.Restarts = []contract.Restart{{Kind: contract.CanKill, Do: kill}}
			for name, r := range verdict(t, target, 1, "restart/kill", "restart/kill-while-saving") {
				if r.Status != tt.want {
					t.Errorf("%s: %s: %s", name, r.Status, r.Detail)
				}
			}
		})
	}
}

// TestHiddenRetries: a client library that sends pushes again by itself, as many
// do by default, is found out.
func TestHiddenRetries(t *testing.T) {
	t.Parallel()
	target := openTest(t, "redis://"+servers.Redis(t).Addr()+"?retries=3", Options{})
	const name = "faults/hidden-retries"
	if r := verdict(t, target, 1, name)[name]; r.Status != contract.Failed || !strings.Contains(r.Detail, "doubled") {
		t.Errorf("%s: %s", r.Status, r.Detail)
	}
}
