package peer

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"
)

// answering is the answering side of an RPC connection.
type answering struct {
	net     *Network
	conn    net.Conn
	from    Facts
	session uint64
	box     *outbox
	slots   chan struct{} // a token for each running Serve call
	wg      sync.WaitGroup

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc // of running Serve calls, by request id
	bytes   int                           // payload bytes of requests without an answer
	calls   int                           // their number
}

// answerCalls serves a connection until it breaks or ctx ends.
func (n *Network) answerCalls(ctx context.Context, c net.Conn, from Facts) {
	n.mu.Lock()
	n.session++
	a := &answering{
		net: n, conn: c, from: from, session: n.session,
		box:     newOutbox(n.cfg.Bounds.Waiting),
		slots:   make(chan struct{}, n.cfg.Bounds.Handlers),
		cancels: make(map[uint64]context.CancelFunc),
	}
	n.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	heard := newHeard()
	a.wg.Go(func() {
		defer cancel()
		_ = a.box.run(c)
	})
	a.wg.Go(func() {
		a.expect(ctx, heard)
		_ = c.Close()
		a.box.close()
	})
	err := a.read(ctx, heard)
	cancel()
	a.wg.Wait()
	n.log.Debug("connection to peer ended", "peer", from.NodeID, "error", err)
}

// expect returns when ctx ends or no ping came for too long.
func (a *answering) expect(ctx context.Context, heard *heard) {
	limit := 2 * a.net.cfg.Timing.Idle
	tick := time.NewTicker(limit / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if heard.silent() > limit {
				return
			}
		}
	}
}

func (a *answering) read(ctx context.Context, heard *heard) error {
	r := bufio.NewReaderSize(&noting{a.conn, heard}, 64<<10)
	for {
		f, err := readFrame(r, a.net.cfg.Bounds.Frame)
		if err != nil {
			return err
		}
		switch f.typ {
		case framePing:
			a.put(frame{typ: framePong})
		case frameCancel:
			a.mu.Lock()
			if cancel := a.cancels[f.id]; cancel != nil {
				cancel()
			}
			a.mu.Unlock()
		case frameRequest:
			a.request(ctx, f)
		}
	}
}

func (a *answering) request(ctx context.Context, f frame) {
	if !a.enter(len(f.payload)) {
		a.put(frame{typ: frameResponse, id: f.id, tag: statusOverloaded})
		return
	}
	r := Request{From: a.from, Session: a.session, Kind: Kind(f.tag), Payload: f.payload}
	if r.Kind&Ordered != 0 {
		a.net.cfg.Ordered(r, func(p []byte, err error) { a.reply(f, p, err) })
		return
	}
	select {
	case a.slots <- struct{}{}:
	default:
		a.leave(len(f.payload))
		a.put(frame{typ: frameResponse, id: f.id, tag: statusOverloaded})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	a.cancels[f.id] = cancel
	a.mu.Unlock()
	a.wg.Go(func() {
		p, err := a.net.cfg.Serve(ctx, r)
		a.mu.Lock()
		delete(a.cancels, f.id)
		a.mu.Unlock()
		cancel()
		<-a.slots
		a.reply(f, p, err)
	})
}

// enter counts a request in, if the bounds allow it.
func (a *answering) enter(size int) bool {
	cfg := &a.net.cfg
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls >= cfg.Bounds.Calls || a.bytes > 0 && a.bytes+size > cfg.Bounds.InFlight {
		return false
	}
	a.calls++
	a.bytes += size
	return true
}

func (a *answering) leave(size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls--
	a.bytes -= size
}

// beyondFrame is what becomes of an answer that fits no frame; nodes of all versions say it.
const beyondFrame = "the answer is larger than a frame may be"

func (a *answering) reply(f frame, p []byte, err error) {
	a.leave(len(f.payload))
	out := frame{typ: frameResponse, id: f.id, tag: statusOK, payload: p}
	switch {
	case err != nil:
		out.tag, out.payload = statusFailed, []byte(err.Error())
	case len(p) > a.net.cfg.Bounds.Frame:
		out.tag, out.payload = statusFailed, []byte(beyondFrame)
	}
	a.put(out)
}

// put queues a frame; a peer that does not read its answers is cut off.
func (a *answering) put(f frame) {
	if err := a.box.put(f); err == errOutboxFull {
		a.net.log.Warn("closing the connection to a peer that reads too slowly", "peer", a.from.NodeID)
		_ = a.conn.Close()
	}
}
