// Package raftlogger passes Raft's log lines, which go to an hclog.Logger, on to slog. What is routine in a cluster,
// such as the steps of an election or a peer that cannot be reached, is logged at a lower level than Raft chose.
package raftlogger

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// Logger lets Raft log through slog. Raft reports every step of an election
// as information, and every failed attempt to reach a node as an error; for a
// cluster these are business as usual, so they become debug messages.
type Logger struct {
	log  *slog.Logger
	name string
	with []any
}

// New returns a Logger to log.
func New(log *slog.Logger) *Logger { return &Logger{log: log} }

func (l *Logger) emit(level slog.Level, msg string, args []any) {
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	for i, a := range args {
		switch v := a.(type) {
		case hclog.Format:
			if f, ok := v[0].(string); ok {
				args[i] = fmt.Sprintf(f, v[1:]...)
			}
		case fmt.Stringer:
			args[i] = v.String()
		}
	}
	l.log.Log(context.Background(), level, "raft: "+msg, args...)
}

func (l *Logger) Log(level hclog.Level, msg string, args ...any) {
	switch {
	case level >= hclog.Error:
		l.Error(msg, args...)
	case level == hclog.Warn:
		l.Warn(msg, args...)
	default:
		l.Debug(msg, args...)
	}
}

func (l *Logger) Trace(msg string, args ...any) { l.emit(slog.LevelDebug-4, msg, args) }
func (l *Logger) Debug(msg string, args ...any) { l.emit(slog.LevelDebug, msg, args) }
func (l *Logger) Info(msg string, args ...any)  { l.emit(slog.LevelDebug, msg, args) }
func (l *Logger) Warn(msg string, args ...any)  { l.emit(slog.LevelInfo, msg, args) }
func (l *Logger) Error(msg string, args ...any) {
	if routine(msg) {
		l.Debug(msg, args...)
		return
	}
	l.emit(slog.LevelWarn, msg, args)
}

// routine tells the errors that a node which is down, or this one stopping,
// causes again and again; package peer reports the connection itself once.
func routine(msg string) bool {
	switch msg {
	case "failed to appendEntries to", "failed to heartbeat to", "failed to make requestVote RPC",
		"failed to accept connection", "failed to decode incoming command", "failed to flush response":
		return true
	}
	return false
}

func (l *Logger) IsTrace() bool { return false }
func (l *Logger) IsDebug() bool { return l.log.Enabled(context.Background(), slog.LevelDebug) }
func (l *Logger) IsInfo() bool  { return l.IsDebug() }
func (l *Logger) IsWarn() bool  { return true }
func (l *Logger) IsError() bool { return true }

func (l *Logger) ImpliedArgs() []any { return l.with }

func (l *Logger) With(args ...any) hclog.Logger {
	return &Logger{l.log.With(args...), l.name, append(l.with[:len(l.with):len(l.with)], args...)}
}

func (l *Logger) Name() string { return l.name }
func (l *Logger) Named(name string) hclog.Logger {
	return &Logger{l.log, l.name + name, l.with}
}
func (l *Logger) ResetNamed(name string) hclog.Logger { return &Logger{l.log, name, l.with} }
func (l *Logger) SetLevel(hclog.Level)                {}
func (l *Logger) GetLevel() hclog.Level               { return hclog.Debug }

func (l *Logger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.log.Handler(), slog.LevelInfo)
}

func (l *Logger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(nil).Writer()
}
