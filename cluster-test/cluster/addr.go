package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range that operating systems hand out for
// outgoing connections: the port of a node that is down must not be taken by
// somebody's connection before the node is back.
const (
	firstPort = 20000
	lastPort  = 31999
)

// ports hands out addresses on loopback that no process listens on.
type ports struct {
	first, last int
	next        int
	taken       map[int]bool
}

func newPorts(first, last int) *ports {
	if first == 0 {
		first, last = firstPort, lastPort
	}
	return &ports{first: first, last: last, next: first + rand.IntN(last-first), taken: map[int]bool{}}
}

func (p *ports) free() (string, error) {
	for range p.last - p.first {
		if p.next++; p.next > p.last {
			p.next = p.first
		}
		addr := fmt.Sprintf("127.0.0.1:%d", p.next)
		l, err := net.Listen("tcp", addr)
		if err != nil || p.taken[p.next] {
			continue
		}
		l.Close()
		p.taken[p.next] = true
		return addr, nil
	}
	return "", errors.New("no free port on loopback")
}
