package client

import (
	"reflect"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// The fields of answers have the names that they have on every other interface.
func TestNamesOfFields(t *testing.T) {
	text := func(s string) resp.Value { return resp.Value{Kind: resp.BulkString, Str: []byte(s)} }
	number := func(n int64) resp.Value { return resp.Value{Kind: resp.Integer, Int: n} }
	fields := func(elems ...resp.Value) resp.Value { return resp.Value{Kind: resp.Array, Elems: elems} }
	key := turn.Key{Namespace: "0", Name: "s"}
	session := turn.Session{Key: key, Count: 3, ExpiresAt: 5, Slide: 7, Metadata: map[string]string{"a": "b"}}
	got, err := decodeSession(fields(text("count"), number(3), text("expires_at"), number(5), text("slide_ms"),
		number(7),
		text("metadata"), fields(text("a"), text("b"))), key)
	if err != nil || !reflect.DeepEqual(got, session) {
		t.Errorf("session: %+v, %v", got, err)
	}
	level := turn.Level1
	cluster := turn.Cluster{ID: "c", Leader: "n1", Term: 4, Level: 1,
		Nodes: []turn.Node{{ID: "n1", RaftAddr: "a:1", RESPAddr: "a:2", HTTPAddr: "a:3", Role: "leader",
			Applied: 8, Match: 9, Reachable: true, StateHash: "h", HashIndex: 6, Level: 1, HoldLevel: &level}}}
	c, err := decodeCluster(text(`{"id":"c","leader":"n1","term":4,"level":1,"nodes":[{"id":"n1","raft_addr":"a:1",` +
		`"resp_addr":"a:2","http_addr":"a:3","role":"leader","applied":8,"match":9,"reachable":true,"state_hash":"h",` +
		`"hash_index":6,"level":1,"hold_level":1}]}`))
	if err != nil || !reflect.DeepEqual(c, cluster) {
		t.Errorf("cluster: %+v, %v", c, err)
	}
}
