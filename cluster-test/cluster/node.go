package cluster

import (
	"github.com/turnlog/turnlog/cluster-test/disk"
	"github.com/turnlog/turnlog/internal/faultproxy"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// Node is one turnlog process, and what lies between it and its clients.
type Node struct {
	*testcluster.Node
	// Disk is what Dir lies on, if that is one of ours, else nil.
	Disk *disk.Disk

	// Where clients reach it: proxies, through which answers can be lost.
	RESP, HTTP *faultproxy.Proxy
	// What happens to the bytes between clients and the node.
	Requests, Answers *faultproxy.Direction

	clock *clock // nil if it cannot be put wrong
	// security is the cluster's, nil if it has none.
	security *Security
}
