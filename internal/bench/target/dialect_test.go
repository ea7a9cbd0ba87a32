package target

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// Every answer is found when it is whole, and not a byte earlier, whatever
// follows it.
func TestAnswers(t *testing.T) {
	overRESP, overHTTP := respFrames{&Target{}}, &httpDialect{}
	for _, tt := range []struct {
		d       dialectAnswer
		in      string
		refused string
	}{
		{overRESP, "+OK\r\n", ""},
		{overRESP, ":12\r\n", ""},
		{overRESP, "$5\r\na\r\nbc\r\n", ""},
		{overRESP, "$-1\r\n", ""},
		{overRESP, "*-1\r\n", ""},
		{overRESP, "*0\r\n", ""},
		{overRESP, "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n+y\r\n$0\r\n\r\n", ""},
		{overRESP, "%2\r\n+a\r\n*1\r\n_\r\n+b\r\n,1.5\r\n", ""},
		{overRESP, "-LOADING no leader\r\n", "LOADING no leader"},
		{overHTTP, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ""},
		{overHTTP, "HTTP/1.1 204 No Content\r\n\r\n", ""},
		{overHTTP, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n1\r\n\n\r\n0\r\n\r\n", ""},
		{overHTTP, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy", "503: busy"},
	} {
		for i := range len(tt.in) {
			if n, err := tt.d.Answer([]byte(tt.in[:i])); n != 0 || err != nil {
				t.Errorf("%q: %d, %v", tt.in[:i], n, err)
			}
		}
		n, err := tt.d.Answer([]byte(tt.in + tt.in))
		var no Refusal
		if n != len(tt.in) || tt.refused == "" && err != nil || tt.refused != "" &&
			(!errors.As(err, &no) || string(no) != tt.refused) {
			t.Errorf("%q: %d, %v", tt.in, n, err)
		}
	}
	for _, in := range []string{"x\n", "\r\n", "*x\r\n", "$1x\r\n"} {
		if n, err := overRESP.Answer([]byte(in)); n != 0 || err == nil {
			t.Errorf("RESP %q: %d, %v", in, n, err)
		}
	}
	for _, in := range []string{"HTTP/2 200\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"} {
		if n, err := overHTTP.Answer([]byte(in)); n != 0 || err == nil {
			t.Errorf("HTTP %q: %d, %v", in, n, err)
		}
	}
}

type dialectAnswer interface{ Answer([]byte) (int, error) }

func TestRequests(t *testing.T) {
	p := NewPayloads(40, rand.New(rand.NewPCG(1, 2)))
	for _, tt := range []struct {
		url, want string // # stands for a payload, @ for an id
		owed      int
	}{
		{"turnlog://h:1", "*8\r\n$11\r\nTURN.APPEND\r\n$1\r\nk\r\n$3\r\nMSG\r\n$24\r\n@\r\n$40\r\n#\r\n" +
			"$3\r\nMSG\r\n$24\r\n@\r\n$40\r\n#\r\n" +
			"*4\r\n$9\r\nTURN.READ\r\n$1\r\nk\r\n$4\r\nLAST\r\n$2\r\n20\r\n", 2},
		{"redis://h:1", "*4\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$40\r\n#\r\n$40\r\n#\r\n" +
			"*4\r\n$6\r\nLRANGE\r\n$1\r\nk\r\n$3\r\n-20\r\n$2\r\n-1\r\n", 2},
		{"redis://h:1?wait=1", "*4\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$40\r\n#\r\n$40\r\n#\r\n" +
			"*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n" +
			"*4\r\n$6\r\nLRANGE\r\n$1\r\nk\r\n$3\r\n-20\r\n$2\r\n-1\r\n", 3},
		{"http://h:1/team", "POST /v1/ns/team/sessions/k/messages HTTP/1.1\r\nHost: h:1\r\nContent-Type: " +
			"application/json\r\nContent-Length: 178\r\n\r\n" +
			`{"messages":[{"id":"@","data":#},{"id":"@","data":#}]}` +
			"GET /v1/ns/team/sessions/k/messages?last=20 HTTP/1.1\r\nHost: h:1\r\n\r\n", 2},
	} {
		target, err := Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		d, err := target.Dialect()
		if err != nil {
			t.Fatal(err)
		}
		got, a := d.Append(nil, []byte("k"), 2, p)
		got, b := d.Read(got, []byte("k"), 20)
		want := strings.NewReplacer("#", strings.Repeat("#", 40), "@", strings.Repeat("@", idBytes)).Replace(tt.want)
		if a+b != tt.owed || len(got) != len(want) {
			t.Fatalf("%s: %d answers, %q", tt.url, a+b, got)
		}
		for i := range got {
			if want[i] != '#' && want[i] != '@' && want[i] != got[i] {
				t.Fatalf("%s at %d:\n got %q\nwant %q", tt.url, i, got, want)
			}
		}
	}
}

func TestTargets(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:7379", "https://h", "redis://h?wait=x", "turnlog://h?wait=1",
		"redis://h?x=1", "http:///x"} {
		if target, err := Parse(bad); err == nil {
			t.Errorf("%q: %+v", bad, target)
		}
	}
	got, err := Parse("turnlog://a:1,b/ns")
	if err != nil || strings.Join(got.Addrs, " ") != "a:1 b:7379" || got.Namespace != "ns" ||
		got.Name != "turnlog://a:1,b/ns" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = Parse("rediss://u:secret@h"); err != nil || !got.TLS || got.Protocol != Redis ||
		got.User != "u" || got.Password != "secret" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = Parse("redis://u:secret@h"); err != nil || got.Password != "secret" ||
		strings.Contains(got.Name, "secret") {
		t.Errorf("%+v, %v", got, err)
	}
}
