package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/members"
	"github.com/turnlog/turnlog/internal/server/httpapi"
	"github.com/turnlog/turnlog/raftstore"
)

// A node is all that the server asks for.
var (
	_ httpapi.Engine = (*raftstore.Node)(nil)
	_ httpapi.Admin  = admin{}
)

// admin is a node as it is administered.
type admin struct {
	*raftstore.Node
	*members.Changes
}

const adminToken = "a token"

// member is a node with its server.
type member struct {
	node *raftstore.Node
	url  string
	stop func()
}

// start runs a node, whose data outlive it in dir, and its server.
func start(t *testing.T, id, dir string, l net.Listener, peers map[string]string) *member {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	node, err := raftstore.Open(raftstore.Config{NodeID: id, DataDir: dir, InitialCluster: peers,
		// A machine that is busy with other things answers late, not with an error.
		Calls: raftstore.CallBounds{LeaderWait: time.Minute, OutcomeWait: time.Minute},
		Peers: raftstore.Peers{Listener: l}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpapi.New(httpapi.Config{Engine: node, Admin: admin{node, node.Members()},
		Logger: quiet, AdminToken: adminToken})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	httpL, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served, ran := make(chan error, 1), make(chan error, 1)
	go func() { served <- s.Serve(ctx, httpL) }()
	go func() { ran <- node.Run(ctx) }()
	m := &member{node: node, url: "http://" + httpL.Addr().String()}
	m.stop = func() {
		m.stop = func() {}
		http.DefaultClient.CloseIdleConnections()
		cancel()
		for _, done := range []chan error{served, ran} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(func() { m.stop() })
	return m
}

func (m *member) call(t *testing.T, method, path, body string) (status int, answer map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, m.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

func (m *member) ready(t *testing.T) {
	t.Helper()
	for range 6000 {
		if status, _ := m.call(t, "GET", "/readyz", ""); status == http.StatusOK {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the node is not ready in a minute")
}

// seqs reads n events of a stream.
func (m *member) seqs(t *testing.T, path string, n int) (ids []string) {
	t.Helper()
	resp, err := http.Get(m.url + path)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for len(ids) < n && lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestOverARealNode(t *testing.T) {
	dir := t.TempDir()
	const path = "/v1/sessions/a%2Fb/messages"
	m := start(t, "n1", dir, nil, nil)
	m.ready(t)
	const body = `{"messages":[{"id":"1","data":{"role": "user","content":"<hi>"}},{"id":"2","data":2}],"expect":0}`
	if status, a := m.call(t, "POST", path, body); status != 200 || a["last_seq"] != 2.0 {
		t.Fatalf("append: %d %v", status, a)
	}
	if status, a := m.call(t, "POST", "/v1/cluster/checksum", ""); status != 200 || a["hash"] == "" {
		t.Fatalf("checksum: %d %v", status, a)
	}
	if status, a := m.call(t, "POST", "/v1/cluster/snapshot", ""); status != 200 {
		t.Fatalf("snapshot: %d %v", status, a)
	}
	m.stop()

	m = start(t, "n1", dir, nil, nil)
	m.ready(t)
	if status, a := m.call(t, "POST", path, body); status != 200 || a["duplicate"] != true {
		t.Fatalf("the same append after a restart: %d %v", status, a)
	}
	resp, err := http.Get(m.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), `"data":{"role": "user","content":"<hi>"}}`) {
		t.Errorf("after a restart: %s", b)
	}
	if got := m.seqs(t, path+"/stream?after=1", 1); len(got) != 1 || got[0] != "2" {
		t.Errorf("events %v", got)
	}
	if status, a := m.call(t, "GET", "/v1/cluster", ""); status != 200 || a["leader"] != "n1" {
		t.Errorf("cluster: %d %v", status, a)
	}
	if status, a := m.call(t, "DELETE", "/v1/sessions?prefix=a", ""); status != 200 || a["removed"] != 1.0 {
		t.Errorf("delete by prefix: %d %v", status, a)
	}
}

// Every node answers, and shows what any other acknowledged before.
func TestOverThreeNodes(t *testing.T) {
	peers, listeners := map[string]string{}, map[string]net.Listener{}
	for _, id := range []string{"n1", "n2", "n3"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[id], peers[id] = l, l.Addr().String()
	}
	var members []*member
	for id, l := range listeners {
		members = append(members, start(t, id, t.TempDir(), l, peers))
	}
	for _, m := range members {
		m.ready(t)
	}
	const path, rounds = "/v1/sessions/a/messages", 30
	streams := make(chan []string, len(members))
	for _, m := range members {
		go func() { streams <- m.seqs(t, path+"/stream", rounds) }()
	}
	for i := range rounds {
		if status, a := members[i%3].call(t, "POST", path,
			fmt.Sprintf(`{"messages":[{"data":%d}]}`, i)); status != 200 {
			t.Fatalf("append %d: %d %v", i, status, a)
		}
		if _, a := members[(i+1)%3].call(t, "GET", path+"?last=1", ""); a["last_seq"] != float64(i+1) {
			t.Fatalf("after append %d another node shows %v", i, a)
		}
	}
	for range members {
		ids := <-streams
		for i, id := range ids {
			if id != fmt.Sprint(i+1) {
				t.Fatalf("events %v", ids)
			}
		}
		if len(ids) != rounds {
			t.Errorf("%d events", len(ids))
		}
	}
}

// The server of a node, here without the listener of its own.
func Example() {
	dir, err := os.MkdirTemp("", "turnlog")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	node, err := raftstore.Open(raftstore.Config{NodeID: "n1", DataDir: dir,
		Peers: raftstore.Peers{Addr: "127.0.0.1:0"}})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- node.Run(ctx) }()

	handler, err := httpapi.New(httpapi.Config{Engine: node})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(handler)

	const messages = "/v1/sessions/alice/messages"
	resp, err := http.Post(server.URL+messages, "application/json", strings.NewReader(
		`{"messages":[{"id":"m1","data":{"role":"user","content":"My dog is called Rex."}}]}`))
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)

	resp, err = http.Get(server.URL + messages + "?last=20")
	if err != nil {
		panic(err)
	}
	var page struct {
		Messages []struct {
			Seq  uint64
			Data json.RawMessage
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		panic(err)
	}
	resp.Body.Close()
	for _, m := range page.Messages {
		fmt.Println(m.Seq, string(m.Data))
	}

	server.Close()
	stop()
	if err := <-stopped; err != nil {
		panic(err)
	}
	// Output:
	// 200 OK
	// 1 {"role":"user","content":"My dog is called Rex."}
}
