package migrate

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/turnlog/turnlog/turn"
)

// Config says what to move. Source and Target must be set.
type Config struct {
	Source, Target Place

	Match       string // glob of the source's keys, as SCAN has it; empty: all
	StripPrefix string // only keys that begin with it, which they lose
	AddPrefix   string // put before each key at the target
	// NewestFirst are globs (as path.Match has them) of lists that were written
	// with LPUSH. They are written so again: LRANGE gives the same in any case,
	// and the messages get their numbers in the order of the conversation.
	NewestFirst []string

	Replace bool // write keys again that hold something else at the target
	DryRun  bool // look and compare, write nothing
	// Limits, if set, are what a dry run holds keys and elements against.
	Limits *turn.Limits

	Rate         int64         // bytes read from the source in a second; 0: no limit
	Workers      int           // batches or long values in flight; 8
	RetryFor     time.Duration // how long an end may be out of reach; 15 s
	TTLTolerance time.Duration // within which two deadlines are the same; 5 s
}

// Job moves the keys of one database.
type Job struct {
	cfg            Config
	source, target *redis.Client
	report         *Report
	ledger         *ledger
	pacer          *pacer

	scanned  atomic.Int64 // keys that SCAN gave in this pass
	elements atomic.Int64 // elements that were written, or compared at once
	steps    atomic.Int64 // successes of any kind
}

// New returns a job; it connects to nothing yet. Several jobs can share a report.
func New(cfg Config, report *Report) (*Job, error) {
	for _, glob := range cfg.NewestFirst {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, fmt.Errorf("%q: %w", glob, err)
		}
	}
	cfg.Workers = cmp.Or(max(0, cfg.Workers), 8)
	cfg.RetryFor = cmp.Or(cfg.RetryFor, 15*time.Second)
	cfg.TTLTolerance = cmp.Or(cfg.TTLTolerance, 5*time.Second)
	if cfg.Match == "" {
		cfg.Match = GlobLiteral(cfg.StripPrefix) + "*"
	}
	return &Job{cfg: cfg, source: cfg.Source.open(cfg.Workers), target: cfg.Target.open(cfg.Workers),
		report: report, ledger: newLedger(), pacer: &pacer{rate: cfg.Rate}}, nil
}

// Close ends the connections.
func (j *Job) Close() {
	j.source.Close()
	j.target.Close()
}

// Scanned returns how many keys the present pass has come across.
func (j *Job) Scanned() int64 { return j.scanned.Load() }

// Elements returns how many elements the job has come across.
func (j *Job) Elements() int64 { return j.elements.Load() }

// targetName returns the key's name at the target.
func (j *Job) targetName(key string) (string, bool) {
	rest, selected := strings.CutPrefix(key, j.cfg.StripPrefix)
	return j.cfg.AddPrefix + rest, selected
}

// sourceName is the inverse.
func (j *Job) sourceName(key string) string {
	return j.cfg.StripPrefix + strings.TrimPrefix(key, j.cfg.AddPrefix)
}

func (j *Job) newestFirst(key string) bool {
	return slices.ContainsFunc(j.cfg.NewestFirst, func(glob string) bool {
		ok, _ := path.Match(glob, key) // New has tried the globs
		return ok
	})
}

// persist repeats f while it fails for a passing reason, until nothing at all has
// got on for as long as Config.RetryFor.
func (j *Job) persist(ctx context.Context, f func() error) error {
	steps, since := j.steps.Load(), time.Now()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := f()
		if err == nil || !transient(err) || ctx.Err() != nil {
			if err == nil {
				j.steps.Add(1)
			}
			return err
		}
		if now := j.steps.Load(); now != steps {
			steps, since = now, time.Now()
		}
		if time.Since(since) > j.cfg.RetryFor {
			return fmt.Errorf("tried for %s: %w", j.cfg.RetryFor, err)
		}
		if serr := sleep(ctx, pause); serr != nil {
			return serr
		}
	}
}

// ask is ask, repeated while it fails for a passing reason.
func (j *Job) ask(ctx context.Context, p pipeliner, commands [][]any) (replies []any, err error) {
	err = j.persist(ctx, func() (err error) {
		replies, err = ask(ctx, p, commands)
		return err
	})
	return replies, err
}

func (j *Job) place(p Place, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s at %s: %w", p.Name, strings.Join(p.Addrs, ","), err)
}

// GlobLiteral returns a glob of SCAN that matches text only.
func GlobLiteral(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
