package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// floodLimits is what a flood may cost. Memory is bounded on every machine; waits
// are held against the bound in the long form, on a machine that does nothing else.
const (
	floodMemory = 640 << 20 // the budget of 512 MiB, and 128 MiB
	floodWait   = 250 * time.Millisecond
	starved     = 30 * time.Second // a call that fails for so long
)

// TestFlood: strangers that open connections and send slowly, announce much, or
// guess passwords, all at once, take neither the node's memory nor its users' time.
// The long form (make flood) has all of them, and times users.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds of all processors")
	}
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "TLS"}[secure], func(t *testing.T) { testFlood(t, secure) })
	}
}

func testFlood(t *testing.T, secure bool) {
	long := os.Getenv("TURNLOG_LONG") != ""
	s := newSecured(t)
	ports := freePorts(t, 3)
	f := crowd{Redis: ports[0], HTTP: ports[1], TLS: secure, Drippers: 10_000, Announcers: 2_000, Guessers: 800,
		Posters: 12,
		Ramp:    5 * time.Second, Drip: 20 * time.Second, User: "bot", Pass: s.passwords["bot"]}
	calm, during := 3*time.Second, 60*time.Second
	if !long {
		f.Drippers, f.Announcers, f.Guessers, f.Ramp, f.Drip = 500, 100, 40, time.Second, time.Second
		calm, during = time.Second, 5*time.Second
	}
	// The short form has few clients; a low limit of open files makes them too many.
	descriptors := 0
	if !long {
		descriptors = 400
	}
	n := s.serveFlooded(ports, secure, descriptors)
	if scale := scaleToDescriptors(t, f.total()); scale < 1 {
		f.Drippers, f.Announcers, f.Guessers = int(float64(f.Drippers)*scale), int(float64(f.Announcers)*scale),
			int(float64(f.Guessers)*scale)
		t.Logf("the machine's limit of open files allows %.0f%% of it", 100*scale)
	}
	before := s.usersGoOn(ports, secure, calm)
	stop := f.start(t)
	waits := s.usersGoOn(ports, secure, during)
	stop()
	peak := residentPeak(t, n)
	for i := range waits {
		t.Logf("%-12s calm %v; flooded %v", waits[i].who, &before[i], &waits[i])
		if waits[i].failed > 0 {
			t.Errorf("%s: %d of %d calls failed within %v, the last one: %v", waits[i].who, waits[i].failed,
				len(waits[i].took), starved, waits[i].err)
		}
		if p99 := waits[i].at(99); long && p99 > floodWait {
			t.Errorf("%s: p99 is %v", waits[i].who, p99)
		}
	}
	t.Logf("peak of resident memory: %d MiB", peak>>20)
	if peak > floodMemory {
		t.Errorf("the node took %d MiB, its budget and 128 MiB are %d", peak>>20, floodMemory>>20)
	}
}

func (f *crowd) total() int { return f.Drippers + f.Announcers + f.Guessers + f.Posters }

// scaleToDescriptors returns which part of so many connections this machine lets one
// process have.
func scaleToDescriptors(t *testing.T, want int) float64 {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	return min(1, float64(l.Max-min(l.Max, 256))/float64(want))
}

// start starts the crowd's process; stop ends it.
func (f *crowd) start(t *testing.T) (stop func()) {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	p := startCommand(t, []string{crowdEnv + "=" + string(text)}, exec.Command(os.Args[0]))
	p.until("the flood has begun", func() bool { return strings.Count(p.text(), "\n") > int(f.Ramp/time.Second) })
	return func() {
		p.cmd.Process.Kill()
		<-p.ended
		lines := strings.Fields(p.text())
		t.Logf("the flood of %d clients opened %s connections", f.total(), lines[len(lines)-1])
	}
}

// waits is how long a user waited for calls.
type waits struct {
	who    string
	took   []time.Duration
	failed int
	err    error
}

func (w *waits) at(percent int) time.Duration {
	if len(w.took) == 0 {
		return 0
	}
	slices.Sort(w.took)
	return w.took[(len(w.took)-1)*percent/100]
}

func (w *waits) String() string {
	ms := func(percent int) time.Duration { return w.at(percent).Round(100 * time.Microsecond) }
	return fmt.Sprintf("n %d p50 %v p99 %v worst %v", len(w.took), ms(50), ms(99), ms(100))
}

// usersGoOn has an administrator and a user write and read for a while, over both
// listeners. Each comes in again after every 20 calls.
func (s *secured) usersGoOn(ports []string, secure bool, during time.Duration) []waits {
	ctx, cancel := context.WithTimeout(s.t.Context(), during)
	defer cancel()
	all := []waits{{who: "root, Redis"}, {who: "bot, Redis"}, {who: "root, HTTP"}, {who: "bot, HTTP"}}
	var working sync.WaitGroup
	for i := range all {
		w := &all[i]
		user, listener, _ := strings.Cut(w.who, ", ")
		call := s.redisCalls(ports[0], user, secure)
		if listener == "HTTP" {
			call = s.httpCalls(ports[1], user, secure)
		}
		working.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				began := time.Now()
				// The last call may end after ctx.
				bounded, end := context.WithTimeout(context.WithoutCancel(ctx), starved)
				err := call(bounded, k)
				for err != nil && bounded.Err() == nil { // as clients do: they lose time, which is counted
					err = call(bounded, k)
				}
				end()
				w.took = append(w.took, time.Since(began))
				if err != nil {
					w.failed, w.err = w.failed+1, err
				}
				time.Sleep(10 * time.Millisecond) // the pace of a client, no waiting for anything
			}
			call(context.Background(), -1)
		})
	}
	working.Wait()
	return all
}

// redisCalls returns what makes the k-th call; -1 ends it.
func (s *secured) redisCalls(addr, user string, secure bool) func(ctx context.Context, k int) error {
	options := redis.Options{Addr: addr, Username: user, Password: s.passwords[user], MaxRetries: -1, PoolSize: 1,
		ReadTimeout: 30 * time.Second, DialTimeout: 30 * time.Second}
	if secure {
		options.TLSConfig = s.tls()
	}
	var rdb *redis.Client
	return func(ctx context.Context, k int) error {
		if rdb == nil || k%20 == 0 {
			if rdb != nil {
				rdb.Close()
			}
			o := options
			rdb = redis.NewClient(&o)
		}
		key := fmt.Sprint("chat:", k%100)
		switch {
		case k < 0:
			return rdb.Close()
		case k%2 == 0:
			return rdb.RPush(ctx, key, "hello").Err()
		}
		return rdb.LRange(ctx, key, -3, -1).Err()
	}
}

func (s *secured) httpCalls(addr, user string, secure bool) func(ctx context.Context, k int) error {
	transport := &http.Transport{}
	scheme := "http"
	if secure {
		scheme, transport.TLSClientConfig = "https", &tls.Config{RootCAs: s.tls().RootCAs}
	}
	return func(ctx context.Context, k int) error {
		if k%20 == 0 || k < 0 {
			transport.CloseIdleConnections()
		}
		if k < 0 {
			return nil
		}
		method, query, body := "GET", "?last=3", ""
		if k%2 == 0 {
			method, query, body = "POST", "", `{"messages":[{"data":"hello"}]}`
		}
		url := fmt.Sprintf("%s://%s/v1/sessions/chat%%3A%d/messages%s", scheme, addr, k%100, query)
		req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			return err
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		req.SetBasicAuth(user, s.passwords[user])
		res, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", res.Status, text)
		}
		return err
	}
}

// residentPeak returns the most bytes that the process had resident.
func residentPeak(t *testing.T, p *process) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	_, line, found := strings.Cut(string(text), "VmHWM:")
	kib := 0
	if _, scanned := fmt.Sscan(line, &kib); err != nil || !found || scanned != nil {
		t.Fatal(cmp.Or(err, scanned))
	}
	return kib << 10
}
