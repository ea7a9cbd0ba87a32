package contract

import (
	"hash/fnv"
	"path"
	"slices"
	"strings"
	"time"
)

// Gate is a group of cases.
type Gate string

const (
	Sequential  Gate = "sequential"
	Concurrency Gate = "concurrency"
	Isolation   Gate = "isolation"
	Edges       Gate = "edges"
	Faults      Gate = "faults"
	Restarts    Gate = "restart"
	Retry       Gate = "retry"
	Conflict    Gate = "conflict"
)

// Gates are all gates, in the order in which they are run.
var Gates = [...]Gate{Sequential, Concurrency, Isolation, Edges, Faults, Restarts, Retry, Conflict}

// Incident is a published way in which conversations were lost.
type Incident string

const (
	I1 Incident = "I1" // the turn that vanished: read-modify-write by two workers
	I2 Incident = "I2" // the split personality: one memory object for two chats
	I3 Incident = "I3" // evaporation: failures that read as an empty history
	I4 Incident = "I4" // amnesia on deploy: history in process memory
	I5 Incident = "I5" // asynchronous services: the last one of two answers wins
)

// Incidents tells each of them in a line.
var Incidents = map[Incident]string{
	I1: "the turn that vanished: two workers read, append and write back; one turn is gone, silently",
	I2: "the bot with a split personality: one memory object, shared by two conversations",
	I3: "memory evaporation: a failed save or an unreadable row shows up as an empty history, without any error",
	I4: "amnesia on deploy: history in process memory dies with the process",
	I5: "asynchronous services: two requests of one user read the same history, both save, the last one wins",
}

// Case is one property that is tested.
type Case struct {
	Name     string // unique within its gate
	Gate     Gate
	Incident Incident
	Proves   string // one sentence
	Needs    []Capability
	// Seed repeats the messages and choices of the case. It is the case's own,
	// always the same, unless Suite.Seed is set.
	Seed uint64

	run func(*probe) error
	// waits: the case spends its time waiting, and can do so beside others.
	waits bool
	// long: the case makes many calls one after another, which a slow store may carry
	// out in its own time, as long as each of them ends.
	long bool
}

// longFactor is how much longer a case may take that is long.
const longFactor = 5

// bound is how long the case may take, if others may take limit.
func (c *Case) bound(limit time.Duration) time.Duration {
	if c.long {
		return longFactor * limit
	}
	return limit
}

// ID returns gate/name.
func (c *Case) ID() string { return string(c.Gate) + "/" + c.Name }

// Cases returns every case, gate by gate.
func Cases() []Case {
	var all []Case
	for _, group := range [...]struct {
		gate  Gate
		cases []Case
	}{
		{Sequential, slices.Concat(sequentialCases, stateCases, metadataCases, editingCases, labelCases,
			retentionCases)},
		{Concurrency, slices.Concat(concurrencyCases, metadataRaces, labelRaces, retentionRaces)},
		{Isolation, isolationCases},
		{Edges, slices.Concat(edgeCases, expiryCases)},
		{Faults, faultCases},
		{Restarts, restartCases},
		{Retry, slices.Concat(retryCases, editingRetries, retentionRetries)},
		{Conflict, slices.Concat(conflictCases, transactionCases, stepCases)},
	} {
		for _, c := range group.cases {
			c.Gate = group.gate
			c.Seed = ownSeed(c.ID())
			all = append(all, c)
		}
	}
	return all
}

// ownSeed is a number that comes from the name.
func ownSeed(id string) uint64 {
	h := fnv.New32a()
	h.Write([]byte(id))
	return uint64(h.Sum32())
}

// matches reports whether a pattern, such as "edges/ttl-*" or "roundtrip", selects c.
func (c *Case) matches(pattern string) bool {
	subject := c.Name
	if strings.Contains(pattern, "/") {
		subject = c.ID()
	}
	ok, err := path.Match(pattern, subject)
	return err == nil && ok
}

// probing makes a case of one that takes the probe of its subject, which has the steps that only its cases
// take.
func probing[P ~struct{ *probe }](run func(P) error) func(*probe) error {
	return func(p *probe) error { return run(P{p}) }
}
