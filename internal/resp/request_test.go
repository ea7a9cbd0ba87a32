package resp

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the requests of in, each as its arguments joined by "|", and
// the error that ended it.
func readAll(r *RequestReader) (got []string, err error) {
	for {
		args, err := r.Next()
		var dropped *RequestError
		if errors.As(err, &dropped) {
			got = append(got, "dropped: "+err.Error())
			continue
		}
		if err != nil {
			return got, err
		}
		got = append(got, string(bytes.Join(args, []byte("|"))))
	}
}

func TestRequests(t *testing.T) {
	lim := Limits{MaxBulk: 1000, MaxArgs: 8, MaxInline: 100, MaxRequest: 300}
	long := strings.Repeat("x", 101)
	tests := []struct {
		in, want, err string
	}{
		{"*1\r\n$4\r\nPING\r\n", "PING", "EOF"},
		{"*2\r\n$4\r\nECHO\r\n$5\r\na\r\n\x00b\r\nPING\r\n", "ECHO|a\r\n\x00b;PING", "EOF"},
		{"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", "GET|", "EOF"},
		{"*0\r\n*-1\r\n\r\n\n   \r\nPING\n", "PING", "EOF"},
		{"set k \"a b\\x41\\n\" 'it\\'s' c\r\n", "set|k|a bA\n|it's|c", "EOF"},
		{"echo \"\\a\\b\\t\\r\\q\\xzz\"\r\n", "echo|\a\b\t\rqxzz", "EOF"},
		{"echo \"\"\r\n", "echo|", "EOF"},
		{"echo \"a\"b\r\n", "", "Protocol error: unbalanced quotes in request"},
		{"echo 'a\r\n", "", "Protocol error: unbalanced quotes in request"},
		{"PING\r\n*1\r\n$x\r\n", "PING", "Protocol error: invalid bulk length"},
		{"*x\r\n", "", "Protocol error: invalid multibulk length"},
		{"*01\r\n", "", "Protocol error: invalid multibulk length"},
		{"*9\r\n", "", "Protocol error: invalid multibulk length"},
		{"*2147483648\r\n", "", "Protocol error: invalid multibulk length"},
		{"*1\r\n$1001\r\n", "", "Protocol error: invalid bulk length"},
		{"*1\r\n$2147483648\r\n", "", "Protocol error: invalid bulk length"},
		{"*1\r\n$-1\r\n", "", "Protocol error: invalid bulk length"},
		{"*1\r\n:1\r\n", "", "Protocol error: expected '$', got ':'"},
		{"*1\r\n\x01", "", `Protocol error: expected '$', got '\x01'`},
		{"*1\r\n$1\r\nabc", "", "Protocol error: expected CRLF after a bulk string"},
		{"*" + strings.Repeat("1", 5000), "", "Protocol error: too big mbulk count string"},
		{"*1\r\n$" + strings.Repeat("1", 5000), "", "Protocol error: too big bulk count string"},
		{long, "", "unexpected EOF"},
		{long + "\r\n", "", "Protocol error: too big inline request"},
		{"*1\r\n$4\r\nPI", "", "unexpected EOF"},
		{"*1\r\n", "", "unexpected EOF"},
		{"*2\r\n$1\r\na\r\n$300\r\n" + strings.Repeat("x", 300) + "\r\nPING\r\n",
			"dropped: the request is longer than 300 bytes;PING", "EOF"},
	}
	for _, tt := range tests {
		for name, in := range map[string]io.Reader{
			"whole":   strings.NewReader(tt.in),
			"by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
		} {
			got, err := readAll(NewRequestReader(in, lim))
			if s := strings.Join(got, ";"); s != tt.want || err.Error() != tt.err {
				t.Errorf("%s %.60q:\n got %q, %v\nwant %q, %s", name, tt.in, s, err, tt.want, tt.err)
			}
		}
	}
}

// A peer that declares much and sends little costs little.
func TestHostileFramesAllocateLittle(t *testing.T) {
	for _, in := range []string{
		"*1\r\n$536870912\r\nabc",
		"*1048576\r\n$3\r\nabc\r\n",
		strings.Repeat("*1\r\n$536870912\r\n", 1),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			if _, err := NewRequestReader(strings.NewReader(in), Limits{}).Next(); err != io.ErrUnexpectedEOF {
				t.Fatalf("%q: %v", in, err)
			}
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / 10; n > 1<<20 {
			t.Errorf("%q allocated %d bytes", in, n)
		}
	}
}

func request(args ...string) string {
	var b bytes.Buffer
	w := NewWriter(&b)
	w.Command(args...)
	w.Flush()
	return b.String()
}

func TestBudgetIsSharedAndGivenBack(t *testing.T) {
	budget := NewBudget(1 << 20)
	lim := Limits{Memory: budget}
	big := strings.Repeat("x", 600_000)
	// The first reader holds most of the budget in a request that is not whole.
	pr, pw := io.Pipe()
	first := NewRequestReader(pr, lim)
	done := make(chan error)
	go func() {
		args, err := first.Next()
		if err == nil && string(args[1]) != big {
			err = errors.New("mutilated")
		}
		done <- err
	}()
	in := request("ECHO", big)
	io.WriteString(pw, in[:len(in)-1])

	second := NewRequestReader(strings.NewReader(request("ECHO", big)+request("PING")), lim)
	got, _ := readAll(second)
	if want := "dropped: the memory for requests being received is used up;PING"; strings.Join(got, ";") != want {
		t.Errorf("second reader got %.80q", got)
	}
	io.WriteString(pw, "\n")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if budget.Used() < 600_000 {
		t.Errorf("%d bytes in use while a large request is being handled", lim.Memory.(*Budget).Used())
	}
	first.Close()
	second.Close()
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes of the budget are lost", n)
	}
}

func TestManyArgumentsAreCharged(t *testing.T) {
	budget := NewBudget(1 << 20)
	lim := Limits{Memory: budget}
	args := make([]string, 100_000)
	got, err := readAll(NewRequestReader(strings.NewReader(request(args...)), lim))
	if len(got) != 1 || !strings.HasPrefix(got[0], "dropped") || err != io.EOF {
		t.Errorf("%.80q, %v", got, err)
	}
	if budget.Used() != 0 {
		t.Errorf("%d bytes in use", lim.Memory.(*Budget).Used())
	}
}

func TestDetachedArgumentsStay(t *testing.T) {
	r := NewRequestReader(strings.NewReader(request("a", "first")+request("b", "other")), Limits{})
	first, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	payload := first[1]
	r.Detach()
	if _, err := r.Next(); err != nil || string(payload) != "first" {
		t.Errorf("payload became %q, %v", payload, err)
	}
}

func TestSmallRequestsDoNotAllocate(t *testing.T) {
	in := strings.Repeat(request("RPUSH", "key", strings.Repeat("x", 100)), 2000)
	r := NewRequestReader(strings.NewReader(in), Limits{})
	r.Next()
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations per request", n)
	}
}

func FuzzRequestReader(f *testing.F) {
	f.Add([]byte("*2\r\n$4\r\nECHO\r\n$3\r\nabc\r\n"))
	f.Add([]byte("SET k \"a\\x00\" 'b'\r\n\r\n*-1\r\n"))
	f.Add([]byte("*3\r\n$-1\r\n"))
	f.Add([]byte("*2147483647\r\n$536870912\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		lim := Limits{MaxBulk: 1 << 16, MaxArgs: 100, MaxInline: 1 << 10, MaxRequest: 1 << 12,
			Memory: NewBudget(1 << 20)}
		whole := NewRequestReader(bytes.NewReader(in), lim)
		got, err := readAll(whole)
		split, err2 := readAll(NewRequestReader(iotest.HalfReader(bytes.NewReader(in)), lim))
		if strings.Join(got, "\x00") != strings.Join(split, "\x00") || err.Error() != err2.Error() {
			t.Fatalf("the result depends on how the bytes arrive:\n%q %v\n%q %v", got, err, split, err2)
		}
		whole.Close()
		if lim.Memory.(*Budget).Used() != 0 {
			t.Fatalf("%d bytes of the budget are lost", lim.Memory.(*Budget).Used())
		}
	})
}

// Every request that a Writer writes is read back as it was.
func FuzzRequestRoundTrip(f *testing.F) {
	f.Add("RPUSH", "key", "a\r\n\x00")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		got, err := NewRequestReader(strings.NewReader(request(a, b, c)), Limits{}).Next()
		if err != nil || len(got) != 3 || string(got[0]) != a || string(got[1]) != b || string(got[2]) != c {
			t.Fatalf("%q, %v", got, err)
		}
	})
}
