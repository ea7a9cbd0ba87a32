package trials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/recall"
	"github.com/turnlog/turnlog/contract/report"
	"github.com/turnlog/turnlog/contract/target"
)

var errContractBroken = errors.New("the contract does not hold")

// verify opens the target and runs what was selected.
func (v *verifier) verify(ctx context.Context, url string) (err error) {
	s, required, err := v.suite()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	t, err := target.Open(ctx, url, target.Options{Binary: self, Copy: copyOf(self), RestartCommand: v.restartCommand,
		Backend: v.backend})
	if wrong := (*target.URLError)(nil); errors.As(err, &wrong) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	s.Target = t.Target
	show := &verifyProgress{out: v.Stderr, terminal: cli.IsTerminal(v.Stderr)}
	s.Began, s.Ended = show.began, show.ended
	o := &report.Outcome{Required: required, MinAccuracy: v.minAccuracy}
	if o.Report, err = s.Verify(ctx); err != nil {
		return err
	}
	if v.accuracy || v.minAccuracy > 0 || len(v.gates)+len(v.cases) == 0 {
		o.Scores = recall.Script{Target: t.Target, Seed: o.Seed, Began: show.recalling}.Run(ctx)
	}
	show.clear()
	if t.Note != nil {
		o.Note = t.Note()
	}
	return v.publish(o)
}

// publish writes the outcome in every form that was asked for.
func (v *verifier) publish(o *report.Outcome) error {
	if err := v.writeJUnit(o); err != nil {
		return err
	}
	write := o.Table
	if v.JSON {
		write = o.JSON
	}
	if err := write(v.Stdout); err != nil {
		return err
	}
	if len(o.Broken()) > 0 {
		return errContractBroken
	}
	return nil
}

// The target of a writer process is in its environment rather than among its
// arguments, which everybody on the machine can read, since it may hold a password.
const verifyTargetEnv = "TURNLOG_VERIFY_TARGET"

// copyOf returns the commands of writer processes, which run this program.
func copyOf(self string) func(context.Context, string) *exec.Cmd {
	return func(ctx context.Context, url string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, "verify-writer")
		cmd.Env = append(os.Environ(), verifyTargetEnv+"="+url)
		return cmd
	}
}

// VerifyWriterCommand is what verify starts copies of this program with.
func VerifyWriterCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    "verify-writer",
		Short:  "Write what verify says",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx := context.Background() // ends with standard input
			t, err := target.Open(ctx, a.Getenv(verifyTargetEnv), target.Options{})
			if err != nil {
				return err
			}
			defer t.Close()
			return contract.WriterMain(ctx, a.Stdin, a.Stdout, t.Open)
		},
	}
}

// verifyProgress tells on a terminal which case is running, and elsewhere when a
// gate is through.
type verifyProgress struct {
	out      interface{ Write([]byte) (int, error) }
	terminal bool
	failed   int
}

const clearLine = "\r\x1b[K"

func (p *verifyProgress) began(c *contract.Case, number, total int) {
	if p.terminal {
		fmt.Fprintf(p.out, clearLine+"%d of %d, %d failed: %s", number, total, p.failed, c.ID())
	}
}

func (p *verifyProgress) ended(r *contract.Result, number, total int) {
	bad := r.Status == contract.Failed || r.Status == contract.Undecided
	if bad {
		p.failed++
	}
	switch {
	case p.terminal:
	case bad:
		fmt.Fprintf(p.out, "%d of %d  %s  %s\n", number, total, r.Status, r.Case.ID())
	case number%10 == 0 || number == total:
		fmt.Fprintf(p.out, "%d of %d cases, %d failed\n", number, total, p.failed)
	}
}

func (p *verifyProgress) recalling(kind contract.Capability) {
	if p.terminal {
		fmt.Fprint(p.out, clearLine)
	}
	fmt.Fprintf(p.out, "accuracy: %s", kind)
	if !p.terminal {
		fmt.Fprintln(p.out)
	}
}

func (p *verifyProgress) clear() {
	if p.terminal {
		fmt.Fprint(p.out, clearLine)
	}
}

// suite makes the flags a contract.Suite without its target.
func (v *verifier) suite() (s contract.Suite, required []contract.Gate, err error) {
	if v.timeout <= 0 || v.writers <= 0 || v.turns <= 0 {
		return s, nil, cli.Usagef("--timeout, --writers and --turns must be positive")
	}
	if v.minAccuracy < 0 || v.minAccuracy > 100 {
		return s, nil, cli.Usagef("--min-accuracy must be 0 to 100")
	}
	known := map[contract.Gate]bool{}
	for _, g := range contract.Gates {
		known[g] = true
	}
	for _, name := range v.required {
		if !known[contract.Gate(name)] {
			return s, nil, cli.Usagef("there is no gate %q; there are %s", name, gateNames())
		}
		required = append(required, contract.Gate(name))
	}
	s = contract.Suite{Seed: v.seed, Writers: v.writers, Turns: v.turns, Timeout: v.timeout, Cases: v.cases}
	for _, name := range v.gates {
		s.Gates = append(s.Gates, contract.Gate(name))
	}
	if _, err := s.Selected(); err != nil {
		return s, nil, cli.Usage(err)
	}
	return s, required, nil
}

func (v *verifier) writeJUnit(o *report.Outcome) error {
	if v.junit == "" {
		return nil
	}
	f, err := os.Create(v.junit)
	if err != nil {
		return err
	}
	if err := o.JUnit(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func gateNames() string {
	names := make([]string, len(contract.Gates))
	for i, g := range contract.Gates {
		names[i] = string(g)
	}
	return strings.Join(names, ", ")
}
