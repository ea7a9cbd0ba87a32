package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// tried has the last error of each node that a call failed at.
type tried []triedNode

type triedNode struct {
	addr string
	err  error
}

// note has addr fail with err, which becomes the last one.
func (t *tried) note(addr string, err error) {
	*t = append(slices.DeleteFunc(*t, func(n triedNode) bool { return n.addr == addr }), triedNode{addr, err})
}

// last reports whether every one of so many nodes has failed for a reason that lasts.
func (t tried) last(nodes int) bool {
	return len(t) >= nodes && !slices.ContainsFunc(t, func(n triedNode) bool { return !isLasting(n.err) })
}

// all is the error of a call whose last attempt, at addr, ended with err. If no node could serve the call, it says so
// of each node, and first what one answered.
func (t tried) all(addr string, err error) error {
	if turn.KindOf(err) != turn.Unavailable {
		return err
	}
	t.note(addr, err)
	first := len(t) - 1
	for i := range t {
		if answered(t[i].err) {
			first = i
		}
	}
	var others []string
	for i := range t {
		if i != first {
			others = append(others, t[i].String())
		}
	}
	err = t[first].err
	switch {
	case others == nil:
		return err
	case answered(err):
		return fmt.Errorf("%w (%s; also tried: %s)", err, t[first].addr, strings.Join(others, "; "))
	}
	return fmt.Errorf("%w (also tried: %s)", err, strings.Join(others, "; "))
}

func (n triedNode) String() string {
	text := strings.TrimPrefix(n.err.Error(), turn.Unavailable.String()+": ")
	if answered(n.err) {
		return n.addr + ": " + text
	}
	return text // which has the address
}

// answered reports whether err is a node's answer.
func answered(err error) bool {
	_, is := err.(*turn.Error)
	return is
}
