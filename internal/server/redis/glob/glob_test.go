package glob

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true}, {"a*", "abc", true},
		{"a*", "bac", false},
		{"*c", "abc", true}, {"*b*", "abc", true}, {"a*c*e", "abcde", true}, {"a*c*e", "abcd", false},
		{"**a**", "bab", true},
		{"?", "a", true}, {"?", "", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"[abc]", "b", true}, {"[abc]", "d", false}, {"[^abc]", "d", true}, {"[^abc]", "a", false},
		{"[a-c]x", "bx", true}, {"[a-c]", "a", true}, {"[a-c]", "c", true}, {"[a-c]", "d", false},
		{"[b-c]", "a", false}, {`[\`, `\`, true}, {"[a-", "-", true},
		{"[c-a]x", "bx", true}, {"[a-c]x", "dx", false}, {"[a\\-c]", "-", true},
		{"[a\\-c]", "b", false},
		{"[abc", "c", true}, {"[", "a", false}, {"[]", "a", false}, {"[^]", "a", true},
		{`\*`, "*", true}, {`\*`, "a", false}, {`a\`, `a\`, true}, {"h[ae]llo*", "hallo world", true},
		{"message_store:*", "message_store:42", true}, {"A*", "a", false}, {"\xff*", "\xff\x00", true},
	}
	for _, tt := range tests {
		if got := Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
		if got := Compile(tt.pattern).Match(tt.name); got != tt.want {
			t.Errorf("pattern %q matches %q: %v", tt.pattern, tt.name, got)
		}
	}
}

func TestMatchTakesPolynomialTime(t *testing.T) {
	start := time.Now()
	Match(strings.Repeat("a*", 5000)+"b", strings.Repeat("a", 10000))
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestLiteralPrefix(t *testing.T) {
	for pattern, want := range map[string]string{"": "", "abc": "abc", "a*": "a", "a?": "a", "a[b]": "a",
		`a\*`: "a", "*": ""} {
		if got := LiteralPrefix(pattern); got != want {
			t.Errorf("%q: %q", pattern, got)
		}
	}
}

// Names of one page of HSCAN, all of them as long as they may be, against a pattern that is as long as one may be and
// matches nearly everywhere: seconds, where the product of both would take minutes.
func TestPatternTakesLinearTime(t *testing.T) {
	pattern := Compile("*" + strings.Repeat("?a", MaxBytes/2-1) + "b")
	name := strings.Repeat("a", 32_000)
	start := time.Now()
	for range 64 << 20 / len(name) / 32 {
		pattern.Match(name)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("a part of a page took %v", d)
	}
}

// Patterns of several words, made so that much of them matches at many places.
func TestPatternsOfAnyLength(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	some := func(n int, of ...string) string {
		var b strings.Builder
		for range rnd.IntN(n) {
			b.WriteString(of[rnd.IntN(len(of))])
		}
		return b.String()
	}
	matched := 0
	for range 3000 {
		pattern := some(300, "a", "a", "a", "a", "?", "[ab]", "[^b]", "*", "**")
		name := some(400, "a", "a", "a", "a", "a", "a", "a", "b")
		want := Match(pattern, name)
		if want {
			matched++
		}
		if got := Compile(pattern).Match(name); got != want {
			t.Fatalf("pattern %q matches %q: %v", pattern, name, got)
		}
	}
	if matched < 100 {
		t.Errorf("%d match", matched)
	}
}

// Whatever matches a pattern begins with its literal prefix; a pattern matches the same however it is held against
// names.
func FuzzMatch(f *testing.F) {
	f.Add("a*[b-d]?\\x", "abcdx")
	f.Add("a*"+strings.Repeat("[^x]", 70)+"*?", strings.Repeat("a", 75))
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if Match(pattern, name) && !strings.HasPrefix(name, LiteralPrefix(pattern)) {
			t.Errorf("%q matches %q", pattern, name)
		}
		if len(pattern) <= MaxBytes && Match(pattern, name) != Compile(pattern).Match(name) {
			t.Errorf("%q and %q: %v otherwise", pattern, name, !Match(pattern, name))
		}
	})
}
