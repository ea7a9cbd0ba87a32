package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

const (
	mib         = 1 << 20
	growthLimit = 512 * mib // of resident memory over the whole battery: a node's default budget
	inputLimit  = 30 * time.Second
)

// badCase sends something that no client should, and returns an error if the node
// does anything else than refuse it clearly.
type badCase struct {
	name string
	try  func(ctx context.Context, n *cluster.Node) error
}

// badInput tries all bad cases at a follower, which must neither die, nor grow,
// nor forget or change what it holds.
func badInput(ctx context.Context, r *run) error {
	followers := r.cluster.Followers(ctx)
	if len(followers) == 0 {
		return errors.New("no follower")
	}
	n := followers[0]
	c, err := client.New(client.Config{Addrs: []string{n.RESPAddr}})
	if err != nil {
		return err
	}
	defer c.Close()
	keep := c.Session("sentinel")
	for i := range 100 {
		if _, err := keep.Append(ctx,
			turn.NewMessage{ID: fmt.Sprint(i), Data: fmt.Appendf(nil, "message %d", i)}); err != nil {
			return err
		}
	}
	before := r.resident()
	most := before
	for _, bad := range badCases() {
		limit, cancel := context.WithTimeout(ctx, inputLimit)
		start := time.Now()
		err := bad.try(limit, n)
		if err == nil {
			err = sentinel(limit, keep)
		}
		cancel()
		most = max(most, r.resident())
		if err != nil {
			r.report.Fail("%s: %v", bad.name, err)
			continue
		}
		r.report.Show("%-42s refused, nothing lost (%v, %d MiB resident)", bad.name,
			time.Since(start).Round(time.Millisecond), r.resident()>>20)
	}
	r.report.Show("resident memory of the largest node: %d MiB before, %d MiB at most", before>>20, most>>20)
	if most-before > growthLimit {
		r.report.Fail("resident memory grew by %d MiB", (most-before)>>20)
	}
	return nil
}

// resident is the memory of the node that has most.
func (r *run) resident() (most int64) {
	for _, n := range r.cluster.Nodes {
		most = max(most, n.ResidentBytes())
	}
	return most
}

// sentinel requires the session that no case touches to be as it was, and
// nothing to have been added beside it.
func sentinel(ctx context.Context, s client.Session) error {
	h, err := s.Last(ctx, 0)
	if err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	if h.Count != 100 || len(h.Messages) != 100 || string(h.Messages[99].Data) != "message 99" {
		return fmt.Errorf("afterwards the sentinel session has %d messages", h.Count)
	}
	return nil
}

func badCases() []badCase {
	return append(append(httpCases(), respCases()...), loadCases()...)
}

// post is a request that must be refused with that status.
func post(name, path, body string, status int) badCase {
	return badCase{name, func(ctx context.Context, n *cluster.Node) error {
		return refused(ctx, n, http.MethodPost, path, strings.NewReader(body), status)
	}}
}

func get(name, path string, status int) badCase {
	return badCase{name, func(ctx context.Context, n *cluster.Node) error {
		return refused(ctx, n, http.MethodGet, path, nil, status)
	}}
}

func refused(ctx context.Context, n *cluster.Node, method, path string, body io.Reader, status int) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.HTTPAddr+path, body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Error struct{ Code, Message, Outcome string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("status %d with a body that is not JSON: %w", resp.StatusCode, err)
	}
	if e := answer.Error; resp.StatusCode != status || e.Code == "" || e.Message == "" || e.Outcome != "not_applied" {
		return fmt.Errorf("status %d, code %q, message %q, outcome %q; want status %d and not_applied",
			resp.StatusCode, e.Code, e.Message, e.Outcome, status)
	}
	return nil
}

func httpCases() []badCase {
	const messages = "/v1/sessions/bad/messages"
	text := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	many := strings.Repeat(`{"data":1},`, 1001)
	return []badCase{
		post("HTTP: message of 8 MiB and one byte", messages, `{"messages":[{"data":`+text(8*mib+1)+`}]}`, 413),
		post("HTTP: append of 18 MiB", messages, `{"messages":[`+strings.Repeat(`{"data":`+text(6*mib)+`},`, 2)+
			`{"data":`+text(6*mib)+`}]}`, 413),
		post("HTTP: 1,001 messages", messages, `{"messages":[`+strings.TrimSuffix(many, ",")+`]}`, 413),
		post("HTTP: no messages", messages, `{"messages":[]}`, 400),
		post("HTTP: empty key", "/v1/sessions//messages", `{"messages":[{"data":1}]}`, 400),
		post("HTTP: key of 513 bytes", "/v1/sessions/"+strings.Repeat("k", 513)+"/messages",
			`{"messages":[{"data":1}]}`, 413),
		post("HTTP: id of 65 bytes", messages, `{"messages":[{"id":"`+strings.Repeat("i", 65)+`","data":1}]}`, 413),
		post("HTTP: one id twice", messages, `{"messages":[{"id":"a","data":1},{"id":"a","data":2}]}`, 400),
		post("HTTP: bad namespace", "/v1/ns/a%20b/sessions/bad/messages", `{"messages":[{"data":1}]}`, 400),
		post("HTTP: no JSON at all", messages, "hello", 400),
		post("HTTP: JSON cut short", messages, `{"messages":[{"data":1}`, 400),
		post("HTTP: text after the JSON", messages, `{"messages":[{"data":1}]} x`, 400),
		post("HTTP: nested 100,000 deep", messages, `{"messages":[{"data":`+
			strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`}]}`, 400),
		post("HTTP: unknown field", messages, `{"messages":[{"data":1}],"expct":3}`, 400),
		post("HTTP: unknown field in a message", messages, `{"messages":[{"data":1,"rol":"user"}]}`, 400),
		post("HTTP: negative expect", messages, `{"messages":[{"data":1}],"expect":-1}`, 400),
		post("HTTP: negative ttl", messages, `{"messages":[{"data":1}],"ttl_ms":-1}`, 400),
		post("HTTP: expect is a string", messages, `{"messages":[{"data":1}],"expect":"1"}`, 400),
		post("HTTP: expect is a fraction", messages, `{"messages":[{"data":1}],"expect":1.5}`, 400),
		post("HTTP: messages is an object", messages, `{"messages":{"data":1}}`, 400),
		post("HTTP: data_base64 is not base64", messages, `{"messages":[{"data_base64":"%%%"}]}`, 400),
		get("HTTP: negative limit", messages+"?after=0&limit=-1", 400),
		get("HTTP: last is not a number", messages+"?last=ten", 400),
		get("HTTP: unknown parameter", messages+"?lst=10", 400),
		get("HTTP: unknown consistency", messages+"?consistency=eventual", 400),
		{"HTTP: request cut short", func(ctx context.Context, n *cluster.Node) error {
			return cleanClose(ctx, n.HTTPAddr,
				"POST "+messages+" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{\"messages\"", true)
		}},
		{"HTTP: not HTTP", func(ctx context.Context, n *cluster.Node) error {
			return cleanClose(ctx, n.HTTPAddr, "\x16\x03\x01 nonsense\r\n\r\n", false)
		}},
	}
}

// respRefused sends a command that must be answered with an error, after which
// the connection must still work.
func respRefused(name string, command ...string) badCase {
	return badCase{name, func(ctx context.Context, n *cluster.Node) error {
		c, err := net.Dial("tcp", n.RESPAddr)
		if err != nil {
			return err
		}
		defer c.Close()
		deadline, _ := ctx.Deadline()
		c.SetDeadline(deadline)
		w, in := resp.NewWriter(c), resp.NewReplyReader(c, resp.Limits{})
		w.Command(command...)
		w.Command("PING")
		if err := w.Flush(); err != nil {
			return err
		}
		v, err := in.Next()
		if err != nil {
			return err
		}
		if v.Err() == nil {
			return fmt.Errorf("answered with %q instead of an error", v.Text())
		}
		pong, err := in.Next()
		if err != nil || pong.Text() != "PONG" {
			return fmt.Errorf("after the error %q the connection is useless: %q, %v", v.Err(), pong.Text(), err)
		}
		return nil
	}}
}

// respClosed sends bytes that are no RESP. The node answers with an error or
// not at all, and closes.
func respClosed(name, frame string, hangUp bool) badCase {
	return badCase{name, func(ctx context.Context,
		n *cluster.Node) error {
		return cleanClose(ctx, n.RESPAddr, frame, hangUp)
	}}
}

func respCases() []badCase {
	long := strings.Repeat("k", 513)
	return []badCase{
		respRefused("RESP: unknown command", "NONSENSE", "a"),
		respRefused("RESP: too few arguments", "RPUSH", "key"),
		respRefused("RESP: empty key", "RPUSH", "", "x"),
		respRefused("RESP: key of 513 bytes", "RPUSH", long, "x"),
		respRefused("RESP: message of 8 MiB and one byte", "RPUSH", "bad", strings.Repeat("x", 8*mib+1)),
		respRefused("RESP: index is not a number", "LRANGE", "sentinel", "a", "b"),
		respRefused("RESP: number beyond 64 bits", "LRANGE", "sentinel", "0", "99999999999999999999"),
		respRefused("RESP: expect is negative", "TURN.APPEND", "bad", "EXPECT", "-1", "MSG", "", "x"),
		respRefused("RESP: append without messages", "TURN.APPEND", "bad"),
		respRefused("RESP: unknown option", "TURN.APPEND", "bad", "EXPCT", "1", "MSG", "", "x"),
		respClosed("RESP: frame cut short", "*2\r\n$5\r\nRPUSH\r\n$3\r\nba", true),
		respClosed("RESP: bulk string that claims 2 GiB",
			"*3\r\n$5\r\nRPUSH\r\n$3\r\nbad\r\n$2147483648\r\nxxx", false),
		respClosed("RESP: array that claims 2,000,000,000", "*2000000000\r\n$1\r\na\r\n", false),
		respClosed("RESP: negative length", "*3\r\n$5\r\nRPUSH\r\n$-7\r\n", false),
		respClosed("RESP: length is not a number", "*abc\r\n", false),
		respClosed("RESP: a line of 1 MiB", strings.Repeat("x", mib), false),
	}
}

// cleanClose sends bytes and requires the node to close the connection, at
// the latest when we do.
func cleanClose(ctx context.Context, addr, text string, hangUp bool) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	c.SetDeadline(deadline)
	if _, err := io.WriteString(c, text); err != nil && hangUp {
		return err
	}
	if hangUp {
		c.(*net.TCPConn).CloseWrite()
	}
	answer, err := io.ReadAll(io.LimitReader(c, mib))
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("the connection stays open; so far it answered %q", answer)
	}
	if bytes.Contains(answer, []byte("panic")) {
		return fmt.Errorf("answer %q", answer)
	}
	return nil
}
