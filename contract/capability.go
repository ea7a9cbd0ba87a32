package contract

// Capability is something that not every store can do.
type Capability string

const (
	CanDelete     Capability = "delete"         // Deleter
	CanTrim       Capability = "trim"           // Trimmer
	CanLoadLast   Capability = "load last"      // LastLoader
	CanPop        Capability = "pop"            // Popper
	CanList       Capability = "list"           // Lister
	CanExpire     Capability = "expiry"         // Expirer
	CanCondition  Capability = "conditions"     // Conditional
	CanAsync      Capability = "async"          // AsyncAdder
	CanAsyncLoad  Capability = "async load"     // AsyncLoader
	CanAsyncClear Capability = "async clear"    // AsyncClearer
	CanCorrupt    Capability = "corrupt"        // Corrupter
	CanNamespace  Capability = "namespaces"     // Namespacer
	CanState      Capability = "state"          // Stater
	CanAnnotate   Capability = "metadata"       // Annotator
	CanTransact   Capability = "transactions"   // Transactor
	CanStep       Capability = "steps"          // Stepper
	CanEdit       Capability = "edits"          // Editor
	CanLabel      Capability = "labels"         // Labeller
	CanRetain     Capability = "retention"      // Retainer
	HasIDs        Capability = "ids"            // Claims.IDs
	HasLateIDs    Capability = "late ids"       // Claims.LateIDs
	HasBytes      Capability = "bytes"          // Claims.Bytes
	HasLimit      Capability = "size limit"     // Claims.MaxBytes
	HasLinear     Capability = "linearizable"   // Claims.Linearizable
	HasLine       Capability = "network"        // Target.Line
	HasProcesses  Capability = "processes"      // Target.Copy
	CanRestart    Capability = "restart"        // Target.Restarts, any of them
	CanStop       Capability = "stop"           // … Stop
	CanKill       Capability = "kill -9"        // … Kill
	CanKillLead   Capability = "kill leader"    // … KillLeader
	CanKillAll    Capability = "kill all"       // … KillAll
	CanReplace    Capability = "replace a node" // … Replace
)

// methods says, for the capabilities that are interfaces, whether s has it.
var methods = map[Capability]func(s Store) bool{
	CanDelete:     func(s Store) bool { _, ok := s.(Deleter); return ok },
	CanTrim:       func(s Store) bool { _, ok := s.(Trimmer); return ok },
	CanLoadLast:   func(s Store) bool { _, ok := s.(LastLoader); return ok },
	CanPop:        func(s Store) bool { _, ok := s.(Popper); return ok },
	CanList:       func(s Store) bool { _, ok := s.(Lister); return ok },
	CanExpire:     func(s Store) bool { _, ok := s.(Expirer); return ok },
	CanCondition:  func(s Store) bool { _, ok := s.(Conditional); return ok },
	CanAsync:      func(s Store) bool { _, ok := s.(AsyncAdder); return ok },
	CanAsyncLoad:  func(s Store) bool { _, ok := s.(AsyncLoader); return ok },
	CanAsyncClear: func(s Store) bool { _, ok := s.(AsyncClearer); return ok },
	CanCorrupt:    func(s Store) bool { _, ok := s.(Corrupter); return ok },
	CanState:      func(s Store) bool { _, ok := s.(Stater); return ok },
	CanAnnotate:   func(s Store) bool { _, ok := s.(Annotator); return ok },
	CanTransact:   func(s Store) bool { _, ok := s.(Transactor); return ok },
	CanStep:       func(s Store) bool { _, ok := s.(Stepper); return ok },
	CanEdit:       func(s Store) bool { _, ok := s.(Editor); return ok },
	CanLabel:      func(s Store) bool { _, ok := s.(Labeller); return ok },
	CanRetain:     func(s Store) bool { _, ok := s.(Retainer); return ok },
	CanNamespace:  func(s Store) bool { _, ok := s.(Namespacer); return ok },
}

// can reports whether the target, seen through the handle s, has capability c.
func (t *Target) can(s Store, c Capability) bool {
	if has, ok := methods[c]; ok {
		sel, selective := s.(Selective)
		return has(s) && (!selective || sel.Supports(c))
	}
	switch c {
	case HasIDs:
		return t.Claims.IDs
	case HasLateIDs:
		return t.Claims.LateIDs
	case HasBytes:
		return t.Claims.Bytes
	case HasLimit:
		return t.Claims.MaxBytes > 0
	case HasLinear:
		return t.Claims.Linearizable
	case HasLine:
		return t.Line != nil
	case HasProcesses:
		return t.Copy != nil
	case CanRestart:
		return len(t.Restarts) > 0
	}
	for _, r := range t.Restarts {
		if r.Kind == c {
			return true
		}
	}
	return false
}
