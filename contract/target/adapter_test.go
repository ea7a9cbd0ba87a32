package target

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// adapterEnv makes a copy of the test program an adapter: a memory store behind
// JSON lines.
const adapterEnv = "TURNLOG_TEST_ADAPTER"

func serveAdapter(in io.Reader, out io.Writer) error {
	store := memory.New().Open()
	lines, e := bufio.NewReader(in), json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		var r wireRequest
		if err := errors.Join(err, json.Unmarshal(line, &r)); err != nil {
			return err
		}
		reply, err := adapterAnswer(store, r)
		if err != nil {
			reply = wireReply{Error: &wireError{Kind: "failed", Message: err.Error()}}
			for kind, meaning := range wireKinds {
				if errors.Is(err, meaning) {
					reply.Error.Kind = kind
				}
			}
		}
		reply.Number = r.Number
		if err := e.Encode(reply); err != nil {
			return err
		}
	}
}

func adapterAnswer(store *memory.Handle, r wireRequest) (reply wireReply, err error) {
	ctx := context.Background()
	if r.SessionBase64 != nil {
		r.Session = string(r.SessionBase64)
	}
	turn := fromWire(r.Turn)
	switch r.Op {
	case "hello":
		return wireReply{Name: "test", Can: []string{"async", "async load", "async clear", "corrupt", "delete", "trim",
			"load last", "pop", "list", "expiry", "conditions", "metadata", "labels",
			"retention", "ids", "late ids", "linearizable",
			"bytes"},
			MaxBytes: memory.MaxBytes}, nil
	case "add":
		switch {
		case r.WithMetadata:
			return reply, store.AddWith(ctx, r.Session, r.Metadata, r.MustExist, turn...)
		case r.TTL > 0:
			return reply, store.AddTTL(ctx, r.Session, time.Duration(r.TTL)*time.Millisecond, turn...)
		case r.Version != "":
			return reply, store.AddIf(ctx, r.Session, r.Version, turn...)
		}
		return reply, store.Add(ctx, r.Session, turn...)
	case "load":
		if r.WithMetadata {
			ms, metadata, err := store.LoadWith(ctx, r.Session)
			return wireReply{Messages: toWire(ms), Metadata: metadata}, err
		}
		ms, version, err := store.LoadVersion(ctx, r.Session)
		if r.Last > 0 {
			ms = ms[max(0, len(ms)-r.Last):]
		}
		return wireReply{Messages: toWire(ms), Version: version}, err
	case "clear":
		return reply, store.Clear(ctx, r.Session)
	case "corrupt":
		return reply, store.Corrupt(ctx, r.Session)
	case "delete":
		return reply, store.Delete(ctx, r.Session)
	case "trim":
		return reply, store.Trim(ctx, r.Session, *r.Keep)
	case "retain":
		return reply, store.Retain(ctx, r.Session, *r.Keep)
	case "labelled":
		reply.Sessions, err = store.Labelled(ctx, r.Label, r.Value)
		return reply, err
	case "list":
		reply.Sessions, err = store.Sessions(ctx, r.Prefix)
		return reply, err
	case "pop":
		m, ok, err := store.Pop(ctx, r.Session)
		if ok {
			reply.Messages = toWire([]contract.Message{m})
		}
		return reply, err
	}
	return reply, contract.Refusef("no operation %q", r.Op)
}

// TestAdapter: a correct store behind an adapter is not accused of anything but
// of forgetting when the process ends.
func TestAdapter(t *testing.T) {
	t.Parallel()
	target := openTest(t, "exec:"+adapterEnv+"=1 exec "+os.Args[0], Options{})
	restarts := target.Restarts
	target.Restarts = nil
	runGates(t, target)
	if r := verdict(t, target, 1, "edges/size-limit")["edges/size-limit"]; r.Status != contract.Passed {
		t.Errorf("size-limit: %s %s", r.Status, r.Detail)
	}
	target.Restarts = restarts
	if r := verdict(t, target, 1, "restart/kill")["restart/kill"]; r.Status != contract.Failed ||
		!strings.Contains(r.Detail, "lost") {
		t.Errorf("after kill -9: %s %s", r.Status, r.Detail)
	}
}

// TestAdapterThatDies: what was in flight fails, and so does what comes later.
func TestAdapterThatDies(t *testing.T) {
	t.Parallel()
	target := openTest(t, `exec:echo '{"n":1,"can":[]}'; read hello; read request; echo bye >&2; exit 1`, Options{})
	h, err := target.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.Load(t.Context(), "s"); !errors.Is(err, errGone) || !strings.Contains(err.Error(), "bye") {
			t.Errorf("error %v", err)
		}
	}
}

// TestTranscript: the conversation in docs/contract.md is what is really said.
func TestTranscript(t *testing.T) {
	page, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```transcript\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok || strings.Count(block, "\n") < 10 {
		t.Fatal("docs/contract.md has no transcript")
	}
	store := memory.New().Open()
	var said wireReply
	for line := range strings.Lines(block) {
		if text, ok := strings.CutPrefix(line, "> "); ok {
			var r wireRequest
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if said, err = adapterAnswer(store, r); err != nil {
				said = wireReply{Error: &wireError{Kind: "conflict", Message: err.Error()}}
			}
			said.Number = r.Number
			continue
		}
		var want wireReply
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "< ")), &want); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		a, _ := json.Marshal(said)
		b, _ := json.Marshal(want)
		if want.Can == nil && string(a) != string(b) {
			t.Errorf("answered\n%s\ndocumented\n%s", a, b)
		}
	}
}
