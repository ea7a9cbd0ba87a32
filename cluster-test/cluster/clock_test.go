package cluster

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestClockSources fails when Go's own sources have moved on.
func TestClockSources(t *testing.T) {
	replaced, err := clockSources(t.Context(), t.TempDir())
	if err != nil || len(replaced) != 2 {
		t.Errorf("%v, %v", replaced, err)
	}
}

func TestClockFile(t *testing.T) {
	c, err := newClock(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		offset time.Duration
		drift  int64
	}{{time.Hour, 0}, {-time.Second, 50_000}, {0, 0}} {
		before := c.is
		if err := c.set(step.offset, step.drift); err != nil {
			t.Fatal(err)
		}
		var file struct {
			Current int64
			Is      [2]wrongness
		}
		content, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := binary.Decode(content, binary.NativeEndian, &file); err != nil {
			t.Fatal(err)
		}
		now := file.Is[file.Current]
		if now.Offset != int64(step.offset) || now.Drift != step.drift ||
			now.ahead(now.Since) != before.ahead(now.Since) {
			t.Errorf("%+v becomes %+v", before, now)
		}
	}
	if c.is.Gained <= 0 {
		t.Error("a clock that was too fast has gained nothing")
	}
}
