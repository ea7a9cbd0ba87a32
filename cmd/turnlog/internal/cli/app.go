// Package cli has what the commands of turnlog share: the streams and flags of a run of the program, connecting,
// output, errors and exit statuses. It does not know the commands.
//
// An App is one run. It has no global state, so that tests run commands side by side.
package cli

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
)

// App is one run of the program: its streams and the flags that all commands share.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Version        string

	Addr      string
	Namespace string
	Timeout   time.Duration
	// TimeoutGiven reports whether the command line has --timeout.
	TimeoutGiven func() bool
	JSON         bool
	Login        login

	context string // the name in --context
	started bool   // the command line was understood
}

// Env returns an environment variable, or otherwise if it is not set.
func (a *App) Env(name, otherwise string) string {
	if v := a.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// Execute executes the command line and returns the exit status.
func (a *App) Execute(root *cobra.Command, args []string) int {
	a.noteStart(root)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	cmd, err := root.ExecuteC()
	if err == nil {
		return ExitOK
	}
	if !a.started {
		err = usageError{err, cmd.CommandPath()}
	}
	a.report(err)
	return exitCode(err)
}

// ParentCommand returns a command that does nothing without one of its own.
func ParentCommand(name, short string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageError{errors.New("a command is missing"), cmd.CommandPath()}
		}}
}

// noteStart makes every command under c note that its command line was
// understood: errors before are usage errors. Then it knows which context to use.
func (a *App) noteStart(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			a.started = true
			a.useContext(cmd)
			return run(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		a.noteStart(sub)
	}
}

// Interruptible returns a context that ends with the first SIGINT or SIGTERM;
// the second one ends the program as if the program did not handle signals.
func Interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// connect returns a client of the cluster that the global flags name.
func (a *App) connect() (*client.Client, error) {
	if a.Timeout <= 0 {
		return nil, Usagef("--timeout must be positive")
	}
	password, err := a.Login.Password(a.Getenv)
	if err != nil {
		return nil, err
	}
	tls, err := a.Login.TLS()
	if err != nil {
		return nil, err
	}
	conf := client.Config{
		Addrs:        SplitAddrs(a.Addr),
		Username:     a.Login.User,
		Password:     password,
		TLS:          tls,
		Namespace:    a.Namespace,
		RetryFor:     a.Timeout,
		StallTimeout: min(a.Timeout, 8*time.Second),
	}
	if !a.JSON { // whose errors are one object
		conf.OnRetry = (&trying{out: a.Stderr, timeout: a.Timeout}).again
	}
	c, err := client.New(conf)
	if err != nil {
		return nil, usageError{err: err}
	}
	return c, nil
}

// WithClient runs f with a client and a context that ends with an interrupt.
func (a *App) WithClient(f func(ctx context.Context, c *client.Client) error) error {
	ctx, stop := Interruptible(context.Background())
	defer stop()
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	return f(ctx, c)
}

// WithSession is WithClient for a command on one session.
func (a *App) WithSession(key string, f func(ctx context.Context, s client.Session) error) error {
	return a.WithClient(func(ctx context.Context, c *client.Client) error { return f(ctx, c.Session(key)) })
}
