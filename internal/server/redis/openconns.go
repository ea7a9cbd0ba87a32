package redis

import "sync"

// openConns are the connections that a server serves. Its methods may be called by any goroutine.
type openConns struct {
	serving sync.WaitGroup

	mu   sync.Mutex
	byID map[uint64]*conn
}

// add lists a connection.
func (o *openConns) add(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byID[c.client.ID] = c
}

// remove takes a connection off those that are listed.
func (o *openConns) remove(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byID, c.client.ID)
}

// count returns how many are listed.
func (o *openConns) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.byID)
}

// all returns those that are listed.
func (o *openConns) all() []*conn {
	o.mu.Lock()
	defer o.mu.Unlock()
	cs := make([]*conn, 0, len(o.byID))
	for _, c := range o.byID {
		cs = append(cs, c)
	}
	return cs
}
