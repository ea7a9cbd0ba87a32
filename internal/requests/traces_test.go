package requests

import (
	"context"
	"errors"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

var someTrace = trace.Context{Trace: [16]byte{1, 2}, Span: [8]byte{3}, Sampled: true}

func TestTracesRoundTrip(t *testing.T) {
	want := []propose.Announced{{Number: 1, Context: someTrace}, {Number: 1 << 63, Context: trace.Context{}}}
	b := appendTraces(propose.Forwarded{Origin: 1 << 63, Traces: want})
	origin, got, err := parseTraces(b)
	if err != nil || origin != 1<<63 || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d %+v, %v", origin, got, err)
	}
	for _, short := range [][]byte{nil, b[:7], b[:len(b)-1], b[:9]} {
		if _, _, err := parseTraces(short); err == nil {
			t.Errorf("%d bytes were parsed", len(short))
		}
	}
	if _, err := (&Server{}).answerTraced(t.Context(), "n2", make([]byte, trace.EncodedLen-1)); err == nil {
		t.Error("a query without a query was answered")
	}
}

// network runs a network of a node until the test ends.
func network(t *testing.T, id string, cfg peer.Config) (_ *peer.Network, addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listener = ln
	cfg.Self = func() peer.Facts { return peer.Facts{ClusterID: "c", NodeID: id, Incarnation: id, Wall: time.Now()} }
	n := peer.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { n.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return n, ln.Addr().String()
}

// A leader of a version that knows nothing of traces takes what is traced all the same.
func TestLeadersThatKnowNoTraces(t *testing.T) {
	result := turn.Result{First: 3, Last: 4}
	encoded, err := codec.EncodeResult(&result)
	if err != nil {
		t.Fatal(err)
	}
	var unknown atomic.Int64
	_, addr := network(t, "old", peer.Config{
		Serve: func(_ context.Context, r peer.Request) ([]byte, error) {
			if r.Kind != kindQuery || string(r.Payload) != "query" {
				unknown.Add(1)
				return nil, errors.New("unknown request kind")
			}
			return append([]byte{answerOK}, encoded...), nil
		},
		Ordered: func(r peer.Request, reply func([]byte, error)) {
			if r.Kind != kindForward {
				unknown.Add(1)
				reply(nil, errors.New("unknown request kind"))
				return
			}
			reply(appendOutcomes([]byte{answerOK}, []fsm.Outcome{{Origin: 9, Number: 1, Result: result}}), nil)
		},
	})
	connected := make(chan string, 1)
	n, _ := network(t, "new", peer.Config{Connected: func(id string) { connected <- id }})
	n.SetPeers(map[string]string{"old": addr})
	<-connected
	c := Client{Net: n}
	got, again, err := c.Query(t.Context(), "old", someTrace, []byte("query"))
	if err != nil || again || !reflect.DeepEqual(got, result) {
		t.Errorf("%+v, %v, %v", got, again, err)
	}
	answered := make(chan *propose.Failure, 1)
	c.Forward("old", propose.Forwarded{Origin: 9, Commands: []codec.Command{{Origin: 9, Number: 1, Op: []byte("a")}},
		Traces: []propose.Announced{{Number: 1, Context: someTrace}}},
		func(_ []fsm.Outcome, f *propose.Failure) { answered <- f })
	if f := <-answered; f != nil {
		t.Errorf("%v", f.Err)
	}
	if unknown.Load() != 2 {
		t.Errorf("the old leader rejected %d messages, not the two of traces", unknown.Load())
	}
}
