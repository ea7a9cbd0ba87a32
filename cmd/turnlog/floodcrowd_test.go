package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// crowd is what a flood consists of. It runs in a process of its own, this test's
// program started with crowdEnv, which yields to others: in life it has machines of
// its own.
type crowd struct {
	Redis, HTTP string // addresses
	TLS         bool

	Drippers, Announcers, Guessers, Posters int

	Ramp, Drip time.Duration // in which all begin; between two bytes of a dripper
	User, Pass string        // of those that know a password: half of the posters

	began atomic.Int64 // connections
}

// crowdEnv holds a crowd as JSON.
const crowdEnv = "FLOOD_OF_TESTS"

// run floods until the process is killed. It reports each second on standard output
// how many connections it has begun.
func (f *crowd) run() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19)
	for _, kind := range []struct {
		count int
		act   func(i int)
	}{{f.Drippers, f.drip}, {f.Announcers, f.announce}, {f.Guessers, f.guess}, {f.Posters, f.post}} {
		for i := range kind.count {
			go func() {
				time.Sleep(rand.N(f.Ramp))
				for {
					kind.act(i)
				}
			}()
		}
	}
	for range time.Tick(time.Second) {
		fmt.Println(f.began.Load())
	}
}

// dial returns a connection to one of both listeners, or nil after a pause.
func (f *crowd) dial(http bool) net.Conn {
	addr := f.Redis
	if http {
		addr = f.HTTP
	}
	f.began.Add(1)
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err == nil && f.TLS {
		secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		c.SetDeadline(time.Now().Add(30 * time.Second))
		if err = secure.Handshake(); err != nil {
			c.Close()
		}
		c.SetDeadline(time.Time{})
		c = secure
	}
	if err != nil {
		time.Sleep(time.Second)
		return nil
	}
	return c
}

// drip sends what begins a request, then a byte now and then.
func (f *crowd) drip(i int) {
	c := f.dial(i%2 == 1)
	if c == nil {
		return
	}
	defer c.Close()
	begin := "*2\r\n$4\r\nECHO\r\n$100\r\n"
	if i%2 == 1 {
		begin = "GET /v1/sessions/"
	}
	_, err := io.WriteString(c, begin)
	for err == nil {
		time.Sleep(f.Drip)
		_, err = io.WriteString(c, "x")
	}
}

// announce sends the head of a request of 8 MiB, and some of it.
func (f *crowd) announce(i int) {
	c := f.dial(i%2 == 1)
	if c == nil {
		return
	}
	defer c.Close()
	begin := "*3\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$8388608\r\n"
	if i%2 == 1 {
		begin = "POST /v1/sessions/k/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
			"application/json\r\nContent-Length: 8388608\r\n\r\n"
	}
	io.WriteString(c, begin+strings.Repeat("x", 16<<10))
	c.SetReadDeadline(time.Now().Add(f.Drip))
	io.Copy(io.Discard, c)
	time.Sleep(time.Second) // a port of this machine that waits is not a connection
}

// guess proposes passwords, for users that there are and others.
func (f *crowd) guess(i int) {
	name := []string{"root", f.User, fmt.Sprint("u", i), "default"}[i/2%4]
	c := f.dial(i%2 == 1)
	if c == nil {
		return
	}
	defer c.Close()
	replies := bufio.NewReader(c)
	for {
		password := fmt.Sprint("wrong ", rand.Uint64())
		if i%2 == 0 {
			fmt.Fprintf(c, "*3\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(name), name, len(password), password)
			if _, err := replies.ReadString('\n'); err != nil {
				return
			}
			continue
		}
		proof := base64.StdEncoding.EncodeToString([]byte(name + ":" + password))
		fmt.Fprintf(c, "GET /v1/sessions/k HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic %s\r\n\r\n", proof)
		res, err := http.ReadResponse(replies, nil)
		if err != nil {
			return
		}
		io.Copy(io.Discard, res.Body)
	}
}

// post sends a quarter of a large body, then drips.
func (f *crowd) post(i int) {
	c := f.dial(true)
	if c == nil {
		return
	}
	defer c.Close()
	proof := base64.StdEncoding.EncodeToString([]byte(f.User + ":" + []string{f.Pass, "wrong"}[i%2]))
	const size = 8 << 20
	fmt.Fprintf(c, "POST /v1/sessions/slow/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\nAuthorization: Basic %s\r\n\r\n", size, proof)
	_, err := c.Write(bytes.Repeat([]byte(" "), size/4+1<<10))
	for err == nil {
		time.Sleep(f.Drip / 20)
		_, err = io.WriteString(c, " ")
	}
}

// runCrowd is the process of a flood.
func runCrowd() {
	var f crowd
	if err := json.Unmarshal([]byte(os.Getenv(crowdEnv)), &f); err != nil {
		panic(err)
	}
	f.run()
}
