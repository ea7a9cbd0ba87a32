package migrate

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// Size returns how many keys the source's database has.
func (j *Job) Size(ctx context.Context) (n int64, err error) {
	err = j.persist(ctx, func() (err error) {
		n, err = j.source.DBSize(ctx).Result()
		return err
	})
	return n, j.place(j.cfg.Source, err)
}

// Copy moves every key. An error means that it did not get to the end; it can be
// begun again. Keys that could not be moved are no error: they are in the report.
func (j *Job) Copy(ctx context.Context) error {
	return j.each(ctx, j.source, j.cfg.Match, j.copyBatch)
}

// Verify compares every key of the source with the target, and, of the keys that
// Copy or Verify have seen, finds those that the source no longer has.
func (j *Job) Verify(ctx context.Context) error {
	if err := j.each(ctx, j.source, j.cfg.Match, j.verifyBatch); err != nil {
		return err
	}
	return j.each(ctx, j.target, GlobLiteral(j.cfg.AddPrefix)+"*", j.findGone)
}

// each calls f, from several goroutines, with all keys that match.
func (j *Job) each(ctx context.Context, c *redis.Client, match string, f func(context.Context, []string) error) error {
	j.scanned.Store(0)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(j.cfg.Workers + 1)
	group.Go(func() error {
		restarts := 0
		for cursor := uint64(0); ; {
			var keys []string
			err := j.persist(ctx, func() (err error) {
				var next uint64
				if keys, next, err = c.Scan(ctx, cursor, match, 100).Result(); err == nil {
					cursor = next
				}
				return err
			})
			if err != nil && ofKey(err) && restarts < 10 { // turnlog, where another node does not know the cursor
				restarts++
				cursor = 0
				continue
			}
			if err != nil {
				return fmt.Errorf("SCAN: %w", err)
			}
			for batch := range slices.Chunk(keys, 100) {
				group.Go(func() error {
					j.scanned.Add(int64(len(batch)))
					return f(ctx, batch)
				})
			}
			if cursor == 0 {
				return nil
			}
		}
	})
	return group.Wait()
}
