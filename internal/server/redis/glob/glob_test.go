package glob

import (
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

// Whatever matches a pattern begins with its literal prefix.
func FuzzMatch(f *testing.F) {
	f.Add("a*[b-d]?\\x", "abcdx")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if Match(pattern, name) && !strings.HasPrefix(name, LiteralPrefix(pattern)) {
			t.Errorf("%q matches %q", pattern, name)
		}
	})
}
