// Package nemesis injects the faults into a cluster that machines, networks and operators cause.
//
// A fault has a name, a condition and an action. It picks a target, if there is one at the moment, does
// something to it, and undoes that. A seed determines which faults are injected, and when.
package nemesis

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// All returns every fault.
func All() []Fault {
	return slices.Concat(processFaults(), resourceFaults(), networkFaults(), dataFaults(), diskFaults(), damageFaults(),
		rollbackFaults(), clockFaults(), rightsFaults(), memberFaults())
}

// ByName returns the faults of these names.
func ByName(names []string) ([]Fault, error) {
	var out []Fault
	for _, name := range names {
		i := slices.IndexFunc(All(), func(f Fault) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no nemesis %q; --list shows them", name)
		}
		out = append(out, All()[i])
	}
	return out, nil
}

// Run injects faults, one at a time or two together, until ctx ends, and undoes them. An error means
// that the harness could not inject or undo a fault, or that a fault found a broken promise.
func Run(ctx context.Context, e *Env, faults []Fault) error {
	faults = slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return !e.possible(f) })
	calm := e.Calm
	if calm[1] == 0 {
		calm = seconds(0.2, 4)
	}
	d := deck{all: faults, rand: e.Rand}
	for len(faults) > 0 && sleep(ctx, between(e.Rand, calm)) {
		if err := e.next(ctx, &d); err != nil {
			return err
		}
	}
	return nil
}

// next injects the fault that d deals, every fourth time together with the one after it.
func (e *Env) next(ctx context.Context, d *deck) error {
	outer := d.deal()
	if len(d.all) == 1 || e.Rand.IntN(4) > 0 {
		return e.dealt(ctx, d, outer)
	}
	inner := d.deal()
	if outer.Name == inner.Name || outer.Alone || inner.Alone {
		d.deferred(inner)
		return e.dealt(ctx, d, outer)
	}
	return e.both(ctx, d, outer, inner)
}

// possible reports whether the cluster has what f needs.
func (e *Env) possible(f Fault) bool {
	nodes := e.Cluster.Nodes
	return len(nodes) >= f.Nodes && (!f.Disks || nodes[0].Disk != nil) && (!f.Clocks || nodes[0].HasClock()) &&
		(!f.Shapes || e.Cluster.Network.Shapes()) && len(e.Cluster.Spares) >= f.Spares &&
		(!f.Secure || e.Cluster.Security != nil)
}

// both has one fault happen during another.
func (e *Env) both(ctx context.Context, d *deck, outer, inner Fault) error {
	undo, err := e.begin(ctx, outer)
	if err != nil {
		return err
	}
	if undo == nil {
		d.putBack(outer)
	}
	if err := e.dealt(ctx, d, inner); err != nil || undo == nil {
		return err
	}
	return undo()
}

// dealt injects f, holds it and undoes it. If it has no target now, it goes back into d.
func (e *Env) dealt(ctx context.Context, d *deck, f Fault) error {
	took, err := e.once(ctx, f)
	if !took {
		d.putBack(f)
	}
	return err
}

// once injects f, holds it and undoes it. It reports whether there was a target.
func (e *Env) once(ctx context.Context, f Fault) (took bool, err error) {
	undo, err := e.begin(ctx, f)
	if err != nil || undo == nil {
		return false, err
	}
	sleep(ctx, between(e.Rand, f.Hold))
	return true, undo()
}

// Once injects the fault of that name now, for the duration hold.
func (e *Env) Once(ctx context.Context, name string, hold time.Duration) error {
	list, err := ByName([]string{name})
	if err != nil {
		return err
	}
	f := list[0]
	f.Hold = [2]time.Duration{hold, hold}
	_, err = e.once(ctx, f)
	return err
}

// begin injects f; undo makes it good again, also when ctx has ended. It is nil if there
// was no target.
func (e *Env) begin(ctx context.Context, f Fault) (undo func() error, err error) {
	target, act := f.Pick(ctx, e)
	if act == nil || ctx.Err() != nil {
		return nil, nil
	}
	e.Recorder.Fault(target, f.Name, true)
	heal, err := act(ctx)
	if err != nil && ctx.Err() != nil {
		return func() error { return nil }, nil // interrupted; Cluster.Heal makes it good
	}
	if err != nil {
		return nil, fmt.Errorf("nemesis %s on %q: %w", f.Name, target, err)
	}
	return func() error {
		if heal != nil {
			healCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
			defer cancel()
			if err := heal(healCtx); err != nil {
				return fmt.Errorf("undo nemesis %s on %q: %w", f.Name, target, err)
			}
		}
		e.Recorder.Fault(target, f.Name, false)
		return nil
	}, nil
}
