package trials

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/report"
)

// verifier is one run of `turnlog verify`.
type verifier struct {
	*cli.App
	list                    bool
	gates, cases, required  []string
	seed                    uint64
	timeout                 time.Duration
	writers, turns          int
	junit                   string
	restartCommand, backend string
	accuracy                bool
	minAccuracy             float64
}

const verifyHelp = `Verify tests that a memory store loses, duplicates, mixes and reorders nothing, or
shows where it does: which message, and what happened around it. The store need
not be turnlog. TARGET is one of

  turnlog:[?nodes=1]                         three nodes (or one) that verify starts for itself
  turnlog:?through=n2                        ... with all requests through that node
  turnlog:?kill-leader=3s                    ... whose leader is killed again and again meanwhile
  turnlog://HOST:PORT[,HOST:PORT...]         a running cluster
  http://HOST:PORT                           the same, over HTTP
  redis://[USER:PASSWORD@]HOST:PORT[/DB]     a list for each session, as chat-history libraries have it; rediss:// with TLS
  redis://HOST:PORT?layout=rmw               a string for each session, read and written back
  postgres://USER:PASSWORD@HOST:PORT/DB      a table, with a transaction for each append
  memory:                                    this process
  exec:COMMAND                               a program that speaks JSON lines, see docs/contract.md

The keys of verify's sessions contain "contract-"; they are removed afterwards.

What a store cannot do is reported as not supported, which is neither a
pass nor a failure. The exit status is 0 only if no gate fails, and with --require
only if each of those gates could be run and holds.`

func verifyCommand(a *cli.App) *cobra.Command {
	v := &verifier{App: a}
	cmd := &cobra.Command{
		Use:   "verify TARGET",
		Short: "Test a memory store against the contract",
		Long:  verifyHelp,
		Example: `  turnlog verify turnlog:
  turnlog verify redis://127.0.0.1:6379 --gate concurrency --writers 16
  turnlog verify redis://127.0.0.1:6379 --restart-cmd 'sudo systemctl restart redis'
  turnlog verify 'exec:python3 -m turnlog.contract my_store:open' --junit contract.xml
  turnlog verify memory: --case 'edges/ttl-*' --seed 42
  turnlog verify --list`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if v.list {
				return v.listCases()
			}
			if len(args) == 0 {
				return cli.Usagef("verify needs a TARGET, such as turnlog: or redis://127.0.0.1:6379")
			}
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			return v.verify(ctx, args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&v.list, "list", false, "list the cases instead")
	f.StringSliceVar(&v.gates, "gate", nil, "run these gates only: "+gateNames())
	f.StringSliceVar(&v.cases, "case", nil, "run these cases only: NAME or GATE/NAME, with * and ?")
	f.StringSliceVar(&v.required, "require", nil,
		"gates that must be supported and hold; other gates are only reported")
	f.Uint64Var(&v.seed, "seed", 0, "run all cases with this seed (default: each with its own, see --list)")
	f.DurationVar(&v.timeout, "timeout", 60*time.Second, "how long a case may take")
	f.IntVar(&v.writers, "writers", 8, "how many writers at a time")
	f.IntVar(&v.turns, "turns", 25, "how many turns each writer appends")
	f.StringVar(&v.junit, "junit", "", "write the results as JUnit XML to this file")
	f.StringVar(&v.restartCommand, "restart-cmd", "",
		"shell command that ends the store, as harshly as it is meant to survive, starts it again, and returns")
	f.StringVar(&v.backend, "backend", "",
		"URL of the server behind an exec: target; {backend} in the command becomes the address to reach it at, "+
			"with faults")
	f.BoolVar(&v.accuracy, "accuracy", false,
		"measure what an agent remembers across restarts, also when --gate or --case is given")
	f.Float64Var(&v.minAccuracy, "min-accuracy", 0,
		"percentage of facts that must be remembered after each kind of restart")
	return cmd
}

func (v *verifier) listCases() error {
	if v.JSON {
		var out []report.CaseJSON
		for _, c := range contract.Cases() {
			out = append(out, report.Describe(&c))
		}
		return v.WriteJSON(out)
	}
	rows := [][]string{{"CASE", "INCIDENT", "SEED", "NEEDS", "PROVES"}}
	for _, c := range contract.Cases() {
		needs := make([]string, len(c.Needs))
		for i, n := range c.Needs {
			needs[i] = string(n)
		}
		rows = append(rows, []string{c.ID(), string(c.Incident), fmt.Sprint(c.Seed),
			cli.OrDash(strings.Join(needs, ", ")), c.Proves})
	}
	if err := v.Table(rows); err != nil {
		return err
	}
	fmt.Fprintln(v.Stdout)
	for _, i := range []contract.Incident{contract.I1, contract.I2, contract.I3, contract.I4, contract.I5} {
		fmt.Fprintf(v.Stdout, "%s  %s\n", i, contract.Incidents[i])
	}
	return nil
}
