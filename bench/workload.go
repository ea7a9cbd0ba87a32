package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// step is one request of an operation.
type step struct {
	messages int  // to append; 0: read
	read     bool // the last Config.Last messages
}

var (
	readStep = step{read: true}
	readOnly = []step{readStep}
	oneMore  = []step{{messages: 1}}
	chatTurn = []step{readStep, {messages: 2}}
)

// Workload is a kind of load.
type Workload struct {
	Name string
	Help string
	// Reads: sessions must be filled before.
	Reads bool
	// next returns the steps of the next operation; they are taken one after the other.
	next func(*rand.Rand) []step
}

// Workloads lists the workloads that a closed loop of equal clients can run.
func Workloads() []Workload {
	return []Workload{
		{"append", "append one message to a session", false, func(*rand.Rand) []step { return oneMore }},
		{"read", "read the last messages of a session", true, func(*rand.Rand) []step { return readOnly }},
		{"chat", "read the last messages, then append a turn of two", true, func(*rand.Rand) []step { return chatTurn }},
		{"mixed", "four reads to one append", true, func(r *rand.Rand) []step {
			if r.Uint32()%5 == 0 {
				return oneMore
			}
			return readOnly
		}},
	}
}

// FindWorkload returns the workload of a name.
func FindWorkload(name string) (Workload, error) {
	var names []string
	for _, w := range Workloads() {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Workload{}, fmt.Errorf("there is no workload %q; there are %s", name, strings.Join(names, ", "))
}
