package main

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
)

// app is one run of the program: its streams and the flags that all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	version        string

	addr      string
	namespace string
	timeout   time.Duration
	// timeoutGiven reports whether the command line has --timeout.
	timeoutGiven func() bool
	json         bool
	login        login

	started bool // the command line was understood
}

func (a *app) env(name, otherwise string) string {
	if v := a.getenv(name); v != "" {
		return v
	}
	return otherwise
}

// execute executes the command line and returns the exit status.
func (a *app) execute(root *cobra.Command, args []string) int {
	a.noteStart(root)
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	if !a.started {
		err = usageError{err, cmd.CommandPath()}
	}
	a.report(err)
	return exitCode(err)
}

// parentCommand returns a command that does nothing without one of its own.
func parentCommand(name, short string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageError{errors.New("a command is missing"), cmd.CommandPath()}
		}}
}

// noteStart makes every command under c note that its command line was
// understood: errors before are usage errors.
func (a *app) noteStart(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			a.started = true
			return run(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		a.noteStart(sub)
	}
}

// interruptible returns a context that ends with the first SIGINT or SIGTERM;
// the second one ends the program as if the program did not handle signals.
func interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// connect returns a client of the cluster that the global flags name.
func (a *app) connect() (*client.Client, error) {
	if a.timeout <= 0 {
		return nil, usagef("--timeout must be positive")
	}
	secret, err := a.login.secret(a.getenv)
	if err != nil {
		return nil, err
	}
	tls, err := a.login.tls()
	if err != nil {
		return nil, err
	}
	conf := client.Config{
		Addrs:        splitAddrs(a.addr),
		Username:     a.login.user,
		Password:     secret,
		TLS:          tls,
		Namespace:    a.namespace,
		RetryFor:     a.timeout,
		StallTimeout: min(a.timeout, 8*time.Second),
	}
	if !a.json { // whose errors are one object
		conf.OnRetry = (&trying{out: a.stderr, timeout: a.timeout}).again
	}
	c, err := client.New(conf)
	if err != nil {
		return nil, usageError{err: err}
	}
	return c, nil
}

func splitAddrs(s string) []string {
	var addrs []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			addrs = append(addrs, part)
		}
	}
	return addrs
}

// withClient runs f with a client and a context that ends with an interrupt.
func (a *app) withClient(f func(ctx context.Context, c *client.Client) error) error {
	ctx, stop := interruptible(context.Background())
	defer stop()
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	return f(ctx, c)
}

// withSession is withClient for a command on one session.
func (a *app) withSession(key string, f func(ctx context.Context, s client.Session) error) error {
	return a.withClient(func(ctx context.Context, c *client.Client) error { return f(ctx, c.Session(key)) })
}
