package redis

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// Requests that consist of words that mean something somewhere get a reply each,
// whatever they are, in a transaction or outside.
func TestAnyWordsAreAnswered(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := generator{rand.New(rand.NewPCG(seed, 2))}
	words := []string{"k", "k", "0", "1", "-1", "5-1", "*", "~", "=", "$", "-", "+", "(", "(1", "[a", "[", "", "1.5",
		"inf", "9223372036854775807"}
	option := regexp.MustCompile(`[A-Z]{2,}`)
	var names []string
	table := command.NewTable()
	for _, cmd := range table.Slots {
		words = append(words, option.FindAllString(cmd.Args, -1)...)
		switch cmd.Name {
		case "quit", "client|kill", "client|reply", "hello", "wait", "waitaof", "turn.tail", "turn.ns", "select",
			"blpop", "brpop", "blmpop", "blmove", "brpoplpush", // for ever
			"subscribe", "psubscribe", "unsubscribe", "punsubscribe": // answered more than once, or for ever
		default:
			if !cmd.Container() {
				names = append(names, cmd.Name)
			}
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "BLOCK" })
	c := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	const batch = 50
	for range 6000 / batch {
		var sent [][]string
		for range batch {
			name := names[g.IntN(len(names))]
			args := strings.Split(name, "|")
			for n := max(table.Lookup(name).Arity, -table.Lookup(name).Arity) - len(args) + g.IntN(5); n > 0; n-- {
				args = append(args, words[g.IntN(len(words))])
			}
			sent = append(sent, args)
			c.send(args...)
		}
		c.w.Flush()
		for _, args := range sent {
			if _, err := c.r.Next(); err != nil {
				t.Fatalf("%q of %q: %v", args, sent, err)
			}
		}
	}
}
