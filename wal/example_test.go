package wal_test

import (
	"fmt"
	"log"
	"os"

	"github.com/turnlog/turnlog/wal"
)

// Records are durable when Append has returned; after a restart they are there.
func Example() {
	dir, err := os.MkdirTemp("", "wal")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	l, err := wal.Open(dir, wal.Options{})
	if err != nil {
		log.Fatal(err)
	}
	records := []wal.Record{{Index: 1, Data: []byte("one")}, {Index: 2, Data: []byte("two")}}
	if err := l.Append(records); err != nil {
		log.Fatal(err)
	}
	if err := l.Close(); err != nil {
		log.Fatal(err)
	}

	if l, err = wal.Open(dir, wal.Options{}); err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	r, err := l.Get(l.LastIndex())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d to %d; the last is %q\n", l.FirstIndex(), l.LastIndex(), r.Data)
	// Output: 1 to 2; the last is "two"
}

// Verify reads a log without opening it, also that of a running node.
func ExampleVerify() {
	dir, err := os.MkdirTemp("", "wal")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := wal.Open(dir, wal.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	if err := l.Append([]wal.Record{{Index: 1, Data: []byte("one")}}); err != nil {
		log.Fatal(err)
	}
	report, err := wal.Verify(dir, wal.Options{})
	fmt.Println(report.FirstIndex, report.LastIndex, err)
	// Output: 1 1 <nil>
}
