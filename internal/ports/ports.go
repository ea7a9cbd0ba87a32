// Package ports reserves TCP ports for servers that tests and trials start.
//
// A port stays reserved while its server is down, across all processes of the machine that use the package: it is held
// by a UDP socket of the same number, which the system closes when the process ends. Tests in other languages, and in
// modules that do not have this package, hold theirs in the same way, and so against these: sdk/python/tests/ports.py,
// sdk/typescript/test/ports.ts, Ports.java in sdk/java, and test/helm.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// The range lies below the one that systems give to outgoing connections, of which
// one could take the port of a server that is not listening yet, or is down.
const (
	first = 10_000
	last  = 31_999
)

// Reserved holds TCP ports of loopback: no other Reserved on this machine, in
// whatever process, gets one of them before Release. The zero value holds none. It
// is not safe for concurrent use.
//
// A port is held by a UDP socket of the same number. So it stays held while the
// server that it is for is down, and the system releases it when the process ends.
type Reserved struct {
	First, Last int // the range to take ports from; zero: 10000 to 31999

	locks []net.PacketConn
}

// Addrs reserves n ports on which no process listens, and returns their addresses.
func (r *Reserved) Addrs(n int) ([]string, error) {
	low, high := r.bounds()
	var addrs []string
	for tries := 0; len(addrs) < n; tries++ {
		if tries == 1000+10*n {
			return nil, fmt.Errorf("no free ports were found between %d and %d", low, high)
		}
		addr := loopback(low + rand.IntN(high-low+1))
		if r.reserve(addr) == nil {
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}

// Row reserves n ports in a row, on none of which a process listens, and returns the first.
func (r *Reserved) Row(n int) (int, error) {
	low, high := r.bounds()
	for range 1000 {
		base := low + rand.IntN(high-n+1-low+1)
		if r.reserveRow(base, n) == nil {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row were found between %d and %d", n, low, high)
}

func (r *Reserved) reserveRow(base, n int) error {
	had := len(r.locks)
	for port := base; port < base+n; port++ {
		if err := r.reserve(loopback(port)); err != nil {
			release(r.locks[had:])
			r.locks = r.locks[:had]
			return err
		}
	}
	return nil
}

func (r *Reserved) bounds() (low, high int) {
	if r.First == 0 {
		return first, last
	}
	return r.First, r.Last
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func (r *Reserved) reserve(addr string) error {
	lock, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	// Whether somebody listens is asked by connecting. A listener of ours, though closed at once, would live on
	// for a moment in a process that is being started, and keep the port from whom it is reserved for.
	c, err := net.Dial("tcp", addr)
	if err == nil {
		return errors.Join(errTaken, c.Close(), lock.Close())
	}
	r.locks = append(r.locks, lock)
	return nil
}

var errTaken = errors.New("ports: somebody listens on the port")

// Release lets others have the ports. The servers that they were for have ended.
func (r *Reserved) Release() {
	release(r.locks)
	r.locks = nil
}

func release(locks []net.PacketConn) {
	for _, l := range locks {
		l.Close()
	}
}

// test is a testing.TB.
type test interface {
	Helper()
	Cleanup(func())
	Fatal(...any)
}

// For reserves n ports until a test has ended.
func For(t test, n int) []string {
	t.Helper()
	r := new(Reserved)
	t.Cleanup(r.Release)
	addrs, err := r.Addrs(n)
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

// RowFor reserves n ports in a row until a test has ended, and returns the first.
func RowFor(t test, n int) int {
	t.Helper()
	r := new(Reserved)
	t.Cleanup(r.Release)
	base, err := r.Row(n)
	if err != nil {
		t.Fatal(err)
	}
	return base
}
