package bench

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// driveClients has each client take operations, in a goroutine of its own, until
// next has no more or ctx ends. A client whose operation failed goes on with the
// next one.
func driveClients(ctx context.Context, clients []target.StoreClient, cfg Config, r *rand.Rand, rec *generator.Recorder,
	next func() ([]generator.Step, int, bool)) error {
	payloads := target.NewPayloads(cfg.Size, r)
	var turn sync.Mutex // of what the clients share: next, payloads and rec
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			turn.Lock()
			defer turn.Unlock()
			for ctx.Err() == nil {
				steps, session, ok := next()
				if !ok {
					return
				}
				var messages [][]byte
				for _, s := range steps {
					for range s.Messages {
						messages = append(messages, payloads.Append(make([]byte, 0, cfg.Size)))
					}
				}
				turn.Unlock()
				begun := time.Now()
				err := takeSteps(ctx, c, cfg.Prefix+strconv.Itoa(session), steps, messages, cfg.Last)
				now := time.Now()
				turn.Lock()
				if err != nil {
					rec.Failed(err)
				} else {
					rec.Ended(begun, now)
				}
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// takeSteps takes the steps of one operation, which append the messages.
func takeSteps(ctx context.Context, c target.StoreClient, session string, steps []generator.Step,
	messages [][]byte, last int) error {
	for _, s := range steps {
		var err error
		if s.Read {
			err = c.Read(ctx, session, last)
		} else {
			err = c.Append(ctx, session, messages[:s.Messages])
			messages = messages[s.Messages:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}
