package command

import (
	"strings"
	"testing"
)

func TestTableIsRegular(t *testing.T) {
	table := NewTable()
	for _, cmd := range table.Slots {
		if cmd.Name != strings.ToLower(cmd.Name) || cmd.summary == "" || cmd.since == "" || cmd.group == "" ||
			cmd.tier == "" {
			t.Errorf("%s is incomplete: %+v", cmd.Name, cmd)
		}
		if (cmd.Container()) == (cmd.subs == nil) && cmd.Name != "command" {
			t.Errorf("%s has neither or both of a handler and subcommands", cmd.Name)
		}
		if table.Lookup(strings.ToUpper(cmd.Name)) != cmd {
			t.Errorf("%s is in the table twice", cmd.Name)
		}
		if writes := cmd.Is("write"); writes && cmd.Is("readonly") {
			t.Errorf("%s both writes and does not", cmd.Name)
		}
	}
}

func split(line string) (args [][]byte) {
	for _, w := range strings.Fields(line) {
		args = append(args, []byte(w))
	}
	return args
}

func TestFind(t *testing.T) {
	table := NewTable()
	long := strings.Repeat("x", 200)
	for line, want := range map[string]string{
		"PING":              "",
		"client LIST":       "",
		"COMMAND":           "",
		"COMMAND COUNT":     "",
		"LLEN":              "ERR wrong number of arguments for 'llen' command",
		"llen a b":          "ERR wrong number of arguments for 'llen' command",
		"CLIENT":            "ERR wrong number of arguments for 'client' command",
		"CLIENT ID x":       "ERR wrong number of arguments for 'client|id' command",
		"Client Foo":        "ERR unknown subcommand 'Foo'. Try CLIENT HELP.",
		"client|id":         "ERR unknown command 'client|id', with args beginning with: ",
		"Foo a b":           "ERR unknown command 'Foo', with args beginning with: 'a' 'b' ",
		"foo " + long:       "ERR unknown command 'foo', with args beginning with: '" + long[:128] + "' ",
		long:                "ERR unknown command '" + long[:128] + "', with args beginning with: ",
		"client " + long:    "ERR unknown subcommand '" + long[:128] + "'. Try CLIENT HELP.",
		"turn.append a":     "ERR wrong number of arguments for 'turn.append' command",
		"TURN.LIST":         "",
		"ssubscribe a":      "ERR unknown command 'ssubscribe', with args beginning with: 'a' ",
		"DEL a b c d e f g": "",
	} {
		if _, err := table.Find(split(line)); string(err) != want {
			t.Errorf("%.40s: %q", line, err)
		}
	}
}

func TestKeysOfRequests(t *testing.T) {
	table := NewTable()
	for line, want := range map[string]string{
		"DEL a b c": "a b c", "LRANGE k 0 1": "k", "TURN.FORK a b AT 3": "a b", "PING": "", "KEYS *": "",
		"RPUSH k a b": "k", "MSET a 1 b 2": "a b",
		"XREAD COUNT 2 STREAMS a b 0 $": "a b", "XREAD COUNT streams BLOCK 0": "", "XREAD BLOCK 0 streams a": "",
	} {
		cmd, _ := table.Find(split(line))
		var got []string
		for _, k := range cmd.keysOf(split(line)) {
			got = append(got, string(k))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
