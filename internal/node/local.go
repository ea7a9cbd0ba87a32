package node

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
)

// localListener accepts connections that this process opens by dial. Each is a pair of sockets
// without a name: there is no port, and no other process can connect. It also takes the place of
// the port for other nodes where there is none: no connection comes then.
type localListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newLocalListener() *localListener {
	l := &localListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// dial waits until the connection is accepted.
func (l *localListener) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, ours.Close(), theirs.Close())
}

// Accept implements net.Listener.
func (l *localListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *localListener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *localListener) Addr() net.Addr { return noAddr{} }

// socketPair returns two connections, each the other's peer.
func socketPair() (a, b net.Conn, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if a, err = connOf(fds[0]); err != nil {
		return nil, nil, errors.Join(err, syscall.Close(fds[1]))
	}
	if b, err = connOf(fds[1]); err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return a, b, nil
}

// connOf takes over a socket.
func connOf(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "local connection")
	defer f.Close() // the connection has a descriptor of its own
	return net.FileConn(f)
}

// noAddr is the address of what cannot be dialed.
type noAddr struct{}

func (noAddr) Network() string { return "embedded" }
func (noAddr) String() string  { return "embedded:0" }
