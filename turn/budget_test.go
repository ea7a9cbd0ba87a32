package turn

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/toolcalls"
)

// script makes messages from a word each: "t" plain text, "c:a" a call, "c:a,b"
// two of them, "r:a" a result. Each message is padded to 100 bytes.
func script(words string) []Message {
	var ms []Message
	for i, w := range strings.Fields(words) {
		kind, ids, _ := strings.Cut(w, ":")
		var data string
		switch kind {
		case "c":
			var calls []string
			for id := range strings.SplitSeq(ids, ",") {
				calls = append(calls, `{"id":"`+id+`"}`)
			}
			data = `{"tool_calls":[` + strings.Join(calls, ",") + `]}`
		case "r":
			data = `{"role":"tool","tool_call_id":"` + ids + `","content":"7"}`
		default:
			data = `{"content":"hello"}`
		}
		data += strings.Repeat(" ", max(0, 100-len(data)))
		ms = append(ms, Message{Seq: uint64(i + 1), Data: []byte(data)})
	}
	return ms
}

func TestTake(t *testing.T) {
	far := "c:a" + strings.Repeat(" t", ToolReach)
	tests := []struct {
		words       string
		newest      bool
		n           int
		bytes       int64
		first, last uint64 // of what is kept
	}{
		{"t t t t", true, 0, 0, 1, 4},
		{"t t t t", true, 9, 900, 1, 4},
		{"t t t t", true, 4, 400, 1, 4},
		{"t t t t", true, 3, 0, 2, 4},
		{"t t t t", true, 0, 399, 2, 4},
		{"t t t t", true, 0, 1, 4, 4},
		{"t t t t", false, 3, 0, 1, 3},
		{"t t t t", false, 0, 399, 1, 3},
		{"t t t t", false, 0, 1, 1, 1},

		{"t c:a r:a t t", true, 3, 0, 4, 5}, // the result would stand first
		{"t c:a r:a t t", true, 4, 0, 2, 5},
		{"t c:a r:a t t", false, 2, 0, 1, 1}, // the call would stand last
		{"t c:a r:a t t", false, 3, 0, 1, 3},
		{"t c:a,b r:a r:b t", true, 3, 0, 5, 5},
		{"t c:a,b r:a r:b t", true, 2, 0, 5, 5},
		{"t c:a,b r:b r:a t", false, 3, 0, 1, 1},
		{"t c:a t r:a t", true, 3, 0, 5, 5}, // a word in between
		{"t c:a t r:a t", false, 3, 0, 1, 1},

		{"c:a r:a", true, 1, 0, 1, 2},
		{"t c:a r:a", true, 1, 0, 2, 3}, // not even one unit fits
		{"t c:a,b r:a r:b", true, 0, 150, 2, 4},
		{"c:a,b r:a r:b t", false, 1, 0, 1, 3},
		{"c:a r:a", false, 1, 0, 1, 2},

		{"t r:a t", true, 2, 0, 2, 3}, // there never was such a call
		{"r:a t t", true, 2, 0, 2, 3},
		{"t c:a t t", false, 2, 0, 1, 2}, // not answered (yet)
		{"c:a c:a r:a t", true, 2, 0, 4, 4},
		{"c:a r:a c:a r:a t", true, 3, 0, 3, 5}, // an id used again

		{far + " r:a", true, 3, 0, ToolReach, ToolReach + 2}, // too far apart
		{far[:len(far)-2] + " r:a", true, 3, 0, 1, ToolReach + 1},
		{far + " r:a", false, 3, 0, 1, 3},
		{far[:len(far)-2] + " r:a", false, 3, 0, 1, ToolReach + 1},
	}
	for _, tt := range tests {
		ms := script(tt.words)
		kept, cut := take(Budget{Messages: tt.n, Bytes: tt.bytes}, ms, tt.newest)
		if kept[0].Seq != tt.first || kept[len(kept)-1].Seq != tt.last || cut != (len(kept) < len(ms)) {
			t.Errorf("%.60q newest=%v, %d messages, %d bytes: kept %d–%d, cut %v; want %d–%d",
				tt.words, tt.newest, tt.n, tt.bytes, kept[0].Seq, kept[len(kept)-1].Seq, cut, tt.first, tt.last)
		}
	}
}

// take is Take on messages in commit order.
func take(b Budget, ms []Message, newest bool) (kept []Message, cut bool) {
	kept, cut, _ = takeCounting(b, ms, newest)
	return kept, cut
}

// What the messages count for is bounded, also where a tool call would be cut from its result; one alone is taken.
func TestSizeIsNotExceeded(t *testing.T) {
	one := int64(100 + ItemBytes)
	for _, x := range []struct {
		words       string
		newest      bool
		size        int64
		first, last uint64
	}{
		{"t t t t", true, 3 * one, 2, 4},
		{"t t t t", true, 3*one - 1, 3, 4},
		{"t t t t", false, 3 * one, 1, 3},
		{"t t t t", true, 4 * one, 1, 4},
		{"t t", true, 1, 2, 2},
		{"t c:a r:a", true, one, 3, 3}, // the call does not fit
		{"t c:a r:a", true, 2 * one, 2, 3},
		{"t c:a r:a t t", true, 3*one + 1, 4, 5},
	} {
		kept, cut := take(Budget{Size: x.size}, script(x.words), x.newest)
		if len(kept) == 0 || kept[0].Seq != x.first || kept[len(kept)-1].Seq != x.last ||
			cut != (len(kept) < len(strings.Fields(x.words))) {
			t.Errorf("%q of %d bytes, newest %v: %+v, cut %v", x.words, x.size, x.newest, kept, cut)
		}
	}
	kept, _ := take(Budget{Messages: 1, Size: 2*one - 1}, script("t c:a r:a"), true)
	if len(kept) != 1 {
		t.Errorf("to keep a call and its result together, %d messages are kept", len(kept))
	}
}

func takeCounting(b Budget, ms []Message, newest bool) (kept []Message, cut bool, asked int) {
	kept, cut = b.Take(newest, func() (Message, bool) {
		if asked == len(ms) {
			return Message{}, false
		}
		asked++
		if newest {
			return ms[len(ms)-asked], true
		}
		return ms[asked-1], true
	})
	return kept, cut, asked
}

func TestTakeOfNothing(t *testing.T) {
	if kept, cut := take(Budget{Messages: 1, Bytes: 1}, nil, true); len(kept) != 0 || cut {
		t.Errorf("kept %v, cut %v", kept, cut)
	}
}

func TestTakeReadsNoMoreThanItNeeds(t *testing.T) {
	ms := script("t t t t t c:a r:a t t t")
	if _, _, asked := takeCounting(Budget{Messages: 2}, ms, true); asked != 3 {
		t.Errorf("two of the newest: %d messages read, want 3", asked)
	}
	if _, _, asked := takeCounting(Budget{Messages: 4}, ms, true); asked != 5 {
		t.Errorf("four of the newest, the last one a result: %d messages read, want 5", asked)
	}
}

func TestTakeBoundsWhatItLooksAt(t *testing.T) {
	// Calls and results that all hold together, each of a mebibyte.
	big := bytes.Repeat([]byte{' '}, 1<<20)
	var ms []Message
	for i := range 60 {
		data := fmt.Sprintf(`{"content":[{"type":"tool_use","id":"%d"},{"type":"tool_result","tool_use_id":"%d"}]}`, i,
			i-1)
		ms = append(ms, Message{Seq: uint64(i + 1), Data: append([]byte(data), big...)})
	}
	kept, cut, asked := takeCounting(Budget{Messages: 1}, ms, true)
	if len(kept) > 20 || !cut || asked > 20 {
		t.Errorf("kept %d, cut %v, read %d", len(kept), cut, asked)
	}
}

func TestTakeCountsFourBytesAToken(t *testing.T) {
	ms := script("t t t t")
	if kept, cut := take(Budget{Tokens: 75}, ms, true); len(kept) != 3 || !cut || kept[0].Seq != 2 {
		t.Errorf("75 tokens: kept %d from %d, cut %v", len(kept), kept[0].Seq, cut)
	}
	if kept, _ := take(Budget{Bytes: 250, Tokens: 1 << 62}, ms, false); len(kept) != 2 || kept[0].Seq != 1 {
		t.Errorf("250 bytes: kept %d from %d", len(kept), kept[0].Seq)
	}
}

// modelTake says the same as Take in the most obvious way, with everything in
// view.
func modelTake(b Budget, ms []Message, newest bool) (first, last int) {
	n := len(ms)
	at := func(i int) Message { // in order of preference
		if newest {
			return ms[n-1-i]
		}
		return ms[i]
	}
	fit, total := 0, int64(0)
	for fit < n {
		total += int64(len(at(fit).Data))
		if fit > 0 && (b.Messages > 0 && fit == b.Messages || b.Bytes > 0 && total > b.Bytes || b.Tokens > 0 &&
			total > 4*b.Tokens) {
			break
		}
		fit++
	}
	far := make([]int, n) // the farthest message that must come along
	for i := range n {
		needs, _ := ids(at(i), newest)
		for _, id := range needs {
			met := false
			for j := i + 1; !met && j < n && j <= i+ToolReach; j++ {
				if _, gives := ids(at(j), newest); slices.Contains(gives, id) {
					far[i], met = max(far[i], j), true
				}
			}
		}
	}
	clean := func(k int) bool {
		for i := range k {
			if far[i] >= k {
				return false
			}
		}
		return true
	}
	chosen := fit
search:
	for d := range ToolReach {
		if k := fit - d; k >= 1 && clean(k) {
			chosen = k
			break
		}
		if d == ToolReach-1 || fit-d <= 1 {
			for k := fit + 1; k <= min(n, fit+ToolReach); k++ {
				if clean(k) {
					chosen = k
					break search
				}
			}
			break
		}
	}
	if newest {
		return n - chosen, n
	}
	return 0, chosen
}

func ids(m Message, newest bool) (needs, gives []uint64) {
	x := toolcalls.Of(m.Data)
	if newest {
		return x.Results, x.Calls
	}
	return x.Calls, x.Results
}

func TestTakeAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 1500 {
		ms := script(randomScript(r))
		b := Budget{}
		if r.IntN(3) > 0 {
			b.Messages = 1 + r.IntN(len(ms)+3)
		}
		if r.IntN(3) == 0 {
			b.Bytes = r.Int64N(int64(len(ms)) * 120)
		}
		if r.IntN(3) == 0 {
			b.Tokens = r.Int64N(int64(len(ms)) * 30)
		}
		newest := r.IntN(2) == 0
		kept, cut := take(b, ms, newest)
		lo, hi := modelTake(b, ms, newest)
		if len(kept) != hi-lo || kept[0].Seq != ms[lo].Seq || cut != (len(kept) < len(ms)) {
			t.Fatalf("%+v newest=%v of %d: kept %d from %d, cut %v; want %d from %d",
				b, newest, len(ms), len(kept), kept[0].Seq, cut, hi-lo, ms[lo].Seq)
		}
	}
}

// randomScript mixes text, calls and results, near and far, orphaned and
// repeated.
func randomScript(r *rand.Rand) string {
	n, pool := 1+r.IntN(40), 1+r.IntN(12)
	if r.IntN(4) == 0 {
		n = 1 + r.IntN(450)
	}
	tools := r.IntN(100)
	var words []string
	for range n {
		switch id := r.IntN(pool); {
		case r.IntN(100) >= tools:
			words = append(words, "t")
		case r.IntN(8) == 0:
			words = append(words, fmt.Sprintf("c:%d,%d", id, r.IntN(pool)))
		case r.IntN(2) == 0:
			words = append(words, fmt.Sprintf("c:%d", id))
		default:
			words = append(words, fmt.Sprintf("r:%d", id))
		}
	}
	return strings.Join(words, " ")
}

// Real conversations, of which TURNLOG_CONVERSATIONS names a file, one a line:
// every window of them starts with no result and ends with no call.
func TestTakeOnRealConversations(t *testing.T) {
	name := os.Getenv("TURNLOG_CONVERSATIONS")
	if name == "" {
		t.Skip("TURNLOG_CONVERSATIONS is not set")
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	sessions, calls := 0, 0
	for lines.Scan() {
		var s struct{ Messages []json.RawMessage }
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		ms := make([]Message, len(s.Messages))
		for i := range ms {
			ms[i] = Message{Seq: uint64(i + 1), Data: s.Messages[i]}
			calls += len(toolcalls.Of(ms[i].Data).Calls)
		}
		sessions++
		for n := 1; n < len(ms); n++ {
			checkWhole(t, ms, n)
		}
	}
	if sessions == 0 || calls == 0 {
		t.Fatalf("%d sessions with %d tool calls: nothing was tested", sessions, calls)
	}
	t.Logf("%d sessions, %d tool calls", sessions, calls)
}

func checkWhole(t *testing.T, ms []Message, n int) {
	kept, _ := take(Budget{Messages: n}, ms, true)
	if len(toolcalls.Of(kept[0].Data).Results) > 0 {
		t.Fatalf("the newest %d of %d begin with a result: %s", n, len(ms), kept[0].Data)
	}
	kept, _ = take(Budget{Messages: n}, ms, false)
	if len(toolcalls.Of(kept[len(kept)-1].Data).Calls) > 0 && len(kept) < len(ms) {
		t.Fatalf("the oldest %d of %d end with a call: %s", n, len(ms), kept[len(kept)-1].Data)
	}
}

func BenchmarkTakeNewest(b *testing.B) {
	ms := script(strings.Repeat("t t c:a r:a ", 100))
	for _, n := range []int{2, 20, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				take(Budget{Messages: n}, ms, true)
			}
		})
	}
}
