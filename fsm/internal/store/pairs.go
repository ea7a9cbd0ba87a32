package store

import "go.etcd.io/bbolt"

// pairs is a bucket in a transaction that changes it.
type pairs interface {
	Get(key []byte) []byte
	Cursor() *bbolt.Cursor
	ForEach(fn func(k, v []byte) error) error
	Put(key, value []byte) error
	Delete(key []byte) error
}
