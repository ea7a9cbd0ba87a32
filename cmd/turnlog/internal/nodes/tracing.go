package nodes

import (
	"context"
	"log/slog"
	"sync"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/otlp"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/trace"
)

// startTracing returns a tracer whose spans are exported until stop is called; nil if the settings have no endpoint.
func startTracing(a *cli.App, cfg *config.Config, log *slog.Logger) (_ *trace.Tracer, stop func(), err error) {
	if cfg.Traces.Endpoint == "" {
		return nil, func() {}, nil
	}
	e, err := otlp.New(otlp.Config{Endpoint: cfg.Traces.Endpoint, Headers: a.Getenv("OTEL_EXPORTER_OTLP_HEADERS"),
		NodeID: cfg.NodeID, Version: a.Version, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { e.Run(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	return trace.New(e, cfg.Traces.Ratio), stop, nil
}
