package fsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// historyStep is after how many entries of a golden history the states are compared.
const historyStep = 25

// goldenHistory is a file of entries, by the level that a cluster has from which entry on.
type goldenHistory struct {
	name    string
	entries int
	levels  map[int]turn.ClusterLevel
}

// goldenHistories are of levels that were released, and of the newest one.
func goldenHistories() []goldenHistory {
	return []goldenHistory{
		{"history-v1", 250, nil},
		{"history-level3", 400, map[int]turn.ClusterLevel{50: turn.Level2, 150: turn.Level3}},
		{"history-level4", 400, map[int]turn.ClusterLevel{0: turn.Level3, 100: turn.Level4}},
		{"history-level5", 400, map[int]turn.ClusterLevel{0: turn.Level4, 100: turn.Level5}},
	}
}

// open reports whether the file may be written: the first time, and until its level, the newest one, is released.
func (h *goldenHistory) open(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) ||
		slices.Contains(slices.Collect(maps.Values(h.levels)), turn.NewestLevel)
}

// write writes the entries, and what comes of them.
func (h *goldenHistory) write(t *testing.T, path string) {
	t.Helper()
	g := &generator{rnd: rand.New(rand.NewPCG(1, 1)), model: newModel()}
	r := newRig(t)
	g.next = func() turn.Op {
		for {
			op := g.op()
			if _, level, err := codec.EncodeOpLevel(op); err == nil && level <= max(g.model.level, turn.Level1) {
				return op
			}
		}
	}
	stamp := int64(1_000_000)
	var sums strings.Builder
	for len(r.log) < h.entries {
		if level, rises := h.levels[len(r.log)]; rises && level != g.model.level {
			r.raise(level)
			g.model.level = level
		} else {
			if stamp += int64(g.rnd.IntN(200)); g.rnd.IntN(12) == 0 {
				stamp += turn.TombstoneTime / 4
			}
			g.step(r, stamp)
		}
		if len(r.log)%historyStep == 0 {
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

// What entries do is what they did in the version that wrote them, to the byte that the state's hash covers.
func TestGoldenHistory(t *testing.T) {
	for _, h := range goldenHistories() {
		t.Run(h.name, func(t *testing.T) {
			path := filepath.Join("testdata", h.name)
			if *writeGolden && h.open(path) {
				h.write(t, path)
			}
			checkHistory(t, path)
		})
	}
}

func checkHistory(t *testing.T, path string) {
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
