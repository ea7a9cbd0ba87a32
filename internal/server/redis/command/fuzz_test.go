package command

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// FuzzHandle hands words to the handlers, outside of a transaction and in one. None fails, and what they make of the
// words concerns no keys but those that the table names, since the user's rights are checked for these alone.
func FuzzHandle(f *testing.F) {
	table := NewTable()
	for _, cmd := range table.Slots {
		if cmd.Handle != nil {
			f.Add([]byte(strings.ReplaceAll(cmd.Name, "|", " ")+" "+cmd.Args), false)
		}
	}
	for _, line := range []string{"XREAD COUNT 2 BLOCK 0 STREAMS a b 0 0-1", "LMPOP 2 a b LEFT COUNT 3",
		"BLMPOP 0.5 2 a b RIGHT", "SET k v PX 5 GET", "ZADD k NX CH 1.5 m (2 n", "ZRANGE k (1 +inf BYSCORE LIMIT 0 -1",
		"TURN.APPEND k EXPECT 7 SET l v MSG i p MSG", "TURN.READ k FROM 3 COUNT 5 REV", "TURN.TAIL k AFTER 2 BLOCK 1",
		"TURN.LIST PREFIX p LABEL l v COUNT 9", "COMMAND GETKEYS mset a 1 b 2",
		"TURN.TX ID i IF a REVISION 3 IF b ABSENT IF c SEQ 4 IF d EXISTS STEP 6 TURN.POP a COUNT 1 FROM HEAD " +
			"STEP 5 TURN.APPEND b MSG m p STEP 4 HSET h f v",
		"TURN.TX STEP 5 TURN.EDIT a SEQ 3 p STEP 4 TURN.REMOVE a ID m STEP 7 TURN.REPLACE b FROM 2 MSG m p",
		"TURN.TX STEP 4 TURN.RETAIN a MESSAGES 3 STEP 3 TURN.RETAIN b ALL STEP 4 TURN.RETAIN c TURNS 2",
		"TURN.TX ID i STEP 4 TURN.RENAME a b REPLACE STEP 3 TURN.RENAME c d STEP 2 TURN.DELETE e",
		"SORT k BY nosort", "SCAN 0 MATCH a* COUNT 10 TYPE list", "TURN.RETAIN k TURNS 3"} {
		f.Add([]byte(line), true)
	}
	b := NewBackend(table, Config{Engine: onlyLimits{}, Now: time.Now})
	f.Fuzz(func(t *testing.T, line []byte, queued bool) {
		args := bytes.Split(line, []byte(" "))
		cmd, refusal := table.Find(args)
		if refusal != "" || cmd.Handle == nil {
			return
		}
		keys := cmd.keysOf(args)
		a := cmd.Handle(&Request{Command: cmd, Namespace: "0", Queued: queued, Backend: b, Client: silent{}}, args)
		for _, k := range concerned(a) {
			named := slices.ContainsFunc(keys, func(key []byte) bool { return string(key) == k.Name })
			if k.Namespace != "0" || !named && cmd.HasKeys() {
				t.Errorf("%q concerns %v, and the table names %q", line, k, keys)
			}
		}
		if a == nil {
			t.Errorf("%q makes nothing", line)
		}
	})
}

// concerned returns the keys that an action concerns.
func concerned(a Action) []turn.Key {
	switch a := a.(type) {
	case *Write:
		return a.Keys
	case *Read:
		return a.Keys
	case *Work:
		return a.Keys
	case *Follow:
		return []turn.Key{a.Read.Key}
	}
	return nil
}
