//go:build !linux

package cluster

// LimitFiles returns 0: another process's limits can be changed on Linux only.
func (n *Node) LimitFiles(int) (before uint64, err error) { return 0, nil }

// AllowFiles does nothing, as LimitFiles does.
func (n *Node) AllowFiles(uint64) error { return nil }
