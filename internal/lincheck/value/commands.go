package value

import (
	"slices"
	"strings"
)

// State is what a key holds, or several that belong together. It does not change.
type State interface {
	// Do carries out a command, and returns what is held then and the answer.
	Do(command []string) (State, string)
	// String is the same for equal States only.
	String() string
}

// New returns what there is before the first command, which is one of these.
func New(command []string) State {
	switch {
	case command[0] == Tx, command[0] == Snapshot:
		return Moved{}
	case !strings.HasPrefix(command[0], "TURN."):
		if namesKeys(command) {
			return Sets{}
		}
		return Value{}
	case command[1] == editedKey:
		return Edited{}
	}
	return Sessions{}
}

// namesKeys reports whether a command says where its keys are.
func namesKeys(command []string) bool {
	return slices.ContainsFunc(command, func(word string) bool { return strings.HasPrefix(word, "@") })
}

// Whole are the commands that read all there is, by its type.
func Whole(kind string) [][]string {
	sessions := [][]string{{"TURN.READ", "@0"}, {"TURN.INFO", "@0"}, {"TURN.READ", "@1"}, {"TURN.INFO", "@1"},
		{"TURN.READ", "@2"}, {"TURN.INFO", "@2"}}
	return map[string][][]string{
		"list":    {{"LRANGE", "0", "-1"}},
		"hash":    {{"HGETALL"}},
		"set":     {{"SMEMBERS"}},
		"zset":    {{"ZRANGE", "0", "-1", "WITHSCORES"}},
		"stream":  {{"XRANGE", "-", "+"}},
		"string":  {{"GET"}},
		"session": sessions,
		"renamed": sessions,
		"labelled": {{"TURN.INFO", "@0"}, {"TURN.INFO", "@1"}, {"TURN.INFO", "@2"},
			{"TURN.LIST", "PREFIX", "@", "LABEL", "l", "a"},
			{"TURN.LIST", "PREFIX", "@", "LABEL", "l", "b"}},
		"edited": {{"TURN.READ", editedKey}, {"TURN.INFO", editedKey}},
		"sets":   {{"SMEMBERS", "@0"}, {"SMEMBERS", "@1"}, {"SMEMBERS", "@2"}},
		"moved":  {{Snapshot}},
	}[kind]
}

// Words is the command as a node takes it: its key comes first, or is where there is an @, with
// a number behind it if there are several.
func Words(command []string, key string) []string {
	words := slices.Clone(command)
	if !strings.HasPrefix(command[0], "TURN.") && !namesKeys(command) {
		return slices.Insert(words, 1, key)
	}
	for i, w := range words {
		if number, ok := strings.CutPrefix(w, "@"); ok {
			words[i] = key + ":" + number
		}
	}
	return words
}

// Do implements State. The command is written without its key.
func (v Value) Do(command []string) (State, string) {
	args := command[1:]
	do := commands[command[0]]
	if do == nil {
		panic("no such command: " + command[0])
	}
	return do(v, args)
}

// commands are what Do knows, by name.
var commands = map[string]func(v Value, args []string) (Value, string){
	"DEL":   del,
	"RPUSH": push(false), "LPUSH": push(true), "LSET": lset, "LREM": lrem, "LINSERT": linsert,
	"LPOP": lpop(false), "RPOP": lpop(true), "LTRIM": ltrim, "LRANGE": lrange, "LINDEX": lindex, "LLEN": size,
	"HSET": hset, "HSETNX": hsetnx, "HDEL": remove, "HINCRBY": hincrby, "HGET": hget, "HGETALL": hgetall, "HLEN": size,
	"SADD": sadd, "SREM": remove, "SISMEMBER": sismember, "SMEMBERS": smembers, "SCARD": size,
	"ZADD": zadd, "ZINCRBY": zincrby, "ZREM": remove, "ZSCORE": zscore, "ZRANK": zrank, "ZRANGE": zrange, "ZCARD": size,
	"XADD": xadd, "XDEL": xdel, "XTRIM": xtrim, "XRANGE": xrange, "XLEN": size,
	"SET": set, "SETNX": setnx, "INCRBY": incrby, "GET": get, "GETDEL": getdel,
}
