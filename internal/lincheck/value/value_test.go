package value

import (
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
)

// What Redis 7 answers, one command after the other.
func TestLikeRedis(t *testing.T) {
	for name, script := range map[string]string{
		"list": `RPUSH a b → 2; LPUSH c d → 4; LRANGE 0 -1 → ["d" "c" "a" "b"]; LSET -1 c → OK; LSET 4 x → !ERR index out of range; LINSERT BEFORE c e → 5;
			LRANGE 1 2 → ["e" "c"]; LREM -1 c → 1; LRANGE 0 -1 → ["d" "e" "c" "a"]; LTRIM 1 -2 → OK; LPOP → "e"; RPOP → "c"; RPOP → nil; LSET 0 x → !ERR no such key; LINSERT AFTER a b → 0`,
		"hash":   `HSET a 1 b 2 → 2; HSET a 3 c 4 → 1; HSETNX a 5 → 0; HINCRBY n -2 → -2; HINCRBY a 4 → 7; HGETALL → ["a" "7" "b" "2" "c" "4" "n" "-2"]; HDEL a a b → 2; HLEN → 2; HGET a → nil`,
		"set":    `SADD b a b → 2; SADD c a → 1; SISMEMBER c → 1; SREM b x → 1; SMEMBERS → ["a" "c"]; SCARD → 2; DEL → 1; DEL → 0`,
		"zset":   `ZADD 2 b → 1; ZADD 1 c → 1; ZADD 2 a → 1; ZADD GT 1 a → 0; ZADD LT 0 a → 0; ZADD XX 4 x → 0; ZADD NX 4 b → 0; ZINCRBY 5 c → "6"; ZRANGE 0 -1 WITHSCORES → ["a" "0" "b" "2" "c" "6"]; ZRANK c → 2; ZREM a → 1; ZSCORE a → nil`,
		"stream": `XADD 5-0 f v → "5-0"; XADD 5-0 f v → !ERR The ID specified in XADD is equal or smaller than the target stream top item; XADD MAXLEN 1 7-0 f w → "7-0"; XRANGE - + → [["7-0" ["f" "w"]]]; XDEL 7-0 → 1; XLEN → 0; XADD 6-0 f v → !ERR The ID specified in XADD is equal or smaller than the target stream top item; DEL → 1; XADD 6-0 f v → "6-0"; XTRIM MAXLEN 0 → 1`,
		"session": `TURN.FORK @0 @1 → !NOT_FOUND; TURN.APPEND @0 MSG a a → {count 1 duplicate 0 first_seq 1 last_seq 1}; TURN.META @0 SET k v → {}; TURN.EXPIRE @0 PX 9 → 1;
			TURN.APPEND @0 MSG b b → {count 2 duplicate 0 first_seq 2 last_seq 2}; TURN.FORK @0 @1 AT 1 → {count 1 first_seq 1 last_seq 1}; TURN.FORK @0 @1 → !EXISTS; TURN.FORK @0 @2 AT 3 → !NOT_FOUND;
			TURN.READ @1 → {count 1 last_seq 1 messages [[1 "a"]]}; TURN.INFO @1 → {count 1 expires_at false last_seq 1 metadata {"k" "v"}}; TURN.INFO @0 → {count 2 expires_at true last_seq 2 metadata {"k" "v"}};
			TURN.EXPIRE @0 NEVER → 1; TURN.EXPIRE @0 NEVER → 0; TURN.META @1 UNSET k → {}; TURN.DELETE @1 → {removed 1}; TURN.INFO @1 → nil; TURN.ERASE PREFIX @ → {removed 1}; TURN.READ @0 → {count 0 last_seq 0 messages []}`,
		"annotated": `TURN.APPEND @0 EXISTING MSG a a → !NOT_FOUND; TURN.INFO @0 → nil; TURN.READ @0 METADATA → {count 0 last_seq 0 messages [] metadata {}};
			TURN.APPEND @0 SET k v MSG a a → {count 1 duplicate 0 first_seq 1 last_seq 1}; TURN.APPEND @0 EXISTING MSG b b → {count 2 duplicate 0 first_seq 2 last_seq 2};
			TURN.APPEND @0 SET l w MSG c c → {count 3 duplicate 0 first_seq 3 last_seq 3}; TURN.READ @0 METADATA → {count 3 last_seq 3 messages [[1 "a"] [2 "b"] [3 "c"]] metadata {"k" "v" "l" "w"}};
			TURN.APPEND @0 UNSET k MSG d d → {count 4 duplicate 0 first_seq 4 last_seq 4}; TURN.INFO @0 → {count 4 expires_at false last_seq 4 metadata {"l" "w"}};
			TURN.APPEND @1 SET label.x y MSG a a → {count 1 duplicate 0 first_seq 1 last_seq 1}; TURN.LIST PREFIX @ LABEL x y → {sessions [@1]}`,
		"renamed": `TURN.RENAME @0 @1 → !NOT_FOUND; TURN.APPEND @0 MSG a a → {count 1 duplicate 0 first_seq 1 last_seq 1}; TURN.EXPIRE @0 PX 9 → 1; TURN.RENAME @0 @1 → {count 1}; TURN.INFO @0 → nil;
			TURN.APPEND @0 MSG b b → {count 1 duplicate 0 first_seq 1 last_seq 1}; TURN.RENAME @1 @0 → !EXISTS; TURN.RENAME @1 @0 REPLACE → {count 1}; TURN.INFO @1 → nil;
			TURN.INFO @0 → {count 1 expires_at true last_seq 1 metadata {}}; TURN.READ @0 → {count 1 last_seq 1 messages [[1 "a"]]}`,
		"labelled": `TURN.META @0 SET label.l a → {}; TURN.APPEND @1 MSG a a → {count 1 duplicate 0 first_seq 1 last_seq 1}; TURN.META @1 SET label.l a → {}; TURN.LIST PREFIX @ LABEL l a → {sessions [@1 @0]};
			TURN.EXPIRE @0 PX 9 → 1; TURN.LIST PREFIX @ LABEL l a → {sessions [@0 @1]}; TURN.FORK @1 @2 → {count 1 first_seq 1 last_seq 1}; TURN.EXPIRE @0 PX 9 → 1; TURN.LIST PREFIX @ LABEL l a → {sessions [@0 @2 @1]};
			TURN.META @2 SET label.l b → {}; TURN.LIST PREFIX @ LABEL l a → {sessions [@0 @1]}; TURN.META @0 UNSET label.l → {}; TURN.LIST PREFIX @ LABEL l a → {sessions [@1]}; TURN.DELETE @1 → {removed 1}; TURN.LIST PREFIX @ LABEL l a → {sessions []}`,
		"edited": `TURN.APPEND @e MSG a x → {count 1 duplicate 0 first_seq 1 last_seq 1}; TURN.APPEND @e MSG b y → {count 2 duplicate 0 first_seq 2 last_seq 2}; TURN.EDIT @e SEQ 2 z → {count 2 seq 2};
			TURN.EDIT @e ID a w → {count 2 seq 1}; TURN.EDIT @e SEQ 3 w → !NOT_FOUND; TURN.APPEND @e MSG a x → {count 2 duplicate 1 first_seq 1 last_seq 1}; TURN.APPEND @e MSG a w → !ID_REUSED;
			TURN.REMOVE @e ID a → {count 1 removed 1}; TURN.REMOVE @e SEQ 1 → {count 1 removed 0}; TURN.APPEND @e MSG a x → {count 1 duplicate 1 first_seq 1 last_seq 1}; TURN.EDIT @e ID a q → !NOT_FOUND;
			TURN.READ @e → {count 1 last_seq 2 messages [[2 "z"]]}; TURN.INFO @e → {count 1 expires_at false last_seq 2 metadata {}};
			TURN.APPEND @e MSG c c → {count 2 duplicate 0 first_seq 3 last_seq 3}; TURN.RETAIN @e MESSAGES 1 → {count 1 removed 1}; TURN.APPEND @e MSG d d → {count 1 duplicate 0 first_seq 4 last_seq 4};
			TURN.APPEND @e MSG c c → {count 1 duplicate 1 first_seq 3 last_seq 3}; TURN.READ @e → {count 1 last_seq 4 messages [[4 "d"]]}; TURN.RETAIN @e ALL → {count 1 removed 0}; TURN.APPEND @e MSG f f → {count 2 duplicate 0 first_seq 5 last_seq 5}`,
		"moved": `TURN.TX ID a STEP TURN.APPEND @0 x y → {duplicate 0 steps [{count 2 first_seq 1 last_seq 2}]}; SNAPSHOT → [{last_seq 2 messages [[1 "x"] [2 "y"]]} {last_seq 0 messages []} {last_seq 0 messages []}];
			TURN.TX ID b IF @0 SEQ 2 IF @1 ABSENT IF @1 REVISION 0 STEP TURN.EDIT @0 2 y#1 STEP TURN.REMOVE @0 1 STEP TURN.APPEND @1 x → {duplicate 0 steps [{count 2} {count 1 removed 1} {count 1 first_seq 1 last_seq 1}]};
			TURN.TX ID c IF @0 EXISTS IF @1 ABSENT STEP TURN.APPEND @0 z → !CONFLICT; TURN.TX ID c IF @0 REVISION 1 STEP TURN.APPEND @0 z → !CONFLICT; TURN.TX ID a STEP TURN.APPEND @0 x y → {duplicate 1 steps [{count 2 first_seq 1 last_seq 2}]};
			TURN.TX ID d STEP TURN.POP @0 3 NEWEST STEP TURN.APPEND @1 y#1 v → {duplicate 0 steps [{count 0 messages [[2 "y#1"]]} {count 3 first_seq 2 last_seq 3}]}; TURN.TX ID e STEP TURN.RENAME @0 @1 → !EXISTS; TURN.TX ID e STEP TURN.EDIT @1 9 q → !NOT_FOUND;
			TURN.TX ID e STEP TURN.POP @1 1 HEAD STEP TURN.REPLACE @1 3 v#1 w → {duplicate 0 steps [{count 2 messages [[1 "x"]]} {count 3 first_seq 4 last_seq 5 removed 1}]}; TURN.TX ID f STEP TURN.RETAIN @1 2 STEP TURN.RETAIN @1 0 → {duplicate 0 steps [{count 2 removed 1} {count 2 removed 0}]};
			TURN.TX ID g STEP TURN.RENAME @1 @0 REPLACE STEP TURN.APPEND @2 x → {duplicate 0 steps [{count 2} {count 1 first_seq 1 last_seq 1}]}; TURN.TX ID h STEP TURN.DELETE @2 → {duplicate 0 steps [{removed 1}]};
			SNAPSHOT → [{last_seq 5 messages [[4 "v#1"] [5 "w"]]} {last_seq 0 messages []} {last_seq 0 messages []}]`,
		"turns": `TURN.RETAIN @e TURNS 3 → {count 0 removed 0}; TURN.APPEND @e MSG a a → {count 1 duplicate 0 first_seq 1 last_seq 1}; TURN.APPEND @e MSG b b → {count 2 duplicate 0 first_seq 2 last_seq 2};
			TURN.APPEND @e MSG c c → {count 3 duplicate 0 first_seq 3 last_seq 3}; TURN.REMOVE @e SEQ 2 → {count 2 removed 1}; TURN.APPEND @e MSG d d → {count 2 duplicate 0 first_seq 4 last_seq 4};
			TURN.READ @e → {count 2 last_seq 4 messages [[3 "c"] [4 "d"]]}; TURN.REMOVE @e SEQ 4 → {count 1 removed 1}; TURN.APPEND @e MSG f f → {count 2 duplicate 0 first_seq 5 last_seq 5};
			TURN.RETAIN @e TURNS 2 → {count 2 removed 0}; TURN.REMOVE @e ID f → {count 1 removed 1}; TURN.RETAIN @e TURNS 2 → {count 1 removed 0}; TURN.APPEND @e MSG a a → {count 1 duplicate 1 first_seq 1 last_seq 1};
			TURN.RETAIN @e ALL → {count 1 removed 0}; TURN.APPEND @e MSG g g → {count 2 duplicate 0 first_seq 6 last_seq 6}; TURN.RETAIN @e TURNS 1 → {count 1 removed 1}; TURN.READ @e → {count 1 last_seq 6 messages [[6 "g"]]};
			TURN.RETAIN @e MESSAGES 2 → {count 1 removed 0}; TURN.APPEND @e MSG h h → {count 2 duplicate 0 first_seq 7 last_seq 7}; TURN.APPEND @e MSG i i → {count 2 duplicate 0 first_seq 8 last_seq 8}`,
		"retained": `TURN.RETAIN @e ALL → {count 0 removed 0}; TURN.INFO @e → nil; TURN.RETAIN @e MESSAGES 2 → {count 0 removed 0}; TURN.INFO @e → {count 0 expires_at false last_seq 0 metadata {}}`,
		"sets": `SADD @0 b a b → 2; SADD @1 b c → 2; SINTER @0 @1 → ["b"]; SUNION @0 @1 → ["a" "b" "c"]; SDIFF @0 @1 → ["a"]; SINTERCARD 2 @0 @1 → 1; SUNIONSTORE @2 @0 @1 → 3; SINTERSTORE @0 @0 @1 → 1; SMEMBERS @0 → ["b"];
			SDIFFSTORE @1 @0 @2 → 0; SCARD @1 → 0; SREM @2 a x → 1; RENAMENX @2 @0 → 0; RENAME @2 @0 → OK; RENAME @2 @0 → !ERR no such key; SMEMBERS @0 → ["b" "c"]; RENAMENX @0 @1 → 1; DEL @0 → 0; DEL @1 → 1`,
		"string": `SET 1 NX → OK; SET 2 NX → nil; SET 3 XX → OK; SET 4 GET → "3"; INCRBY -5 → -1; SETNX 9 → 0; GETDEL → "-1"; SET 1 XX → nil; SETNX 9 → 1; GET → "9"`,
	} {
		v := New(strings.Fields(script))
		for line := range strings.SplitSeq(script, ";") {
			command, want, _ := strings.Cut(strings.TrimSpace(line), " → ")
			before := v.String()
			next, got := v.Do(strings.Fields(command))
			if got != want {
				t.Fatalf("%s: %s answers %s, want %s", name, command, got, want)
			}
			if v.String() != before {
				t.Fatalf("%s: %s has changed the value before it", name, command)
			}
			v = next
		}
	}
}

func TestAnswer(t *testing.T) {
	text := func(s string) resp.Value { return resp.Value{Kind: resp.BulkString, Str: []byte(s)} }
	for want, c := range map[string]struct {
		command string
		v       resp.Value
	}{
		`["a" "2" "b" "1"]`: {"HGETALL",
			resp.Value{Kind: resp.Array, Elems: []resp.Value{text("b"), text("1"), text("a"), text("2")}}},
		`["b" "a"]`: {"LRANGE", resp.Value{Kind: resp.Array, Elems: []resp.Value{text("b"), text("a")}}},
		`{sessions [@2 @0]}`: {"TURN.LIST", resp.Value{Kind: resp.Array, Elems: []resp.Value{text("cursor"), text(""), text("sessions"),
			{Kind: resp.Array, Elems: []resp.Value{{Kind: resp.Array, Elems: []resp.Value{
				text("key"), text("k:2"), text("count"), text("1")}},
				{Kind: resp.Array, Elems: []resp.Value{text("key"), text("k:0")}}}}}}},
		`nil`:              {"GET", resp.Value{Kind: resp.Null}},
		`-3`:               {"INCRBY", resp.Value{Kind: resp.Integer, Int: -3}},
		`!ERR no such key`: {"LSET", resp.Value{Kind: resp.SimpleError, Str: []byte("ERR no such key")}},
	} {
		if got := Answer(c.command, c.v); got != want {
			t.Errorf("%s: %s, want %s", c.command, got, want)
		}
	}
}
