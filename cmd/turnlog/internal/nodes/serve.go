package nodes

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/trace"

	nodes "github.com/turnlog/turnlog/internal/node"
)

// a node of the tests is a process

// serve runs a node until ctx ends or the node must stop.
func serve(a *cli.App, ctx context.Context, cfg *config.Config) error {
	log, err := newLogger(a.Stderr, cfg)
	if err != nil {
		return err
	}
	reloads, stop := catchReloads()
	defer stop()
	tracer, stopTracing, err := startTracing(a, cfg, log)
	if err != nil {
		return fmt.Errorf("the node cannot start: %w", err)
	}
	defer stopTracing()
	n, err := openNode(cfg, log, a.Version, tracer)
	if err != nil {
		return fmt.Errorf("the node cannot start: %w", err)
	}
	log.Info("turnlog", "version", a.Version, "node", cfg.NodeID, "data", cfg.DataDir,
		"resp", n.RESPAddr(), "http", n.HTTPAddr(), "raft", cfg.Listen.Raft)
	if err := n.Run(ctx, reloads); err != nil {
		return cli.Advise(fmt.Errorf("the node stopped: %w", err),
			"What it had acknowledged is kept. Its log says what came before; start it again when the cause is gone.")
	}
	log.Info("stopped")
	return nil
}

func newLogger(w io.Writer, cfg *config.Config) (*slog.Logger, error) {
	level, err := cfg.Level()
	if err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.Logging.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}

// openNode opens the node, and sets what holds for the whole process.
func openNode(cfg *config.Config, log *slog.Logger, version string, tracer *trace.Tracer) (_ *nodes.Node, err error) {
	limit, err := descriptors.Limit()
	if err != nil {
		return nil, err
	}
	o := nodes.Options{Version: version, Logger: log, Descriptors: limit, ProcessMetrics: true,
		Tracer: tracer}
	if cfg.PprofAddr != "" {
		var l net.Listener
		if l, err = net.Listen("tcp", cfg.PprofAddr); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				l.Close()
			}
		}()
		log.Info("profiles", "url", "http://"+l.Addr().String()+"/debug/pprof/")
		o.Extra = append(o.Extra, func(ctx context.Context) error { return servePprof(ctx, l) })
	}
	boundHeap(int64(cfg.MemoryBudget))
	return nodes.Open(cfg, o)
}

// gcPercent is how much garbage, relative to what lives, is let lie: the memory
// limit says when it is too much. Go's default costs a tenth of all processor time.
const gcPercent = 400

// boundHeap lets the heap use its part of the budget before it is collected, rather than
// twice what lives; a quarter is for the mapped state file.
func boundHeap(budget int64) {
	debug.SetMemoryLimit(budget * 3 / 4)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// catchReloads catches SIGHUP, which by default ends a process, until stop is called. One
// signal is kept until run receives it.
func catchReloads() (reloads <-chan os.Signal, stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return hup, func() { signal.Stop(hup) }
}
