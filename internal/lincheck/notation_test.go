package lincheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// script reads a history in a notation that fits a line of a test table:
//
//	0-5 append a,b ids expect=3 -> 1-2 rev=4 dup
//	6-9 read -> last=2 rev=4 1:a 2:b
//	6-9 append c -> ?                     outcome unknown
//	6-9 append c -> fail UNAVAILABLE
//	6-9 append c as=visitor -> fail FORBIDDEN
//	6-9 append c expect=2 -> fail CONFLICT rev=4
//	9-10 final -> last=2 rev=4 1:a 2:b    the read after all faults
//
// A count that is not told equals the last seq.
//
// Times are milliseconds. A line "session x" changes the session that the
// lines after it are about.
func script(t *testing.T, text string) []history.Operation {
	t.Helper()
	var ops []history.Operation
	session := "0/s"
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == "session":
			session = fields[1]
			continue
		}
		op := history.Operation{ID: int64(len(ops) + 1), Process: len(ops), Node: "n1", Session: session,
			Outcome: history.OK}
		if err := parseOp(&op, fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		ops = append(ops, op)
	}
	return ops
}

func parseOp(op *history.Operation, fields []string) error {
	var from, to int64
	if _, err := fmt.Sscanf(fields[0], "%d-%d", &from, &to); err != nil {
		return err
	}
	op.Invoke, op.Return, op.End = from*1e6, to*1e6, to*1e6
	op.Call.Func = history.Func(fields[1])
	if fields[1] == "final" {
		op.Call.Func, op.Call.Final = history.Read, true
	}
	answer := false
	for _, word := range fields[2:] {
		if word == "->" {
			answer = true
			continue
		}
		if err := parseWord(op, word, answer); err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	told := slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(f, "count=") })
	if (op.Call.Func == history.Read || op.Call.Func == history.Append) && !told {
		op.Result.Count = op.Result.Last
	}
	return nil
}

func parseWord(op *history.Operation, word string, answer bool) error {
	name, value, _ := strings.Cut(word, "=")
	number, _ := strconv.ParseUint(value, 10, 64)
	c, r := &op.Call, &op.Result
	if !answer {
		switch name {
		case "ids":
			c.IDs = true
		case "again":
			c.Again = true
		case "as":
			c.User = value
		case "retries":
			c.Retries = true
		case "on": // on=7 is the subscription of process 7
			op.Process = 1000 + int(number)
		case "stale":
			c.Stale = true
		case "maxage":
			c.Stale, c.MaxAge = true, int64(number)
		case "list":
			c.List = true
		case "oldest":
			c.Oldest = true
		case "blocks":
			c.Blocks = true
		case "watch":
			c.Watch = true
		case "latest":
			c.Latest = true
		case "since":
			c.Since, c.Timed = int64(number), true
		case "until":
			c.Until, c.Timed = int64(number), true
		case "whole":
			c.Whole = true
		case "timed":
			c.Timed = true
		case "pipe": // pipe=2 is the second call of the only pipeline
			c.Pipeline, c.Position = 1, int(number)
		case "expect":
			c.Expect = &number
		case "n":
			c.N = number
		case "seq":
			c.Seq = number
		case "ttl":
			c.TTL = int64(number)
		default:
			c.Values = strings.Split(word, ",")
		}
		return nil
	}
	switch name {
	case "?":
		op.Outcome, op.Return = history.Info, history.Forever
	case "fail":
		op.Outcome, op.Error = history.Fail, &history.Error{}
	case "dup":
		r.Duplicate = true
	case "more":
		r.More = true
	case "last":
		r.Last = number
	case "rev":
		r.Revision = number
		if op.Error != nil {
			op.Error.Revision = number
		}
	case "count":
		r.Count = number
	case "watched":
		r.Watched = number
	case "removed":
		r.Removed = number
	case "inc":
		r.Incarnation = number
	default:
		return parsePlain(op, word)
	}
	return nil
}

// parsePlain reads an error code, a message 1:a, or 1:a@100 with its time, or the seqs 1 or 1-2 of an append.
func parsePlain(op *history.Operation, word string) error {
	if op.Outcome == history.Fail {
		op.Error.Code = word
		return nil
	}
	if seq, value, ok := strings.Cut(word, ":"); ok {
		n, err := strconv.ParseUint(seq, 10, 64)
		value, at, _ := strings.Cut(value, "@")
		time, _ := strconv.ParseInt(at, 10, 64)
		op.Result.Messages = append(op.Result.Messages, history.Message{Seq: n, Value: value, Time: time})
		return err
	}
	first, last, ok := strings.Cut(word, "-")
	if !ok {
		last = first
	}
	var err error
	if op.Result.First, err = strconv.ParseUint(first, 10, 64); err == nil {
		op.Result.Last, err = strconv.ParseUint(last, 10, 64)
	}
	return err
}
