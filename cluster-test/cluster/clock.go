package cluster

import (
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Go programs ask the kernel for the time by themselves, so that nothing can be
// put between them: faketime and the like do not reach them. Instead the
// compiler is given a changed copy of the package time, whose clock can be put
// wrong through a file.

//go:embed clock.go.txt
var wrongClock []byte

const clockVariable = "TURNLOG_TEST_CLOCK" // names that file, to the node

// clockSources writes the changed sources into dir and returns what they take
// the place of.
func clockSources(ctx context.Context, dir string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go's sources: %w", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	name := filepath.Join(folder, "time.go")
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	text := string(content)
	for _, change := range [][2]string{
		{"sec, nsec, mono := runtimeNow()", "sec, nsec, mono := wrongNow(runtimeNow())"},
		{"subMono(runtimeNano()-startNano, t.ext)", "subMono(wrongNano(runtimeNano())-startNano, t.ext)"},
		{"subMono(t.ext, runtimeNano()-startNano)", "subMono(t.ext, wrongNano(runtimeNano())-startNano)"},
	} {
		if n := strings.Count(text, change[0]); n != 1 {
			return nil, fmt.Errorf("%q occurs %d times in %s; clock faults have to follow this version of Go",
				change[0], n, name)
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	changed, added := filepath.Join(dir, "time.go"), filepath.Join(dir, "wrongclock.go")
	return map[string]string{name: changed, filepath.Join(folder, "wrongclock.go"): added},
		errors.Join(os.WriteFile(changed, []byte(text), 0o644), os.WriteFile(added, wrongClock, 0o644))
}

// wrongness is how clocks are wrong, as the file tells.
type wrongness struct{ Offset, Drift, Since, Gained int64 }

func (w wrongness) ahead(mono int64) int64 { return w.Gained + (mono-w.Since)/1000*w.Drift/1000 }

// clock puts a node's clocks wrong.
type clock struct {
	path string

	mu      sync.Mutex
	current int64
	is      wrongness
}

func newClock(path string) (*clock, error) {
	return &clock{path: path}, os.WriteFile(path, make([]byte, 8+2*32), 0o644)
}

// set changes the file: first the half that does not hold, then which one does.
func (c *clock) set(offset time.Duration, drift int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return err
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	mono := ts.Nano()
	c.is = wrongness{Offset: int64(offset), Drift: drift, Since: mono, Gained: c.is.ahead(mono)}
	c.current = 1 - c.current
	half, _ := binary.Append(nil, binary.NativeEndian, c.is)
	if _, err := f.WriteAt(half, 8+32*c.current); err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(c.current)), 0)
	return err
}

// SetClock puts the node's clocks wrong, now and for all starts to come: its wall
// clock by an offset, and the speed of both its clocks by so many millionths.
func (n *Node) SetClock(offset time.Duration, drift int64) error { return n.clock.set(offset, drift) }

// ClusterAhead returns how far cluster time is ahead of the harness's clock. To learn it, it writes a message
// through n.
func (n *Node) ClusterAhead(ctx context.Context) (time.Duration, error) {
	const session = "/v1/ns/tester/sessions/clock/messages"
	var answer struct{ Messages []struct{ Time int64 } }
	err := n.Call(ctx, http.MethodPost, session, json.RawMessage(`{"messages":[{"data":1}]}`), nil)
	if err == nil {
		err = n.Call(ctx, http.MethodGet, session+"?last=1", nil, &answer)
	}
	if err != nil || len(answer.Messages) == 0 {
		return 0, err
	}
	return time.Until(time.UnixMilli(answer.Messages[0].Time)), nil
}

// HasClock reports whether the node's clock can be put wrong.
func (n *Node) HasClock() bool { return n.clock != nil }

// WallOffset returns how far the node's wall clock is ahead of the harness's, to about a second, by the dates of
// the node's answers.
func (n *Node) WallOffset(ctx context.Context) (time.Duration, error) {
	req, err := n.Request(ctx, http.MethodGet, "/livez", nil)
	if err != nil {
		return 0, err
	}
	resp, err := n.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	wall, err := http.ParseTime(resp.Header.Get("Date"))
	return time.Until(wall), err
}
