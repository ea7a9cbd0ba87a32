package raftstore

// OpenFiles returns how many files are open whose number grows with what the node
// stores: block files, and segments of the log.
func (n *Node) OpenFiles() int {
	files := n.state.OpenFiles()
	if l, ok := n.logs.engine.(*walLog); ok {
		s := l.Stats()
		files += s.Segments + s.Ready
	}
	return files
}
