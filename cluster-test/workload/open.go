package workload

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// open returns a new API into node n for a user; the API named Client knows all nodes.
func open(api string, c *cluster.Cluster, n *cluster.Node, user string) API {
	entry := c.Entry(user)
	switch api {
	case HTTP:
		return newHTTPAPI(n.HTTP.Addr(), entry)
	case Native:
		return &nativeAPI{addrs: []string{n.RESP.Addr()}, entry: entry, retryFor: -1}
	case Client:
		d := &nativeAPI{follow: true, entry: entry, retryFor: 10 * time.Second, addrs: []string{n.RESP.Addr()}}
		for _, other := range c.Nodes {
			if other != n {
				d.addrs = append(d.addrs, other.RESP.Addr())
			}
		}
		return d
	case RESP:
		return &respAPI{addr: n.RESP.Addr(), entry: entry}
	case VALUES:
		return &valueAPI{respAPI{addr: n.RESP.Addr(), entry: entry}}
	case WHOLE:
		return &wholeAPI{reads: respAPI{addr: n.RESP.Addr(), entry: entry},
			native: nativeAPI{addrs: []string{n.RESP.Addr()}, entry: entry, retryFor: -1}}
	case MOVES:
		return &movesAPI{reads: respAPI{addr: n.RESP.Addr(), entry: entry},
			native: &nativeAPI{addrs: []string{n.RESP.Addr()}, entry: entry, retryFor: -1}}
	case MOVESHTTP:
		return &movesAPI{reads: respAPI{addr: n.RESP.Addr(), entry: entry}, http: newHTTPAPI(n.HTTP.Addr(), entry)}
	case TX:
		return &txAPI{respAPI{addr: n.RESP.Addr(), entry: entry}}
	}
	panic("no such API: " + api)
}
