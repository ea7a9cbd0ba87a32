package main

import (
	"github.com/turnlog/turnlog/cluster-test/nemesis"
	"github.com/turnlog/turnlog/turn"
)

// refusals returns the codes of errors with which calls may fail under what the
// scenario does to the cluster. In calm there are none.
func (s *Scenario) refusals() []string {
	codes := []string{}
	allow := func(kinds ...turn.Kind) {
		for _, k := range kinds {
			codes = append(codes, k.String())
		}
	}
	faults, _ := nemesis.ByName(s.Nemesis) // check tells
	if len(faults) > 0 || s.Drive != nil || s.Alone != nil {
		allow(turn.Unavailable, turn.Unknown)
	}
	for _, f := range faults {
		if f.Disks { // they are slow, and writes pile up, or full
			allow(turn.Overloaded, turn.ReadOnly)
			break
		}
	}
	return codes
}
