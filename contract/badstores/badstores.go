// Package badstores holds memory stores that are wrong in ways that have lost real
// conversations, so that the contract suite can show that it notices. Each is a
// correct store with one defect, and names the case that is there to catch it.
//
// They are anti-patterns kept on purpose: do not fix them.
package badstores

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// Bad is a store with a defect.
type Bad struct {
	Name   string
	Defect string   // what it does wrong, as its owner would only find out later
	Caught string   // the case, as gate/name, that is there to catch it
	Also   []string // further cases that are there for this defect
	// ByChance: the defect shows only if a process is killed at the right moment.
	ByChance bool

	build func() contract.Target // a new store with the defect
}

// All lists them.
func All() []Bad {
	return slices.Concat(raceDefects, restartDefects, errorDefects, poolDefects, expiryDefects, damageDefects,
		keyDefects, limitDefects, asyncDefects, processDefects, wholeDefects, editDefects, labelDefects,
		retentionDefects, stepDefects)
}

// Target returns a new store with the defect.
func (b *Bad) Target() contract.Target {
	t := b.build()
	t.Name = b.Name
	return t
}

// wrapper makes a handle of a correct store a bad one.
type wrapper func(*memory.Handle) contract.Store

// eachHandle builds a store whose handles are bad by themselves.
func eachHandle(wrap wrapper) func() contract.Target {
	return allHandles(func() wrapper { return wrap })
}

// allHandles builds a store whose handles share something bad.
func allHandles(wrap func() wrapper) func() contract.Target {
	return func() contract.Target { return wrapped(memory.New(), wrap()) }
}

// restarted builds a store of which something survives a restart.
func restarted(disk func(*memory.Server) (wrapper, func(context.Context) error)) func() contract.Target {
	return func() contract.Target {
		server := memory.New()
		wrap, restart := disk(server)
		t := wrapped(server, wrap)
		t.Restarts = []contract.Restart{{Kind: contract.CanStop, Do: restart}}
		return t
	}
}

func wrapped(server *memory.Server, wrap wrapper) contract.Target {
	t := server.Target()
	t.Open = func(context.Context) (contract.Store, error) { return wrap(server.Open()), nil }
	t.Line = func(context.Context) (contract.Line, error) { return &line{server.Line(), wrap}, nil }
	return t
}

// line is a memory.Line whose handles are bad.
type line struct {
	*memory.Line
	wrap wrapper
}

func (l *line) Open(context.Context) (contract.Store, error) { return l.wrap(l.Handle()), nil }
