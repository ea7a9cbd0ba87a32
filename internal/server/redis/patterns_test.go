package redis

import (
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/server/redis/glob"
	"github.com/turnlog/turnlog/turn"
)

// A pattern takes time with its length for every name, so it is as short as names are: one request of some megabytes
// would keep a processor busy for hours, and all subscribers of the node.
func TestPatternsHaveABound(t *testing.T) {
	c := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	c.expect("1", "HSET", "h", "f", "v")
	for _, command := range []string{"KEYS #", "SCAN 0 MATCH #", "HSCAN h 0 MATCH #", "CONFIG GET #",
		"COMMAND LIST FILTERBY PATTERN #", "PUBSUB CHANNELS #", "PUBLISH # m", "PSUBSCRIBE a #"} {
		of := func(pattern string) (args []string) {
			for _, word := range strings.Fields(command) {
				args = append(args, strings.ReplaceAll(word, "#", pattern))
			}
			return args
		}
		long := "*[^b-" + strings.Repeat("c", glob.MaxBytes-4)
		if got := show(c.do(of(long)...)); !strings.HasPrefix(got, "-TOO_LARGE ") {
			t.Errorf("%s: a pattern that is too long gets %.100s", command, got)
		}
		if strings.Contains(command, "SUBSCRIBE") {
			continue // what is pushed is for other tests
		}
		if got := show(c.do(of(long[:glob.MaxBytes])...)); strings.HasPrefix(got, "-") {
			t.Errorf("%s: a pattern that is just short enough gets %.100s", command, got)
		}
	}
	c.expect("0", "PUBLISH", "a", "m") // PSUBSCRIBE subscribed to nothing
}
