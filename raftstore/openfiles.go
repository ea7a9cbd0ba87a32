package raftstore

// OpenFiles returns how many files are open whose number grows with what the node
// stores: block files, and segments of the log.
func (n *Node) OpenFiles() int {
	return n.state.OpenFiles() + n.logs.OpenFiles()
}
