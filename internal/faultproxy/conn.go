package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	chunkSize  = 32 << 10
	chunkQueue = 256 // chunks in flight in one direction of one connection
)

// Conn is one connection through a proxy.
type Conn struct {
	Client, Server *net.TCPConn // the proxy's ends of it

	proxy     *Proxy
	abandoned atomic.Bool // nothing is delivered any more
	once      sync.Once
	done      chan struct{} // closed by Reset
}

// Reset breaks the connection to both sides.
func (c *Conn) Reset() {
	c.once.Do(func() {
		close(c.done)
		abort(c.Client)
		abort(c.Server)
	})
}

// Done is closed when the connection has been reset.
func (c *Conn) Done() <-chan struct{} { return c.done }

// abort closes c with a reset, so that the other end notices at once.
func abort(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// pump moves bytes from src to dst through d until src ends. If loses says so
// when bytes arrive, the connection is broken instead.
func (c *Conn) pump(dst, src *net.TCPConn, d *Direction, loses func() bool) {
	queue := make(chan chunk, chunkQueue)
	var writer sync.WaitGroup
	writer.Go(func() { c.deliver(dst, d, queue) })
	defer writer.Wait()
	defer close(queue)
	buf := make([]byte, chunkSize)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if loses != nil && loses() {
				c.Reset()
				return
			}
			select {
			case queue <- chunk{data: bytes.Clone(buf[:n]), arrived: time.Now(), dice: rand.Float64()}:
			case <-c.done:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				queueEnd(queue, c.done)
			}
			return
		}
	}
}

// queueEnd puts the end of a broken connection behind what is still in flight:
// a chunk without data.
func queueEnd(queue chan<- chunk, done <-chan struct{}) {
	select {
	case queue <- chunk{arrived: time.Now()}:
	case <-done:
	}
}

// deliver writes what comes out of queue when d lets it pass; after the last
// chunk the other end learns that there is no more.
func (c *Conn) deliver(dst *net.TCPConn, d *Direction, queue <-chan chunk) {
	broken := false
	for next := range queue {
		if c.abandoned.Load() {
			<-c.done
		}
		if broken || !d.pass(next, c.done) {
			broken = true // drain, so that the reader is not stuck
			continue
		}
		if next.data == nil {
			c.Reset()
			broken = true
			continue
		}
		if _, err := dst.Write(next.data); err != nil {
			c.Reset()
			broken = true
		}
	}
	if c.abandoned.Load() {
		<-c.done
	}
	if !broken && d.pass(chunk{arrived: time.Now()}, c.done) {
		dst.CloseWrite()
	}
}
