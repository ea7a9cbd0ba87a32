package generator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// drive runs the clients over their connections until all are idle, or ctx ends.
// A client whose connection fails is idle from then on; the error is recorded.
//
// One thread waits for all connections: goroutines that wait in pairs with the
// runtime's poller would cost the servers on this machine several times as much
// processor time.
func drive(ctx context.Context, clients []*Client, conns []net.Conn) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l := loop{clients: clients, fds: make([]int, len(conns))}
	var err error
	if l.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	defer unix.Close(l.poll)
	for i, c := range conns {
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			return err
		}
		defer f.Close()
		l.fds[i] = int(f.Fd())
		if err := unix.SetNonblock(l.fds[i], true); err != nil {
			return err
		}
		event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(i)}
		if err := unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, l.fds[i], &event); err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
	}
	return l.run(ctx)
}

type loop struct {
	poll    int
	clients []*Client
	fds     []int
	active  int // clients that are not idle
	buf     [64 << 10]byte
}

func (l *loop) run(ctx context.Context) error {
	now := time.Now()
	for i, c := range l.clients {
		c.begin(now)
		l.active++
		l.send(i, c)
	}
	events := make([]unix.EpollEvent, len(l.clients))
	for l.active > 0 {
		n, err := unix.EpollWait(l.poll, events, 200)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("epoll: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			l.receive(int(e.Fd))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// receive takes what has arrived for a client, and sends what it wants to be sent.
func (l *loop) receive(i int) {
	c := l.clients[i]
	if c.idle {
		l.forget(i)
		return
	}
	n, err := unix.Read(l.fds[i], l.buf[:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return
	case err != nil:
		l.lost(i, err)
		return
	case n == 0:
		l.lost(i, io.ErrUnexpectedEOF)
		return
	}
	c.in = append(c.in, l.buf[:n]...)
	c.out = c.out[:0]
	if err := c.received(time.Now()); err != nil {
		l.lost(i, err)
		return
	}
	l.send(i, c)
}

func (l *loop) send(i int, c *Client) {
	if c.idle {
		l.active--
		return
	}
	for sent := 0; sent < len(c.out); {
		n, err := unix.Write(l.fds[i], c.out[sent:])
		switch {
		case err == unix.EAGAIN:
			// The server is slow to read a long request; the others wait with this
			// client, which happens only while sessions are filled.
			wait := []unix.PollFd{{Fd: int32(l.fds[i]), Events: unix.POLLOUT}}
			if _, err := unix.Poll(wait, 1000); err != nil && err != unix.EINTR {
				l.lost(i, err)
				return
			}
		case err != nil && err != unix.EINTR:
			l.lost(i, err)
			return
		default:
			sent += max(n, 0)
		}
	}
}

func (l *loop) lost(i int, err error) {
	c := l.clients[i]
	c.Record.Failed(errors.Join(errors.New("a connection was lost"), err))
	c.idle = true
	l.active--
	l.forget(i)
}

func (l *loop) forget(i int) {
	_ = unix.EpollCtl(l.poll, unix.EPOLL_CTL_DEL, l.fds[i], nil) // it may be gone already
}
