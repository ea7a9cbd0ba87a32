package redis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// Those who wait for lists at one node are served as Redis serves them: who came first
// comes first, whatever the requests are and however many elements come at once.
func TestOrderOfWaitingSameAsRedis(t *testing.T) {
	real := realRedis(t)
	ours := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range uint64(15) {
		g := rand.New(rand.NewPCG(seed, round))
		script := waitingScript(g)
		var blocked []int // after each write
		want := runWaiting(t, real, script, func(p *client, _ int) {
			n, _ := strconv.Atoi(infoField(p, "blocked_clients"))
			blocked = append(blocked, n)
		})
		got := runWaiting(t, ours, script, func(p *client, i int) { p.awaitBlocked(blocked[i]) })
		if !slices.Equal(want, got) {
			t.Fatalf("%s\nredis   %q\nturnlog %q", strings.Join(script, "\n"), want, got)
		}
	}
}

// waitingScript is some requests that block, then some writes by another client.
func waitingScript(g *rand.Rand) (script []string) {
	key := func() string { return string("abc"[g.IntN(3)]) }
	for range 3 + g.IntN(40) {
		script = append(script, []string{
			"BLPOP " + key() + " 0", "BRPOP " + key() + " 0", "BLPOP " + key() + " " + key() + " x 0",
			"BLMPOP 0 1 " + key() + " LEFT COUNT 2", "BLMOVE " + key() + " sink LEFT RIGHT 0", "BRPOPLPUSH " + key() +
				" wrong 0",
		}[g.IntN(6)])
	}
	script = append(script, "", "SET wrong type")
	for n := range 6 {
		elements := ""
		for i := range 1 + g.IntN(12) {
			elements += fmt.Sprintf(" %d.%d", n, i)
		}
		script = append(script, "RPUSH "+key()+elements)
	}
	return script
}

// runWaiting returns what became of each request, and of the lists. After each write it
// calls wrote.
func runWaiting(t *testing.T, addr string, script []string, wrote func(p *client, i int)) (results []string) {
	p := dial(t, addr)
	p.do("FLUSHALL")
	at := slices.Index(script, "")
	var waiting []*client
	var ids []string
	for i, request := range script[:at] {
		c := dial(t, addr)
		ids = append(ids, strconv.FormatInt(c.do("CLIENT", "ID").Int, 10))
		c.block(strings.Fields(request)...)
		p.awaitBlocked(i + 1)
		waiting = append(waiting, c)
	}
	for i, request := range script[at+1:] {
		p.do(strings.Fields(request)...)
		wrote(p, i)
	}
	for i, c := range waiting {
		p.do("CLIENT", "UNBLOCK", ids[i])
		results = append(results, show(c.receive()))
		c.nc.Close()
	}
	for _, k := range []string{"a", "b", "c", "sink"} {
		results = append(results, show(p.do("LRANGE", k, "0", "-1")))
	}
	return results
}

// infoField returns a line of INFO.
func infoField(c *client, name string) string {
	_, rest, _ := strings.Cut(c.do("INFO", "everything").Text(), "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// Who waits for an element gets one, however many wait, give up or leave meanwhile: none
// is lost and none is given to two.
func TestElementsOfManyWhoWait(t *testing.T) {
	addr := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr()
	const clients, each = 20, 30
	got := make(chan string, clients*each)
	for range clients {
		c := dial(t, addr)
		go func() {
			for range each {
				for {
					v, err := c.tryDo("BLPOP", "k", "l", "0.005")
					if err != nil {
						got <- err.Error()
						return
					}
					if len(v.Elems) == 2 {
						got <- string(v.Elems[1].Str)
						break
					}
				}
			}
		}()
	}
	p := dial(t, addr)
	for i := range clients * each / 2 {
		p.do("RPUSH", "k", strconv.Itoa(2*i))
		p.do("RPUSH", "l", strconv.Itoa(2*i+1))
	}
	seen := make(map[string]bool)
	for range clients * each {
		v := <-got
		if n, err := strconv.Atoi(v); err != nil || n >= clients*each || seen[v] {
			t.Fatalf("%s was received twice, or never sent", v)
		}
		seen[v] = true
	}
}
