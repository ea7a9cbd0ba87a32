package signal

import "context"

// Gate lets one in at a time.
type Gate chan struct{}

// NewGate returns a Gate that no caller is in.
func NewGate() Gate { return make(Gate, 1) }

// Enter reports whether the caller is in; if not, ctx ended.
func (g Gate) Enter(ctx context.Context) bool {
	select {
	case g <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Try is Enter without waiting, for callers that can try again later.
func (g Gate) Try() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

// Leave lets the next one in.
func (g Gate) Leave() { <-g }
