package redis

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// Several keys are read as of one state: two that always change together are never seen apart.
func TestSeveralKeysAtOneRevision(t *testing.T) {
	addr := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr()
	var writing sync.WaitGroup
	stop := make(chan struct{})
	defer writing.Wait()
	defer close(stop)
	writer := dial(t, addr)
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			n := strconv.Itoa(i)
			set, other := "even", "odd"
			if i%2 == 1 {
				set, other = other, set
			}
			for _, args := range [][]string{{"MULTI"}, {"SET", "a", n}, {"SET", "b", n}, {"DEL", other},
				{"SADD", set, "m"},
				{"EXEC"}} {
				if _, err := writer.tryDo(args...); err != nil {
					return
				}
			}
		}
	})
	reader, seen := dial(t, addr), make(map[string]bool)
	for len(seen) < 100 {
		v := reader.do("MGET", "a", "b")
		if a, b := show(v.Elems[0]), show(v.Elems[1]); a != b {
			t.Fatalf("MGET of keys that change together: %s and %s", a, b)
		}
		if seen[show(v)] = true; len(seen) < 3 {
			continue // both exist from here on
		}
		reader.expect("1", "EXISTS", "even", "odd")
		reader.expect(`["m"]`, "SUNION", "even", "odd")
		reader.expect("0", "SINTERCARD", "2", "even", "odd")
	}
}

// A combination that is stored replaces whatever there was, with its deadline; one without members deletes it.
func TestStoredCombinations(t *testing.T) {
	addr := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr()
	c, other := dial(t, addr), dial(t, addr)
	c.do("SADD", "a", "1", "2", "3")
	c.do("SADD", "b", "2", "3", "4")
	c.do("RPUSH", "list", "x")
	c.do("EXPIRE", "list", "100")
	c.expect("2", "SINTERSTORE", "list", "a", "b")
	c.expect("set", "TYPE", "list")
	c.expect("-1", "TTL", "list")
	c.expect("-WRONGTYPE Operation against a key holding the wrong kind of value", "LRANGE", "list", "0", "-1")
	c.expect("4", "SUNIONSTORE", "a", "a", "b")
	c.expect("1", "SDIFFSTORE", "a", "a", "b")
	c.expect(`["1"]`, "SMEMBERS", "a")
	c.expect("OK", "WATCH", "list", "none")
	c.expect("OK", "MULTI")
	c.expect("QUEUED", "SDIFFSTORE", "list", "a")
	other.expect("0", "SINTERSTORE", "none", "a", "b") // there was nothing: nothing changes
	c.expect("[1]", "EXEC")
	c.expect("OK", "WATCH", "list")
	c.expect("OK", "MULTI")
	c.expect("QUEUED", "SCARD", "list")
	other.expect("0", "SINTERSTORE", "list", "a", "b")
	c.expect("null", "EXEC")
	c.expect("0", "EXISTS", "list")
	c.expect("-ERR 1 to 1000 sets are combined, not 1001", append([]string{"SUNION"}, strings.Fields(
		strings.Repeat("k ", 1001))...)...)
}

// older is an engine of a cluster of an older version.
type older struct{ Engine }

func (older) Level() turn.ClusterLevel { return turn.Level2 }

// Below level 3, several keys are read one by one, and combinations of sets say what they wait for.
func TestSeveralKeysInAnOlderCluster(t *testing.T) {
	c := dial(t, open(t, Config{Engine: older{openEngine(t, turn.DefaultLimits())}}).addr())
	c.do("MSET", "a", "1", "b", "2")
	c.do("SADD", "s", "m")
	c.expect(`["1" null "2" null]`, "MGET", "a", "none", "b", "s")
	c.expect("3", "EXISTS", "a", "none", "b", "s")
	for _, line := range []string{"SINTER s s", "SINTERCARD 1 s", "SUNIONSTORE t s"} {
		args := strings.Fields(line)
		if got := show(c.do(args...)); !strings.HasPrefix(got, "-ERR "+args[0]+" needs cluster level 3, and ") {
			t.Errorf("%s: %s", line, got)
		}
	}
	c.expect("0", "EXISTS", "t")
}
