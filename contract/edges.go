package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

var edgeCases = []Case{
	{Name: "short", Incident: I1, run: saying("", "x", "0", "null", "[]"),
		Proves: "Empty and one-letter messages come back, and are still messages."},
	{Name: "mebibyte", Incident: I1, run: saying(strings.Repeat("0123456789abcde\n", 1<<16)),
		Proves: "A message of one mebibyte comes back whole."},
	{Name: "size-limit", Incident: I1, Needs: []Capability{HasLimit}, run: probing(sizeLimit),
		Proves: "The longest allowed message is kept; one byte more is refused, and leaves nothing behind."},
	{Name: "unicode", Incident: I1, run: saying(unicodeTexts...),
		Proves: "Emoji with joiners, right-to-left text, combining marks and rare planes come back unchanged."},
	{Name: "long-letters", Incident: I1, run: longLetters,
		Proves: "Long texts are not cut within a letter, wherever a chunk of them may end."},
	{Name: "not-normalised", Incident: I1, run: saying("e\u0301 ≠ \u00e9", "ﬁ ① Ω \u2126 \u212b", "\u1e9b\u0323"),
		Proves: "Nothing normalises text: composed and decomposed letters stay what they were."},
	{Name: "latin1", Incident: I1, run: saying(highLetters()),
		Proves: "Letters beyond ASCII survive whatever encodings lie on the way."},
	{Name: "white-space", Incident: I1, run: saying(" leading", "trailing ", "\t\ttabs\t", "\n\nlines\n", "a\r\nb\rc\n",
		" \u00a0\u2003\u3000 ", " "),
		Proves: "Space, tabs and line ends of all kinds stay, also at the ends and alone."},
	{Name: "control-bytes", Incident: I1,
		run: probing(orRefusal("a\x00b", "\x00", strings.Repeat("\x00", 5), "\x01\x02\x1b[31m\x7f",
			"\x00trailing\x00")),
		Proves: "NUL and other control characters come back, or are refused, but never vanish."},
	{Name: "json-in-json", Incident: I1, run: saying(jsonTexts()...),
		Proves: "Text that looks like JSON, escapes or markup is text."},
	{Name: "markup-and-queries", Incident: I1,
		run: saying("'; DROP TABLE messages; --", "%s %d %%", "{{template}} ${env} $(cmd)", "*3\r\n$3\r\nDEL\r\n",
			"<script>&amp;</script>", "\\u0041 \\n \\\\"),
		Proves: "Text that looks like SQL, templates or a protocol is text."},
	{Name: "invalid-utf8", Incident: I1,
		run:    probing(orRefusal("\xff\xfe", "ok\xc3", "\xc0\xaf overlong", "\xf5\x80\x80\x80", "a\x80b")),
		Proves: "Bytes that are no UTF-8 come back as they were, or are refused, but never changed."},
	{Name: "lone-surrogates", Incident: I1,
		run:    probing(orRefusal("\xed\xa0\xbd", "half an emoji: \xed\xb8\x80!", "\xed\xb8\x80\xed\xa0\xbd")),
		Proves: "Lone surrogates, which streaming cuts out of emoji, come back or are refused, but never changed."},
	{Name: "any-bytes", Incident: I1, Needs: []Capability{HasBytes}, run: anyBytes,
		Proves: "Every sequence of bytes comes back as it was."},
	{Name: "odd-keys", Incident: I2, run: oddKeys,
		Proves: "Session keys with spaces, slashes, patterns, and up to 512 bytes name sessions, or are refused."},
	{Name: "same-text-twice", Incident: I3, run: sameTextTwice,
		Proves: "Who says the same twice is heard twice."},
	{Name: "large-turn", Incident: I1, long: true, run: largeTurn,
		Proves: "A turn of a hundred messages is saved as one; a longer one is whole, or refused."},
	{Name: "long-history", Incident: I3, long: true, run: longHistory,
		Proves: "Nothing cuts a long history: message 2,100 is still there, and so is the first; of a fast store, " +
			"message 10,100."},
	{Name: "one-message-turn", Incident: I1, run: oneMessageTurn,
		Proves: "Turns of one, two and three messages can be mixed."},
}

var unicodeTexts = []string{
	"👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇪🇺", "שלום עולם \u202b\u202eabc\u202c", "مرحبا بالعالم", "Z̷̡̛͇a̶l̴g̸o̵ c̈öm̂b̊", "𝔘𝔫𝔦 𐍈 𠜎",
	"\ufeffBOM", "\U0010ffff \ufffd \ufffe",
	"a\u2028b\u2029c\u0085d", "ไทย 日本語 한국어 ελληνικά кириллица",
}

// edgeProbe saves what a store may refuse.
type edgeProbe struct{ *probe }

func highLetters() string {
	var b strings.Builder
	for r := rune(0xa0); r <= 0x17f; r++ {
		b.WriteRune(r)
	}
	return b.String() + " naïve café Straße Ÿ €"
}

func jsonTexts() []string {
	inner, _ := json.Marshal(map[string]any{"role": "user", "content": "I am \"inside\" \\ of it\n"}) // strings marshal
	twice, _ := json.Marshal(string(inner))
	return []string{string(inner), string(twice), `{"unclosed": [`, `"quoted"`, `\"`, `1e400`, `{"a":1,"a":2}`, "true"}
}

// says makes one user message of each text.
func says(texts []string) []Message {
	ms := make([]Message, len(texts))
	for i, t := range texts {
		ms[i] = Message{Role: "user", Content: t}
	}
	return ms
}

// saying returns a case whose texts must come back.
func saying(texts ...string) func(*probe) error {
	return func(p *probe) error { return p.comesBack(says(texts)...) }
}

// orRefusal returns a case whose texts must each come back or be refused clearly.
func orRefusal(texts ...string) func(edgeProbe) error {
	return func(p edgeProbe) error {
		for i, m := range says(texts) {
			if err := p.comesBackOrRefused(p.session(fmt.Sprint(i)), m); err != nil {
				return err
			}
		}
		return nil
	}
}

func (p edgeProbe) comesBackOrRefused(session string, m Message) error {
	ctx, cancel := p.op()
	defer cancel()
	err := p.store.Add(ctx, session, m)
	if err == nil {
		return p.exactly(p.store, session, []Message{m})
	}
	if !errors.Is(err, ErrRefused) {
		return fmt.Errorf("%s is neither kept nor clearly refused (an error that wraps ErrRefused): %w", m, err)
	}
	if err := p.leftNothing(session); err != nil {
		return fmt.Errorf("%s: %w", m, err)
	}
	return nil
}

func sizeLimit(p edgeProbe) error {
	limit := p.Target.Claims.MaxBytes
	text := strings.Repeat("x", limit+1)
	role := "user"
	if p.Target.Claims.Bytes {
		role = ""
	}
	if err := p.comesBackOrRefused(p.session("long"), Message{Role: role, Content: text[:limit]}); err != nil {
		return err
	}
	if ms, err := p.load(p.store, p.session("long")); err != nil || len(ms) != 1 {
		return fmt.Errorf("a message of %d bytes, which is the limit, is not kept (%v)", limit, err)
	}
	ctx, cancel := p.op()
	defer cancel()
	s := p.session("too-long")
	if err := p.add(p.store, s, 1, 1, 1); err != nil {
		return err
	}
	err := p.store.Add(ctx, s, Message{Role: role, Content: "innocent"}, Message{Role: role, Content: text})
	if !errors.Is(err, ErrRefused) {
		return fmt.Errorf("a message of %d bytes, one more than the limit, gives the error %v instead of ErrRefused",
			limit+1, err)
	}
	if err := p.verify(p.store, s); err != nil {
		return fmt.Errorf("after the refusal: %w", err)
	}
	return nil
}

func anyBytes(p *probe) error {
	var ms []Message
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	ms = append(ms, Message{Content: string(all)}, Message{Content: ""})
	for range 50 {
		b := make([]byte, 1+p.random.IntN(300))
		for i := range b {
			b[i] = byte(p.random.Uint32())
		}
		ms = append(ms, Message{Content: string(b)})
	}
	return p.comesBack(ms...)
}

func oddKeys(p *probe) error {
	base := p.session("")
	odd := []string{"with space", "a/b/../c", "c:\\d", "glob*[a-z]?", "emoji 👩‍🚀", "ключ", "new\nline", "{hash}tag",
		"percent%20%00", "quote'\"`", "-rf", "é/ü",
		strings.Repeat("n", 200), strings.Repeat("k", max(0, 512-len(base)))}
	if p.Target.Claims.Bytes {
		odd = append(odd, "nul\x00", "\xff\xfe")
	}
	for i, o := range odd {
		key := base + o
		p.use(key)
		err := p.add(p.store, key, i+1, 1, 2)
		switch {
		case errors.Is(err, ErrRefused):
			err = p.leftNothing(key)
		case err == nil:
			err = p.verify(p.store, key)
		}
		if err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
	}
	return nil
}

// sameTextTwice has messages without ids, since a store that deduplicates by content would
// also find different ids.
func sameTextTwice(p *probe) error {
	s := p.session("a")
	yes := Message{Role: "user", Content: "yes"}
	var want []Message
	for range 4 {
		ctx, cancel := p.op()
		defer cancel()
		if err := p.store.Add(ctx, s, yes, yes); err != nil {
			return err
		}
		want = append(want, yes, yes)
	}
	return p.exactly(p.store, s, want)
}

// longLetters has each kind of letter in two positions, so that every chunk of even
// length, in bytes or in units of UTF-16, ends within a letter in one of them.
func longLetters(p *probe) error {
	const size = 300 << 10
	for _, letter := range []string{"é", "東", "👩"} {
		for shift := range 2 {
			text := strings.Repeat("x", shift) + strings.Repeat(letter, size/len(letter))
			s := p.session(fmt.Sprintf("%d-%d", len(letter), shift))
			ctx, cancel := p.op()
			defer cancel()
			m := Message{Role: "user", Content: text}
			if err := p.store.Add(ctx, s, m); err != nil {
				return fmt.Errorf("add: %w", err)
			}
			if err := p.exactly(p.store, s, []Message{m}); err != nil {
				return err
			}
		}
	}
	return nil
}

// largeTurn goes past the usual limits of 128, 256 and 512 messages.
func largeTurn(p *probe) error {
	for _, parts := range []int{100, 129, 257, 520} {
		s := p.session(fmt.Sprint(parts))
		for i := range 2 {
			err := p.add(p.store, s, 1, i+1, parts)
			if errors.Is(err, ErrRefused) && parts > 100 {
				break // and none of it may be there
			}
			if err != nil {
				return err
			}
		}
		if err := p.verifyWhole(p.store, s); err != nil {
			return fmt.Errorf("turns of %d messages: %w", parts, err)
		}
	}
	return nil
}

const (
	longEnough = 2100            // messages that every store has to keep
	longest    = 10100           // that a fast one is given
	fastEnough = 5 * time.Second // for all of them
)

// longHistory does not wait for a store that reads all that is there for each save.
func longHistory(p *probe) error {
	const parts = 100
	s := p.session("a")
	start := time.Now()
	for i := range longest / parts {
		if i >= longEnough/parts && time.Since(start) > fastEnough {
			break
		}
		if err := p.add(p.store, s, 1, i+1, parts); err != nil {
			return err
		}
	}
	return p.verifyWhole(p.store, s)
}

func oneMessageTurn(p *probe) error {
	s := p.session("a")
	for i := range 12 {
		if err := p.add(p.store, s, 1, i+1, 1+i%3); err != nil {
			return err
		}
	}
	return p.verifyWhole(p.store, s)
}
