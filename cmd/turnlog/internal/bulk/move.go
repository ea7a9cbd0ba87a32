package bulk

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/migrate"
)

// mover is import from Redis and export to it: the same, in two directions.
type mover struct {
	*cli.App
	command string // import or export
	cfg     migrate.Config
	rate    config.Size

	allDatabases, verifyOnly, noVerify bool
	passwordFile                       string // of the Redis
}

// moveFlags are the flags that have a meaning only with a Redis URL.
var moveFlags = []string{"match", "strip-prefix", "prefix", "newest-first", "replace", "dry-run", "rate",
	"all-databases", "verify-only", "no-verify", "ttl-tolerance", "redis-password-file"}

func (m *mover) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&m.cfg.Match, "match", "", "with Redis: only keys that match this glob")
	f.StringVar(&m.cfg.StripPrefix, "strip-prefix", "", "with Redis: only keys with this prefix, which is removed")
	f.StringVar(&m.cfg.AddPrefix, "prefix", "", "with Redis: prepend this to each key")
	f.StringArrayVar(&m.cfg.NewestFirst, "newest-first", nil,
		"with Redis: globs of lists written with LPUSH, whose newest element is the first (LangChain: "+
			"'message_store:*')")
	f.BoolVar(&m.cfg.Replace, "replace", false, "with Redis: overwrite keys that hold something else at the target")
	f.BoolVar(&m.cfg.DryRun, "dry-run", false, "with Redis: read and compare everything, write nothing")
	f.Var(&m.rate, "rate", "with Redis: bytes to read per second, such as 20MiB (0: no limit)")
	f.BoolVar(&m.allDatabases, "all-databases", false, "with Redis: all databases; each is the namespace of its number")
	f.BoolVar(&m.verifyOnly, "verify-only", false, "with Redis: move nothing, compare every key")
	f.BoolVar(&m.noVerify, "no-verify", false, "with Redis: do not compare every key afterwards")
	f.StringVar(&m.passwordFile, "redis-password-file", "",
		"with Redis: file with its password (default: TURNLOG_REDIS_PASSWORD)")
	f.DurationVar(&m.cfg.TTLTolerance, "ttl-tolerance", 0, "with Redis: by how much deadlines may differ (default 5s)")
}

// refuseFlags is for a move that has nothing to do with Redis.
func (m *mover) refuseFlags(cmd *cobra.Command) error {
	for _, name := range moveFlags {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s needs a Redis URL", name)
		}
	}
	return nil
}

func isRedisURL(s string) bool {
	return strings.HasPrefix(s, "redis://") || strings.HasPrefix(s, "rediss://")
}

// redisPlace is the Redis that a URL names. Its password is not taken from the URL:
// everybody on this machine can read the arguments of a program.
func (m *mover) redisPlace(url string) (migrate.Place, error) {
	p, err := migrate.ParseURL(url)
	if err != nil {
		return p, cli.Usage(err)
	}
	if p.Password != "" {
		return p, cli.Usagef("the URL has a password, which everybody on this machine can see while the command " +
			"runs: leave it out, and put it in TURNLOG_REDIS_PASSWORD or --redis-password-file")
	}
	p.Password = m.Getenv("TURNLOG_REDIS_PASSWORD")
	if m.passwordFile != "" {
		text, err := os.ReadFile(m.passwordFile)
		if err != nil {
			return p, cli.Usage(err)
		}
		if p.Password = strings.TrimRight(string(text), "\r\n"); p.Password == "" {
			return p, cli.Usagef("--redis-password-file: %s is empty", m.passwordFile)
		}
	}
	if p.Username != "" && p.Password == "" {
		return p, cli.Usagef("user %s of the Redis has no password: set TURNLOG_REDIS_PASSWORD, or give "+
			"--redis-password-file", p.Username)
	}
	return p, nil
}

// turnlogPlace is the cluster that the global flags name.
func turnlogPlace(a *cli.App) (migrate.Place, error) {
	password, err := a.Login.Password(a.Getenv)
	if err != nil {
		return migrate.Place{}, err
	}
	tls, err := a.Login.TLS()
	return migrate.Place{Name: "turnlog", Addrs: cli.SplitAddrs(a.Addr), Username: a.Login.User, Password: password,
		TLS: tls, Namespace: a.Namespace}, err
}

func (m *mover) run(source, target migrate.Place) error {
	if m.verifyOnly && (m.noVerify || m.cfg.DryRun || m.cfg.Replace) {
		return cli.Usagef("--verify-only cannot be combined with --no-verify, --dry-run or --replace")
	}
	logging.Disable() // what fails for good is reported in the end
	m.cfg.Source, m.cfg.Target = source, target
	m.cfg.Rate, m.cfg.RetryFor = int64(m.rate), m.Timeout
	ctx, stop := cli.Interruptible(context.Background())
	defer stop()
	databases := []int{source.DB}
	if m.allDatabases {
		all, err := source.Databases(ctx)
		if err != nil {
			return err
		}
		databases = all
	}
	report := migrate.NewReport()
	for _, db := range databases {
		if m.allDatabases {
			m.cfg.Source, m.cfg.Target = inDatabase(source, db), inDatabase(target, db)
		}
		if err := m.runOne(ctx, report); err != nil {
			m.write(report)
			return m.unfinished(err, report)
		}
	}
	if err := m.write(report); err != nil {
		return err
	}
	if n := report.Problems(); n > 0 {
		return m.unfinished(fmt.Errorf("%d findings, see above; everything else is the same at both ends", n), report)
	}
	return nil
}

// unfinished says that keys were moved before err, if any may have been.
func (m *mover) unfinished(err error, report *migrate.Report) error {
	if m.cfg.DryRun || m.verifyOnly || cli.IsUsage(err) {
		return err
	}
	moved := int64(0)
	for _, n := range report.Types() {
		moved += n.Keys
	}
	if moved == 0 {
		return err
	}
	return cli.Partly(err, "Keys were moved, up to %d. Run the same again to go on: what has arrived is recognised.",
		moved)
}

// inDatabase is p with a database, or the namespace of its name.
func inDatabase(p migrate.Place, db int) migrate.Place {
	p.DB = db
	if p.Namespace != "" {
		p.Namespace = strconv.Itoa(db)
	}
	return p
}

func (m *mover) runOne(ctx context.Context, report *migrate.Report) error {
	job, err := migrate.New(m.cfg, report)
	if err != nil {
		return cli.Usage(err)
	}
	defer job.Close()
	size, err := job.Size(ctx)
	if err != nil {
		return err
	}
	if m.cfg.Match != "" || m.cfg.StripPrefix != "" {
		size = 0 // how many of them is not known
	}
	what := m.command
	if m.cfg.DryRun {
		what += " (dry run)"
	}
	if m.allDatabases {
		what += " " + strconv.Itoa(m.cfg.Source.DB)
	}
	if !m.verifyOnly {
		if err := m.pass(what, size, job, func() error { return job.Copy(ctx) }); err != nil {
			return err
		}
	}
	if m.noVerify || m.cfg.DryRun {
		return nil
	}
	return m.pass("verify", size, job, func() error { return job.Verify(ctx) })
}

// pass shows how far one pass over the keys is.
func (m *mover) pass(what string, size int64, job *migrate.Job, f func() error) error {
	before := job.Elements()
	p := cli.StartProgress(m.Stderr, what,
		cli.ProgressOf{Total: size, At: job.Scanned, Items: func() int64 { return job.Elements() - before },
			Unit: "elements"})
	err := f()
	p.Finish(fmt.Sprintf("%d keys, %d elements", job.Scanned(), job.Elements()-before))
	return err
}

// write shows the report.
func (m *mover) write(r *migrate.Report) error {
	if m.JSON {
		counts := map[migrate.Verdict]int64{}
		for _, v := range migrate.Verdicts {
			if n := r.Count(v); n > 0 {
				counts[v] = n
			}
		}
		return m.WriteJSON(map[string]any{"types": r.Types(), "keys": counts,
			"findings": append([]migrate.Finding{}, r.Findings()...), "dry_run": m.cfg.DryRun})
	}
	rows := [][]string{{"type", "keys", "elements", "bytes", "with a deadline"}}
	types := r.Types()
	for _, t := range slices.Sorted(maps.Keys(types)) {
		a := types[t]
		rows = append(rows, []string{t, fmt.Sprint(a.Keys), fmt.Sprint(a.Elements), fmt.Sprint(a.Bytes),
			fmt.Sprint(a.Expiring)})
	}
	if err := m.Table(rows); err != nil {
		return err
	}
	fmt.Fprintln(m.Stdout)
	for _, v := range migrate.Verdicts {
		if n := r.Count(v); n > 0 {
			fmt.Fprintf(m.Stdout, "%-17s %d\n", v, n)
		}
	}
	writeFindings(m.Stdout, r)
	return nil
}

// maxShown bounds the findings that people are shown; --json has more.
const maxShown = 100

func writeFindings(w io.Writer, r *migrate.Report) {
	findings := r.Findings()
	if len(findings) > 0 {
		fmt.Fprintln(w)
	}
	for _, f := range findings[:min(len(findings), maxShown)] {
		fmt.Fprintf(w, "%s: %s %s in database %d", f.Verdict, f.Type, cli.Printable([]byte(f.Key)), f.DB)
		if f.Reason != "" {
			fmt.Fprintf(w, ": %s", f.Reason)
		}
		fmt.Fprintln(w)
	}
	if n := r.Problems() - maxShown; n > 0 {
		fmt.Fprintf(w, "and %d more; --json shows up to 10,000\n", n)
	}
}
