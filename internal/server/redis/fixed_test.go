package redis

import (
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// sameLines are requests, beyond those that TestSameAsRedis generates, to which
// turnlog and Redis 7 give the same reply.
const sameLines = `
PING|PING a|PING a b|ECHO|ECHO a|SELECT 16|SELECT -1|SELECT a|SELECT 3|SELECT 99999999999999|SELECT 0
AUTH x|AUTH u p|AUTH default x|AUTH a b c|AUTH
HELLO 4|HELLO 1|HELLO x|HELLO 2 AUTH a|HELLO 2 AUTH a b|HELLO 2 SETNAME|HELLO 2 FOO|HELLO 2 SETNAME "a b"
CLIENT|CLIENT FOO|CLIENT ID x|CLIENT SETNAME "a b"|CLIENT SETNAME me|CLIENT GETNAME|CLIENT SETNAME ""|CLIENT GETNAME
CLIENT MAINT_NOTIFICATIONS ON|CLIENT NO-EVICT x|CLIENT NO-EVICT on|CLIENT REPLY x|CLIENT REPLY on
CLIENT LIST TYPE foo|CLIENT LIST FOO|CLIENT LIST ID a|CLIENT LIST ID 0|CLIENT LIST TYPE|CLIENT LIST ID 9999|CLIENT LIST TYPE pubsub
CLIENT KILL 1:1|CLIENT KILL ID 9999|CLIENT KILL ID x|CLIENT KILL FOO x|CLIENT KILL TYPE foo|CLIENT KILL ID 9999 SKIPME x|CLIENT KILL ID
CLIENT UNBLOCK 77|CLIENT UNBLOCK 77 x|CLIENT UNBLOCK x|CLIENT GETREDIR|CLIENT TRACKING off
READONLY|READWRITE|CLUSTER|CLUSTER INFO|CLUSTER NODES|CLUSTER SLOTS|CLUSTER SHARDS|CLUSTER MYID|CLUSTER FOO|CLUSTER KEYSLOT a
WAIT 0 1|WAIT a 1|WAIT 1 a|WAIT 1 -1|MODULE|MODULE LIST|MODULE FOO|ROLE|TIME x
CONFIG GET maxmemory|CONFIG GET databases|CONFIG GET maxmemory maxmemory|CONFIG GET nosuch|CONFIG GET|CONFIG SET a|CONFIG SET a b|CONFIG FOO|CONFIG|MULTI|CONFIG GET databases|ECHO x|EXEC
COMMAND FOO|COMMAND GETKEYS rpush a b|COMMAND GETKEYS del a b c|COMMAND GETKEYS nosuch a|COMMAND GETKEYS echo a|COMMAND GETKEYS llen a b|COMMAND GETKEYS mset a 1 b 2|COMMAND GETKEYS xread streams a b 0 0
MULTI x|EXEC x|DISCARD|EXEC|UNWATCH|WATCH|MULTI|MULTI|WATCH a|DISCARD x|EXEC|MULTI|DISCARD|MULTI|NOSUCH|EXEC|MULTI|GET|EXEC|MULTI|PING|PING a b|SET|RESET|EXEC|MULTI|SET k|DISCARD|EXEC
XREAD|XREAD STREAMS a|XREAD COUNT 1 STREAMS a b 0|XREAD STREAMS a >|XREAD STREAMS a x|XREAD BLOCK x STREAMS a 0|XREAD BLOCK -1 STREAMS a 0|XREAD COUNT x STREAMS a 0|XREAD FOO 1 STREAMS a 0
XADD a|XADD a 1|XADD a 0-0 f v|XADD a x f v|XADD a 1-1 f|XADD a MAXLEN 1 MINID 1 1 f v|XADD a MAXLEN -1 1 f v|XADD a LIMIT 5 1 f v|XADD a MAXLEN ~ 5 LIMIT -1 1 f v|XADD a MAXLEN 5 LIMIT 2 1 f v|XADD a MAXLEN|XTRIM a FOO 1|XTRIM a LIMIT 5|XTRIM a MAXLEN x|XTRIM a MINID x|XRANGE a x y|XRANGE a ( -|XRANGE a (18446744073709551615-18446744073709551615 +|XRANGE a - (0-0
SET k v EX|SET k v PX 0|SET k v EX 9223372036854775807|SET k v NX XX|SET k v KEEPTTL EX 1|SET k v EX 1 PX 1|SETEX k 0 v|PSETEX k -1 v|SETEX k x v|MSET k|MSET k v l|INCRBY none x|DECRBY none -9223372036854775808
ZADD z|ZADD z 1|ZADD z NX XX 1 a|ZADD z GT LT 1 a|ZADD z NX GT 1 a|ZADD z INCR 1 a 2 b|ZADD z x a|ZADD z nan a|ZRANGE z 0 1 LIMIT 0 1|ZRANGE z a b|ZRANGE z ( 1 BYSCORE|ZRANGE z a b BYLEX|ZRANGE z - + BYLEX WITHSCORES|ZRANGEBYSCORE z a b|ZRANGEBYLEX z a b|ZREVRANGE z 0 1 FOO|ZINCRBY z x a|ZCOUNT z a b
HSET h|HSET h f|HSET h f v g|HMSET h f|HSCAN h x|HSCAN none 0 FOO|LINSERT l AT a b|LREM l x a|LSET none x v|SSCAN none 0 COUNT 0
LMPOP 2 l m LEFT COUNT -3 -1|LMPOP 2 l m LEFT COUNT 1 1|LMPOP 2 l m LEFT COUNT|LMPOP 1 l LEFT FOO 1|LMPOP 1 l LEFT COUNT 1 COUNT 1|BLMPOP x 0 l LEFT|BLMPOP -1 1 l UP|BLMPOP 1 0 l LEFT COUNT 0|BLMPOP 1 1 l LEFT COUNT 0 x
COMMAND LIST FOO|COMMAND LIST FILTERBY MODULE x|COMMAND LIST FILTERBY PATTERN lrange|COMMAND DOCS nosuch|COMMAND INFO nosuch
SINTER|SINTERCARD 0 a|SINTERCARD x a|SINTERCARD 2 a|SINTERCARD 1 a LIMIT|SINTERCARD 1 a LIMIT x|SINTERCARD 1 a LIMIT -1|SINTERCARD 1 a FOO 1|SINTERCARD 1 a LIMIT 1 LIMIT 2|SINTERSTORE a|SUNIONSTORE|SDIFF none|SDIFF none none|SINTER none none|SUNION none|SUNIONSTORE none none
COMMAND GETKEYS sintercard 2 a b LIMIT 1|COMMAND GETKEYS sunionstore a b c|MULTI|SADD s1 a b|SUNION s1 s2|SINTERSTORE s2 s1|SINTERCARD 2 s1 s2|MGET s1 s2|EXISTS s1 s2 s3|EXEC|DEL s1 s2
DBSIZE x|nosuch|nosuch a b|"no\nsuch" "x\r\ny"|INFO nosuch|FLUSHDB x y|FLUSHALL x|RESET|RESET x
SCAN|SCAN x|SCAN 0 COUNT 0|SCAN 0 COUNT x|SCAN 0 MATCH|SCAN 0 FOO x|SCAN 0 COUNT 10 MATCH x|SCAN 0 TYPE hash|SCAN 18446744073709551616
LPOP k 1 2|RPOP k -1|EXPIRE k|EXPIRE k 1 a b|DEL|EXISTS|UNLINK|TYPE|LRANGE k 0|LRANGE k 0 1 2`

func TestFixedRepliesSameAsRedis(t *testing.T) {
	real := dial(t, realRedis(t))
	ours := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	for _, proto := range []string{"2", "3"} {
		d := differ{t: t, ours: ours, real: real}
		ours.do("HELLO", proto)
		real.do("HELLO", proto)
		for line := range strings.FieldsFuncSeq(sameLines, func(r rune) bool { return r == '|' || r == '\n' }) {
			args, err := resp.NewRequestReader(strings.NewReader(line+"\n"), resp.Limits{}).Next()
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			request := make([]string, len(args))
			for i := range args {
				request[i] = string(args[i])
			}
			d.both(request...)
			if strings.HasPrefix(line, "RESET") {
				ours.do("HELLO", proto)
				real.do("HELLO", proto)
			}
		}
	}
}

// Frames that break the protocol get Redis's texts, and the connection ends.
func TestFramesSameAsRedis(t *testing.T) {
	real := realRedis(t)
	ours := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr()
	for _, in := range []string{
		"*1\r\n$4\r\nPING\r\nPING\r\n\r\n*0\r\n*-1\r\n*-5\r\nECHO end\r\n",
		"PING\r\n*1\r\n$-1\r\n", "*1\r\n$2147483648\r\n", "*1\r\n$536870913\r\n", "*2147483648\r\n", "*1\r\n:1\r\n",
		"*x\r\n", "*\r\n", "*1\r\n$\r\n",
		"*1\r\n$x\r\n", "*01\r\n", "ECHO \"abc\r\n", "ECHO 'a'b\r\n", "ECHO \"\\x41\\n\"\nECHO end\n",
		"nosuch\t k\v\fx\r\nECHO end\r\n",
		"*1 \r\n", "*1\r\n $4\r\n", "QUIT\r\nPING\r\n", "POST / HTTP/1.1\r\n\r\n", "host: x\r\n",
		"*2\r\n$4\r\nECHO\r\n$0\r\n\r\nECHO end\r\n", "*1\r\n$0\r\n\r\nECHO end\r\n",
		strings.Repeat("x", 70_000), "*" + strings.Repeat("1", 70_000), "*1\r\n$" + strings.Repeat("1", 70_000),
		"CLIENT REPLY OFF\r\nPING\r\nCLIENT REPLY ON\r\nCLIENT REPLY SKIP\r\nECHO a\r\nECHO b\r\nECHO end\r\n",
	} {
		if a, b := exchange(t, ours, in), exchange(t, real, in); a != b {
			t.Errorf("%.60q:\nturnlog %s\n  redis %s", in, a, b)
		}
	}
}

// What COMMAND INFO says is what Redis says.
func TestCommandInfoSameAsRedis(t *testing.T) {
	real := dial(t, realRedis(t))
	ours := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	// of Redis 7.2
	newer := []string{"zrank", "zrevrank", "waitaof", "client|setinfo", "client|no-touch", "command|getkeys"}
	for _, cmd := range command.NewTable().Slots {
		if cmd.Native || slices.Contains(newer, cmd.Name) || strings.HasPrefix(cmd.Name, "turn.") ||
			strings.HasPrefix(cmd.Name, "sentinel") {
			continue
		}
		a, b := ours.do("COMMAND", "INFO", cmd.Name).Elems[0], real.do("COMMAND", "INFO", cmd.Name).Elems[0]
		if b.IsNull() {
			t.Errorf("Redis has no command %s", cmd.Name)
			continue
		}
		for i, what := range []string{"name", "arity", "flags", "first key", "last key", "step", "categories", "tips"} {
			x, y := a.Elems[i], b.Elems[i]
			sortElems(x)
			sortElems(y)
			if show(x) != show(y) {
				t.Errorf("%s of %s: turnlog %s, redis %s", what, cmd.Name, show(x), show(y))
			}
		}
	}
}
