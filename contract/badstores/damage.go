package badstores

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// damageDefects are what happens to messages.
var damageDefects = []Bad{
	{Name: "latin-1", Caught: "edges/latin1", Also: []string{"edges/unicode"},
		Defect: "text is stored as Latin-1, other letters become question marks", build: eachHandle(latin1)},
	{Name: "trims-space", Caught: "edges/white-space",
		Defect: "white space at the ends is trimmed", build: eachHandle(trimsSpace)},
	{Name: "loses-nul", Caught: "edges/control-bytes",
		Defect: "NUL bytes are dropped", build: eachHandle(losesNUL)},
	{Name: "repairs-utf8", Caught: "edges/invalid-utf8", Also: []string{"edges/lone-surrogates"},
		Defect: "what is no valid UTF-8 is replaced", build: eachHandle(repairsUTF8)},
	{Name: "normalises", Caught: "edges/not-normalised",
		Defect: "letters are composed before they are stored", build: eachHandle(normalises)},
	{Name: "splits-letters", Caught: "edges/long-letters",
		Defect: "text is stored in chunks of 64 KiB, and a letter between two of them is lost",
		build:  eachHandle(splitsLetters)},
	{Name: "loses-tool-calls", Caught: "sequential/tool-fields",
		Defect: "only role and content are stored", build: eachHandle(losesToolCalls)},
	{Name: "reencodes-arguments", Caught: "sequential/tool-numbers",
		Defect: "the arguments of tool calls are parsed and written again, and large numbers lose digits",
		build:  eachHandle(reencodesArguments)},
	{Name: "millisecond-order", Caught: "sequential/same-millisecond",
		Defect: "messages are sorted by their time in milliseconds", build: eachHandle(millisecondOrder)},
	{Name: "system-first", Caught: "sequential/later-system",
		Defect: "system messages are moved to the front", build: eachHandle(systemFirst)},
	{Name: "dedups-content", Caught: "edges/same-text-twice",
		Defect: "a message whose text is there already is taken for a retry", build: eachHandle(dedupsContent)},
}

// altering changes messages before it stores them.
type altering struct {
	*memory.Handle
	alter func(contract.Message) contract.Message
}

func (s altering) Add(ctx context.Context, session string, turn ...contract.Message) error {
	out := make([]contract.Message, len(turn))
	for i, m := range turn {
		out[i] = s.alter(m)
	}
	return s.Handle.Add(ctx, session, out...)
}

// text returns a wrapper whose stores change the text of messages.
func text(h *memory.Handle, change func(string) string) contract.Store {
	return altering{h, func(m contract.Message) contract.Message {
		m.Content = change(m.Content)
		return m
	}}
}

func latin1(h *memory.Handle) contract.Store {
	return text(h, func(s string) string {
		return strings.Map(func(r rune) rune {
			if r > 0xff {
				return '?'
			}
			return r
		}, s)
	})
}

func trimsSpace(h *memory.Handle) contract.Store { return text(h, strings.TrimSpace) }

func losesNUL(h *memory.Handle) contract.Store {
	return text(h, func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
}

func repairsUTF8(h *memory.Handle) contract.Store {
	return text(h, func(s string) string { return strings.ToValidUTF8(s, "\ufffd") })
}

func normalises(h *memory.Handle) contract.Store {
	return text(h, strings.NewReplacer("e\u0301", "\u00e9", "\u2126", "Ω", "\u212b", "Å").Replace)
}

func losesToolCalls(h *memory.Handle) contract.Store {
	return altering{h, func(m contract.Message) contract.Message {
		return contract.Message{ID: m.ID, Role: m.Role, Content: m.Content}
	}}
}

// reencodesArguments parses the arguments of tool calls, and every number becomes a
// float.
func reencodesArguments(h *memory.Handle) contract.Store {
	return altering{h, func(m contract.Message) contract.Message {
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for i, c := range m.ToolCalls {
			var value any
			if json.Unmarshal([]byte(c.Arguments), &value) != nil {
				continue
			}
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			e.Encode(value) // what was JSON encodes
			m.ToolCalls[i].Arguments = strings.TrimSpace(b.String())
		}
		return m
	}}
}

const chunk = 64 << 10

// splitsLetters stores text in chunks, each of which has to be text by itself.
func splitsLetters(h *memory.Handle) contract.Store {
	return text(h, func(s string) string {
		if !utf8.ValidString(s) {
			return s
		}
		var b strings.Builder
		for c := range slices.Chunk([]byte(s), chunk) {
			b.WriteString(strings.ToValidUTF8(string(c), "\ufffd"))
		}
		return b.String()
	})
}

// systemInFront loads what the model is to read first as the first message.
type systemInFront struct{ *memory.Handle }

func systemFirst(h *memory.Handle) contract.Store { return systemInFront{h} }

func (s systemInFront) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, err := s.Handle.Load(ctx, session)
	slices.SortStableFunc(ms, func(a, b contract.Message) int {
		return cmp.Compare(rank(a), rank(b))
	})
	return ms, err
}

func rank(m contract.Message) int {
	if m.Role == "system" {
		return 0
	}
	return 1
}

// byTime keeps the order of messages by the millisecond in which they came.
type byTime struct {
	*memory.Handle
	mu    sync.Mutex
	times map[string]stamp // by content
}

type stamp struct {
	ms   int64
	tied uint64 // what an index without a second key makes of equal times
}

func millisecondOrder(h *memory.Handle) contract.Store {
	return &byTime{Handle: h, times: map[string]stamp{}}
}

func (s *byTime) stamp(m contract.Message) stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.times[m.Content]; !ok {
		s.times[m.Content] = stamp{time.Now().UnixMilli(), rand.Uint64()}
	}
	return s.times[m.Content]
}

func (s *byTime) Add(ctx context.Context, session string, turn ...contract.Message) error {
	for _, m := range turn {
		s.stamp(m)
	}
	return s.Handle.Add(ctx, session, turn...)
}

func (s *byTime) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, err := s.Handle.Load(ctx, session)
	slices.SortStableFunc(ms, func(a, b contract.Message) int {
		x, y := s.stamp(a), s.stamp(b)
		return cmp.Or(cmp.Compare(x.ms, y.ms), cmp.Compare(x.tied, y.tied))
	})
	return ms, err
}

// byContent takes equal texts for retries.
type byContent struct{ *memory.Handle }

func dedupsContent(h *memory.Handle) contract.Store { return byContent{h} }

func (s byContent) Add(ctx context.Context, session string, turn ...contract.Message) error {
	have, err := s.Load(ctx, session)
	if err != nil {
		return err
	}
	for _, m := range turn {
		if slices.ContainsFunc(have, m.Equal) {
			continue
		}
		have = append(have, m)
		if err := s.Handle.Add(ctx, session, m); err != nil {
			return err
		}
	}
	return nil
}
