package workload

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

func TestPayload(t *testing.T) {
	for _, name := range []string{"a-1", "zzzz-123456", "a-2" + history.ToolCall, "a-2" + history.ToolResult} {
		data := payload(name)
		if got := token(data); got != name {
			t.Errorf("token of %s: %q", data, got)
		}
		for i := range data {
			damaged := append([]byte(nil), data...)
			damaged[i] ^= 1
			if got := token(damaged); got == name {
				t.Errorf("damage at byte %d of %q is not noticed", i, data)
			}
		}
		if got := token(data[:len(data)-1]); got == name {
			t.Error("a cut payload is not noticed")
		}
	}
}

func TestReadEvents(t *testing.T) {
	first, second := string(payload("a-1")), string(payload("a-2"))
	stream := ": hello\n\nid: 1\ndata: {\"seq\":1,\"id\":\"a-1\",\"data\":" + first + "}\n\n" +
		"id: 2\r\ndata: {\"seq\":2,\r\ndata: \"id\":\"other\",\"data\":" + second + "}\r\n\r\n" +
		"event: failure\ndata: gone\n\n"
	var got []history.Message
	err := readEvents(strings.NewReader(stream), func(m history.Message, err error) bool {
		got = append(got, m)
		return true
	})
	if err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("failure event: %v", err)
	}
	if len(got) != 2 || got[0] != (history.Message{Seq: 1, Value: "a-1"}) || got[1].Seq != 2 || got[1].Value == "a-2" {
		t.Errorf("messages: %+v", got)
	}
}

func TestRetirement(t *testing.T) {
	w := ByName("namespaces")
	p := newPool(w)
	r := rand.New(rand.NewPCG(1, 2))
	names := map[string]int{}
	for range 5 * w.Calls * w.Sessions {
		names[p.pick(r).Name()]++
	}
	for name, calls := range names {
		if calls > w.Calls {
			t.Errorf("%s: %d calls", name, calls)
		}
		_, key, _ := strings.Cut(name, "/")
		for _, ns := range w.Namespaces {
			if _, ok := names[ns+"/"+key]; !ok && calls == w.Calls {
				t.Errorf("%s is not used in namespace %s", key, ns)
			}
		}
	}
}

func TestSizedPayload(t *testing.T) {
	const name = "abcd-7" + sized + "8192"
	if p := payload(name); len(p) != 8<<20 || token(p) != name {
		t.Errorf("%d bytes, %.60q", len(p), token(p))
	}
}

// The first entries of a run have ids that Redis takes, too: the checker knows no others.
func TestIDsOfEntriesAreValid(t *testing.T) {
	for seed := range uint64(200) {
		w := &worker{run: &Run{}, rand: rand.New(rand.NewPCG(seed, 1))}
		for range 5 {
			for _, word := range command(w, &Session{kind: "stream"}).Command {
				if strings.HasPrefix(word, "-") && strings.HasSuffix(word, "-0") || word == "0-0" {
					t.Fatalf("seed %d: the id %s", seed, word)
				}
			}
		}
	}
}
