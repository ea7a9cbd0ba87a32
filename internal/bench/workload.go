package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/turnlog/turnlog/internal/bench/generator"
)

var (
	readStep = generator.Step{Read: true}
	readOnly = []generator.Step{readStep}
	oneMore  = []generator.Step{{Messages: 1}}
	chatTurn = []generator.Step{readStep, {Messages: 2}}
)

// Workload is a kind of load.
type Workload struct {
	Name string
	Help string
	// Reads: sessions must be filled before.
	Reads bool
	// Tails: clients are pairs of a writer and a reader that follows its session.
	Tails bool
	// next returns the steps of the next operation; they are taken one after the other.
	next func(*rand.Rand) []generator.Step
}

// Workloads lists the workloads that can be measured on a target.
func Workloads() []Workload {
	return []Workload{
		{Name: "append", Help: "append one message to a session",
			next: func(*rand.Rand) []generator.Step { return oneMore }},
		{Name: "read", Help: "read the last messages of a session", Reads: true,
			next: func(*rand.Rand) []generator.Step { return readOnly }},
		{Name: "chat", Help: "read the last messages, then append a turn of two", Reads: true,
			next: func(*rand.Rand) []generator.Step { return chatTurn }},
		{Name: "mixed", Help: "four reads to one append", Reads: true, next: func(r *rand.Rand) []generator.Step {
			if r.Uint32()%5 == 0 {
				return oneMore
			}
			return readOnly
		}},
		{Name: "tail", Help: "append to a session and follow it over another connection, until the message has arrived",
			Tails: true},
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
