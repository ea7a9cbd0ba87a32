package raftstore

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger lets Raft log through slog. Raft reports every step of an election
// as information, and every failed attempt to reach a node as an error; for a
// cluster these are business as usual, so they become debug messages.
type raftLogger struct {
	log  *slog.Logger
	name string
	with []any
}

func (l *raftLogger) emit(level slog.Level, msg string, args []any) {
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

func (l *raftLogger) Log(level hclog.Level, msg string, args ...any) {
	switch {
	case level >= hclog.Error:
		l.Error(msg, args...)
	case level == hclog.Warn:
		l.Warn(msg, args...)
	default:
		l.Debug(msg, args...)
	}
}

func (l *raftLogger) Trace(msg string, args ...any) { l.emit(slog.LevelDebug-4, msg, args) }
func (l *raftLogger) Debug(msg string, args ...any) { l.emit(slog.LevelDebug, msg, args) }
func (l *raftLogger) Info(msg string, args ...any)  { l.emit(slog.LevelDebug, msg, args) }
func (l *raftLogger) Warn(msg string, args ...any)  { l.emit(slog.LevelInfo, msg, args) }
func (l *raftLogger) Error(msg string, args ...any) {
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

func (l *raftLogger) IsTrace() bool { return false }
func (l *raftLogger) IsDebug() bool { return l.log.Enabled(context.Background(), slog.LevelDebug) }
func (l *raftLogger) IsInfo() bool  { return l.IsDebug() }
func (l *raftLogger) IsWarn() bool  { return true }
func (l *raftLogger) IsError() bool { return true }

func (l *raftLogger) ImpliedArgs() []any { return l.with }

func (l *raftLogger) With(args ...any) hclog.Logger {
	return &raftLogger{l.log.With(args...), l.name, append(l.with[:len(l.with):len(l.with)], args...)}
}

func (l *raftLogger) Name() string { return l.name }
func (l *raftLogger) Named(name string) hclog.Logger {
	return &raftLogger{l.log, l.name + name, l.with}
}
func (l *raftLogger) ResetNamed(name string) hclog.Logger { return &raftLogger{l.log, name, l.with} }
func (l *raftLogger) SetLevel(hclog.Level)                {}
func (l *raftLogger) GetLevel() hclog.Level               { return hclog.Debug }

func (l *raftLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.log.Handler(), slog.LevelInfo)
}

func (l *raftLogger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(nil).Writer()
}
