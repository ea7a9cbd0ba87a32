package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/turnlog/turnlog/internal/bench/target"
)

// generateTail runs pairs until the time is up and every message has arrived.
func generateTail(ctx context.Context, t *target.Target, cfg Config, r *rand.Rand, rec *recorder) error {
	if t.Protocol != target.Turnlog {
		return fmt.Errorf("%s: only targets of turnlog:// can be tailed", t.Name)
	}
	d := target.NewTurnDialect(t)
	// Seqs begin at 1 in new sessions only.
	prefix := fmt.Sprintf("%stail-%016x-", cfg.Prefix, r.Uint64())
	acks := &recorder{live: new(Live)}
	shared := load{dialect: d, payloads: target.NewPayloads(cfg.Size, r), rand: r, record: acks}
	var clients []*client
	for i := range cfg.Clients {
		p := &pair{key: strconv.AppendInt([]byte(prefix), int64(i), 10)}
		writer, reader := shared, shared
		writer.role, reader.role = &tailWriter{p, rec.until}, &tailReader{p}
		reader.record = rec
		clients = append(clients, &client{load: &writer}, &client{load: &reader})
	}
	if err := connectAndDrive(ctx, t, d, cfg.Goroutines, clients); err != nil {
		return err
	}
	rec.errors += acks.errors
	if rec.first == nil {
		rec.first = acks.first
	}
	return nil
}
