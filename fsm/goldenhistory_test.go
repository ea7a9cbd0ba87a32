package fsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// historyStep is after how many entries of a golden history the states are compared.
const historyStep = 25

// writeHistory writes entries of the first cluster level, and what comes of them.
func writeHistory(t *testing.T, path string, entries int) {
	t.Helper()
	g := &generator{rnd: rand.New(rand.NewPCG(1, 1)), model: newModel()}
	r := newRig(t)
	g.next = func() turn.Op {
		for {
			op := g.op()
			if _, level, err := codec.EncodeOpLevel(op); err == nil && level <= turn.Level1 {
				return op
			}
		}
	}
	stamp := int64(1_000_000)
	var sums strings.Builder
	for i := range entries {
		if stamp += int64(g.rnd.IntN(200)); g.rnd.IntN(12) == 0 {
			stamp += turn.TombstoneTime / 4
		}
		g.step(r, stamp)
		if (i+1)%historyStep == 0 {
			fmt.Fprintln(&sums, storedHash(t, r))
		}
	}
	var b []byte
	for _, e := range r.log {
		b = append(binary.AppendUvarint(b, uint64(len(e))), e...)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".sums", []byte(sums.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What entries of the first cluster level do is what they did in the first version, to the byte that the state's
// hash covers.
func TestGoldenHistory(t *testing.T) {
	path := filepath.Join("testdata", "history-v1")
	if *writeGolden {
		writeHistory(t, path, 250)
	}
	history, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(path + ".sums")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	for _, want := range strings.Fields(string(sums)) {
		var log [][]byte
		for range historyStep {
			n, size := binary.Uvarint(history)
			log = append(log, bytes.Clone(history[size:size+int(n)]))
			history = history[size+int(n):]
		}
		r.applyLog(log)
		if got := storedHash(t, r); got != want {
			t.Fatalf("after %d entries the state is %s, want %s", r.index, got, want)
		}
	}
	if len(history) > 0 {
		t.Errorf("%d bytes are left", len(history))
	}
}
