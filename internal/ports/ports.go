// Package ports finds ports for servers that are started for tests and trials.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Free returns so many loopback addresses, all different, at which no process listens.
// None has a port of the range that systems give to connections, of which one could take
// it before the server listens.
func Free(n int) (addrs []string, err error) {
	for tries := 0; len(addrs) < n; tries++ {
		if tries == 100+10*n {
			return nil, errors.New("no free ports were found between 10000 and 32000")
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000)))
		if err != nil {
			continue // it is taken
		}
		defer l.Close() // all at the end, so that all differ
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
