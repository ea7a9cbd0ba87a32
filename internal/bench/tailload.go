package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// generateTail runs pairs until the time is up and every message has arrived.
func generateTail(ctx context.Context, t *target.Target, cfg Config, r *rand.Rand, rec *generator.Recorder) error {
	if t.Protocol != target.Turnlog {
		return fmt.Errorf("%s: only targets of turnlog:// can be tailed", t.Name)
	}
	d := target.NewTurnDialect(t)
	// Seqs begin at 1 in new sessions only.
	prefix := fmt.Sprintf("%stail-%016x-", cfg.Prefix, r.Uint64())
	acks := &generator.Recorder{Live: new(generator.Live)}
	shared := generator.Load{Dialect: d, Payloads: target.NewPayloads(cfg.Size, r), Rand: r, Record: acks}
	clients := generator.TailPairs(&shared, prefix, cfg.Clients, rec)
	if err := generator.Run(ctx, t, d, cfg.Goroutines, clients); err != nil {
		return err
	}
	rec.Errors += acks.Errors
	if rec.First == nil {
		rec.First = acks.First
	}
	return nil
}
