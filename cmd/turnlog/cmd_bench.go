package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/bench"
)

func (a *app) benchCommand() *cobra.Command {
	cfg := bench.Config{Duration: 2 * time.Second, WarmUp: 500 * time.Millisecond, Sessions: 10000, Size: 512, Last: 20, Prefix: "bench-"}
	var targets []string
	var clients []int
	var pids []int
	fill := false
	cmd := &cobra.Command{
		Use: "bench",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(context.Background())
			defer stop()
			for _, u := range targets {
				t, err := bench.ParseTarget(u)
				if err != nil {
					return err
				}
				t.Processes = pids
				if fill {
					c := cfg
					c.Clients = 16
					if err := bench.Fill(ctx, t, c, 20, new(bench.Live)); err != nil {
						return err
					}
				}
				for _, name := range args {
					w, err := bench.FindWorkload(name)
					if err != nil {
						return err
					}
					for _, n := range clients {
						cfg.Clients = n
						r, err := bench.Run(ctx, t, w, cfg, new(bench.Live))
						if err != nil {
							return err
						}
						fmt.Printf("%-7s %-40s %4d  %8.0f/s  p50 %6dµs p99 %6dµs p99.9 %6dµs err %d %s cpu %.2f gen %.2f rss %d MB\n", r.Workload, r.Target, r.Clients, r.PerSecond, r.P50.Microseconds(), r.P99.Microseconds(), r.P999.Microseconds(), r.Errors, r.FirstError, r.CPU, r.Generator, r.RSS>>20)
					}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&targets, "target", nil, "")
	cmd.Flags().IntSliceVar(&clients, "clients", []int{1, 16, 64, 256}, "")
	cmd.Flags().IntSliceVar(&pids, "pids", nil, "")
	cmd.Flags().BoolVar(&fill, "fill", false, "")
	cmd.Flags().DurationVar(&cfg.Duration, "duration", cfg.Duration, "")
	return cmd
}
